"""What runs in a tool's own environment: stand-alone files that import the tool and pandas."""
