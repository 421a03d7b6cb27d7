"""Compiled loops: arrays in, arrays out, missing is a code and never a nan."""
