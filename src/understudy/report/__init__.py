"""A report renders an assessment's plain dict.

``console`` makes a sheet for the terminal, ``html`` one self-contained page, and ``words`` says
the same numbers in the same words for both. Nothing here computes a measure.
"""
