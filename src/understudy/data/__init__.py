"""Tables: their schema, how they are read and written, coded, and asked."""
