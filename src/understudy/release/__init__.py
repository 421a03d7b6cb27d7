"""release(): split, synthesize, assess and judge; the folder to hand over, if it passes."""

from understudy.calling import callable_as
from understudy.release.gate import Decision, release

__all__ = ["Decision", "release"]

callable_as(release, __name__)
