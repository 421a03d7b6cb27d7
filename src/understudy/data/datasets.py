"""Real data sets by name: where they come from, under which licence, and where they lie here.

The files are not part of Understudy. They are looked for in the folder named by the environment
variable UNDERSTUDY_DATA, then in the cache; one ships inside a library and is found there.
"""

import hashlib
import importlib.util
import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from understudy.errors import DataError, MissingExtraError, near

FOLDER = "UNDERSTUDY_DATA"


@dataclass(frozen=True)
class Dataset:
    """A data set: its file, size, source and licence.

    ``taken_from`` is the repository, commit and path, ``changes`` what was done to that file.
    ``inside`` names the library that ships the file, ``extra`` the extra that installs it.
    """

    name: str
    file: str
    rows: int
    columns: int
    source: str
    licence: str
    taken_from: str = ""
    changes: str = ""
    sha256: str = ""
    inside: str = ""
    extra: str = ""

    def path(self) -> Path:
        """Find the file, or say where it was looked for; a file that was changed is refused."""
        if self.inside:
            return self._inside_library()
        folders = [Path(os.environ[FOLDER])] if os.environ.get(FOLDER) else []
        folders.append(cache_folder() / "data")
        for folder in folders:
            path = folder / self.file
            if path.is_file():
                found = hashlib.sha256(path.read_bytes()).hexdigest()
                if found != self.sha256:
                    raise DataError(
                        f"{path}: this is not the data set '{self.name}' (sha256 {found[:12]}…)",
                        hint=f"fetch it again from {self.source}",
                    )
                return path
        raise DataError(
            f"the data set '{self.name}' is not here",
            hint=f"put {self.file} from {self.source} into the folder named by {FOLDER}",
        )

    def _inside_library(self) -> Path:
        found = importlib.util.find_spec(self.inside)
        for folder in (found.submodule_search_locations or []) if found else []:
            path = Path(folder) / self.file
            if path.is_file():
                return path
        raise MissingExtraError(
            f"the data set '{self.name}' ships inside '{self.inside}', which is not installed",
            hint=f"pip install 'understudy[{self.extra}]'",
        )


def cache_folder() -> Path:
    """Give the folder for what may be kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "understudy"


@cache
def registry() -> dict[str, Dataset]:
    """Give all data sets by name."""
    text = Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8")
    return {name: Dataset(name, **facts) for name, facts in tomllib.loads(text).items()}


def dataset(name: str) -> Dataset:
    """Give a data set by name.

    Examples
    --------
    >>> dataset("randhie").rows
    20190
    """
    if name not in registry():
        raise DataError(f"there is no data set '{name}'", hint=near(name, registry()))
    return registry()[name]
