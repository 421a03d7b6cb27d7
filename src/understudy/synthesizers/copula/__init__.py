"""Copula: one normal law behind all columns."""

from understudy.synthesizers.copula.method import Copula

__all__ = ["Copula"]
