"""Measures of fidelity, one idea a file."""
