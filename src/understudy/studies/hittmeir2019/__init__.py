"""Hittmeir, Ekelhart & Mayer (2019): utility and disclosure of synthetic data for regression."""

from understudy.studies.hittmeir2019.study import run, show

__all__ = ["run", "show"]
