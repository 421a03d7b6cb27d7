"""What runs in a tool's own environment: a stand-alone file that imports the tool and pandas."""
