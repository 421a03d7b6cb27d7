"""release(): split, synthesize, assess and judge; the folder to hand over, if it passes."""

from understudy.workflows.release.gate import Decision, release

__all__ = ["Decision", "release"]
