"""Signals that end the program: like Ctrl-C, so that nothing is left behind."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from understudy.errors import interruption

HEEDED = ("SIGTERM", "SIGHUP")


class Ended(KeyboardInterrupt):
    """Somebody asked the program to end; cleaned up is as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def heeding() -> Iterator[None]:
    """Take signals that end a program as Ctrl-C; one that is ignored (nohup) stays ignored."""
    numbers = [getattr(signal, name) for name in HEEDED if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    if interruption(sys.exception()) is None:  # else cleaning up has begun: let it end
        raise Ended(number)


def told(error: BaseException) -> tuple[int, str]:
    """Give the exit status after an interruption, and what to say."""
    found = interruption(error)
    if isinstance(found, Ended):
        name = signal.Signals(found.number).name
        return 128 + found.number, f"ended by {name}, nothing half written"
    return 130, "interrupted, nothing half written"
