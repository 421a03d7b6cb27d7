"""Published studies, computed again: one folder a paper, with a README and expected figures.

A study is a module with two functions: ``run(data, datasets, quick, progress, journal)`` gives a
plain dict, and ``show(result, file)`` prints it beside the published figures. What is computed is
kept in the journal, if one is given: a study that was stopped goes on.
"""

import importlib
from types import ModuleType

from understudy.errors import OptionError, near

STUDIES = {
    "hittmeir2019": "Guessing numbers from a few known columns, by radius neighbours.",
    "latner2025": "Identity and attribute risk of CART synthesis, and what they miss.",
    "platzer2021": "Holdout-based fidelity and distances to closest records.",
}


def study(name: str) -> ModuleType:
    """Give a study by name.

    Examples
    --------
    >>> study("platzer2021").__name__
    'understudy.studies.platzer2021'
    """
    if name not in STUDIES:
        raise OptionError(f"there is no study '{name}'", hint=near(name, STUDIES))
    return importlib.import_module(f"understudy.studies.{name}")
