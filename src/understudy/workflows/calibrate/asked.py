"""What is asked of a calibration, refused before any work is done if it cannot be."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.data.memory import MemorySource
from understudy.data.schema import near
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.measures import MEASURES
from understudy.options import check_each, check_plain, declared
from understudy.synthesizers import SYNTHESIZERS
from understudy.workflows.advise import AUTO, advise, as_names, resolve

PERMUTATIONS = 199
MOST_SENSITIVE = 3


def sorted_out(
    options: Mapping[str, Mapping[str, Any]], method: str | None
) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, Any]]:
    """Tell options of measures from those of the method."""
    if method is not None and method not in SYNTHESIZERS:
        raise OptionError(f"there is no method '{method}'", hint=near(method, SYNTHESIZERS))
    for name in options:
        if name not in MEASURES and name != method:
            hint = near(name, [*MEASURES, *([method] if method else [])])
            raise OptionError(f"there is no measure '{name}'", hint=hint)
    own = {name: given for name, given in options.items() if name in MEASURES}
    check_each(own, MEASURES, "measure")
    check_plain(options)
    return own, options.get(method, {}) if method else {}


def fewer(measure: str) -> dict[str, int]:
    """Permute labels less often: the level of the test stays what it is."""
    option = declared(MEASURES[measure]).get("permutations")
    return {"permutations": PERMUTATIONS} if option and option.default > PERMUTATIONS else {}


def roles(
    table: Table, keys: Sequence[str] | str, sensitive: Sequence[str] | str
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """Find keys and sensitive columns; say which were proposed."""
    given = {"keys": as_names(keys), "sensitive": as_names(sensitive)}
    asked = [r for r, named in given.items() if named == (AUTO,) and AUTO not in table.schema]
    said = []
    if asked:
        declared = () if "sensitive" in asked else given["sensitive"]
        found = advise(table, sensitive=declared)
        for role in asked:
            other = given["keys" if role == "sensitive" else "sensitive"]
            proposed = [name for name in getattr(found, role) if name not in other]
            given[role] = tuple(proposed if role == "keys" else proposed[:MOST_SENSITIVE])
            few = len(proposed) - len(given[role])
            more = f" ({few} more are proposed and were left out)" if few else ""
            said.append(f"{role} = auto: {', '.join(given[role]) or 'none'}{more}.")
    known, learnt, notes = resolve(table, given["keys"], given["sensitive"])
    source = MemorySource(table)
    Comparison(source, (source,), keys=known, sensitive=learnt)  # refuses wrong names at once
    return known, learnt, [*said, *notes]
