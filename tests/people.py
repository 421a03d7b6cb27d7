"""Made-up people with every kind of column, drawn from one distribution."""

from understudy.testing.tables import people

__all__ = ["people"]
