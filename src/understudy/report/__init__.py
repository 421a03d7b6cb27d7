"""A report renders an assessment's plain dict.

``console`` makes a sheet for the terminal, ``html`` one self-contained page and a small table for a
notebook; ``words`` says the same numbers in the same words for all. A finding is drawn from its
card, its parts and its tables (``figures`` reads the word before a table's colon): no measure is
known here by name, and nothing here computes one.
"""
