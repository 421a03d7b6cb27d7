"""The default method: a forest that shrinks what few rows say, and shows no one's own value."""

from understudy.synthesizers.forest.method import Forest

__all__ = ["Forest"]
