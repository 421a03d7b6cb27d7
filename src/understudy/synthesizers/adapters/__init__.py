"""Other people's tools as methods, each run in an environment of its own."""
