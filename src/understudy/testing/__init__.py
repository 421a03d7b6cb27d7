"""Laws that every measure and every method must keep, to be run on those of other packages.

``check_measure`` and ``check_synthesizer`` run them all and say which one is broken;
``MeasureLaws`` and ``SynthesizerLaws`` have one function a law, for a test framework.
"""

from understudy.testing.measures import MeasureLaws, check_measure
from understudy.testing.synthesizers import SynthesizerLaws, check_synthesizer
from understudy.testing.tables import patients, people, rare_values, rare_values_in

__all__ = [
    "MeasureLaws",
    "SynthesizerLaws",
    "check_measure",
    "check_synthesizer",
    "patients",
    "people",
    "rare_values",
    "rare_values_in",
]
