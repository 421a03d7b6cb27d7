"""Platzer & Reutterer (2021): fidelity and closest records, by the authors' own variants."""

from understudy.studies.platzer2021.study import run, show

__all__ = ["run", "show"]
