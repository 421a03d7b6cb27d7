"""Signals that end the program: like Ctrl-C, so that nothing is left behind."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from understudy.errors import interruption

HEEDED = ("SIGTERM", "SIGHUP")
PAUSE = 0.05


class Ended(KeyboardInterrupt):
    """Somebody asked the program to end; cleaned up is as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def heeding() -> Iterator[None]:
    """Take signals that end a program as Ctrl-C; one that is ignored (nohup) stays ignored.

    Where nothing can be raised, as while an object is removed, a signal is sent once more.
    """
    numbers = [getattr(signal, name) for name in HEEDED if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    before = sys.unraisablehook

    def lost(unraisable: "sys.UnraisableHookArgs") -> None:
        found = interruption(unraisable.exc_value)
        if found is None:
            before(unraisable)
            return
        number = found.number if isinstance(found, Ended) else signal.SIGINT
        later = threading.Timer(PAUSE, os.kill, (os.getpid(), number))
        later.daemon = True
        later.start()

    sys.unraisablehook = lost
    for number in taken:
        signal.signal(number, _end)
    try:
        yield
    finally:
        sys.unraisablehook = before
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
