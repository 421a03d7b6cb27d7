"""Who can be counted: one small protocol, met by tables in memory and, later, by databases."""

from understudy.engines.memory import MemorySource
from understudy.engines.source import Moments, Source

__all__ = ["MemorySource", "Moments", "Source"]
