"""Time and memory, measured so that a noisy machine does least harm."""

import subprocess
import sys
import time
from collections.abc import Callable


def best(work: Callable[[], object], times: int = 5) -> float:
    """Give the shortest wall time of several runs."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def cpu(work: Callable[[], object], times: int = 3) -> float:
    """Give the smallest processor time of several runs."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def alone(code: str) -> str:
    """Run code in a process of its own and give what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()
