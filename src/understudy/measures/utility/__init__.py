"""Whether an analyst reaches the same conclusion on the synthetic table."""
