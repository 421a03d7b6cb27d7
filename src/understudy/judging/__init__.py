"""From scores to findings: what is compared, and how a number is judged."""
