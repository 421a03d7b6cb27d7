"""Measures of privacy, one idea a file."""
