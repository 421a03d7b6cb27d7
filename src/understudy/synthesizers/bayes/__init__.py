"""Bayes: a network of columns, each drawn given a few others; with or without epsilon."""

from understudy.synthesizers.bayes.domain import declared_domain
from understudy.synthesizers.bayes.method import Bayes

__all__ = ["Bayes", "declared_domain"]
