"""A job of small tasks, in a module of its own: a process that is started can import it."""

import os
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Chore:
    """What to do."""

    how: str

    @property
    def key(self) -> str:
        """What the journal calls it."""
        return self.how


class Chores:
    """Do what is said."""

    def do(self, chore: Chore) -> int:
        """Give the number of the process, unless something else is to happen."""
        if chore.how == "raise":
            raise ValueError("no")
        if chore.how == "hang":
            time.sleep(60)
        if chore.how == "die":
            sys.stderr.write("a last word\n")
            sys.stderr.flush()
            os._exit(3)
        if chore.how == "eat":
            return len(sys.stdin.read())
        return os.getpid()
