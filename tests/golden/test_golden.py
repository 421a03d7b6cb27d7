"""Nothing that is found or made has moved since it was written down."""

import warnings

import pytest

from golden.record import CASES, differences, environment, read, recorded


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.attacked])
def test_nothing_moved(name):
    old = read(name)
    if old["environment"] != environment():
        pytest.skip("the record was made with other libraries or another processor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        new = recorded(name, lambda wanted: pytest.fail(f"{name} needs {wanted}"))
    assert list(differences(old, new)) == []


def test_differences_are_named():
    old = {"a": [{"measure": "m", "value": 0.5}], "b": 1, "gone": True}
    new = {"a": [{"measure": "m", "value": 0.5 + 1e-6}], "b": 1 + 1e-12, "new": 2}
    assert list(differences(old, new)) == ["a[m].value: 0.5 -> 0.500001", "gone: gone", "new: new"]
    assert list(differences([1, 2], [1])) == [": [1, 2] -> [1]"]
    assert list(differences(True, 1)) == [": true -> 1"]
