"""Latner, Neunhoeffer & Drechsler (2025): identity and attribute risk of CART synthesis."""

from understudy.studies.latner2025.study import run, show

__all__ = ["run", "show"]
