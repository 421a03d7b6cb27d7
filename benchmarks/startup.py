"""How soon the program answers."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import best

import understudy


def run() -> Iterator[tuple[str, str, str]]:
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", str(Path(understudy.__file__).parent)],
        check=True,
    )
    bare = best(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    for label, arguments in {
        "import understudy": ["-c", "import understudy"],
        "understudy --help": ["-m", "understudy", "--help"],
    }.items():
        command = [sys.executable, *arguments]
        seconds = best(lambda c=command: subprocess.run(c, check=True, capture_output=True))
        yield label, f"{seconds:.2f} s (python alone {bare:.2f} s)", "< 1 s"
