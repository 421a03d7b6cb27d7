"""Work that can be stopped and goes on: processes, locks, journals, temporary folders."""
