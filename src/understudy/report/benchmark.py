"""Methods side by side on the terminal: a table where it fits, otherwise a block a number."""

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from rich.console import RenderableType
from rich.text import Text

from understudy.report import words
from understudy.report.console import heading, indented, print_pieces, side_by_side

COSTS = {
    "fit, CPU": ("fit", "cpu_seconds", "s"),
    "fit, wall": ("fit", "wall_seconds", "s"),
    "fit, peak memory": ("fit", "peak_mib", "MiB"),
    "sampling, CPU": ("sample", "cpu_seconds", "s"),
    "sampling, wall": ("sample", "wall_seconds", "s"),
    "sampling, peak memory": ("sample", "peak_mib", "MiB"),
}
READING = (
    "Mean ± standard deviation over splits. The reference is what fresh real rows get. Seconds "
    "are without compiling: a run on a small piece of the table comes first. Memory is that of "
    "the whole process."
)


def show(data: Mapping[str, Any], *, file: IO[str], width: int | None = None) -> None:
    """Print a benchmark's dict to a file or a terminal."""
    print_pieces(lambda most: _pieces(data, most), file, width)


def show_beside(
    assessments: Mapping[str, Mapping[str, Any]],
    measures: Sequence[str],
    *,
    file: IO[str],
    width: int | None = None,
) -> None:
    """Print some findings of several assessments of the same real tables, by method."""
    columns: dict[str, dict[str, str]] = {}
    reference: dict[str, str] = {}
    for method, data in assessments.items():
        own = {f["measure"]: f for f in data["findings"] if f["measure"] in measures}
        values = {name: around({"mean": f["value"]}, f["unit"]) for name, f in own.items()}
        columns[method] = {n: words.starred(own[n], values[n]) for n in measures if n in own}
        references = {n: around({"mean": f["reference"]}, f["unit"]) for n, f in own.items()}
        reference = reference or references  # of the first: it is the same for all

    def pieces(most: int) -> Iterator[RenderableType]:
        yield heading("Beside other methods")
        yield from side_by_side(columns, reference, most)
        yield Text("* flagged; the reference is what fresh real rows get", style="dim")
        yield Text("")

    print_pieces(pieces, file, width)


def around(found: Mapping[str, Any] | None, unit: str = "") -> str:
    """Print mean and spread with as many digits as the spread has meaning.

    Examples
    --------
    >>> around({"mean": 0.0058, "sd": 0.0002}, "fraction"), around({"mean": 1.5, "sd": None}, "s")
    ('0.58 ± 0.02 %', '1.5 s')
    """
    if found is None or found.get("mean") is None:
        return words.NONE
    mean, sd = found["mean"], found.get("sd")
    if unit == "fraction":
        return words.percent(mean) if sd is None else f"{100 * mean:.2f} ± {100 * sd:.2f} %"
    if unit == "AUC":
        return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"
    text = words.significant(mean) if sd is None else f"{mean:.2f} ± {sd:.2f}"
    if unit == "MiB":
        text = f"{mean:,.0f}" if sd is None else f"{mean:,.0f} ± {sd:,.0f}"
    return f"{text} {unit}".strip()


def _pieces(data: Mapping[str, Any], width: int) -> Iterator[RenderableType]:
    methods, good = data["methods"], [m for m in data["methods"] if m["splits"]]
    columns = {m["method"]: _column(m, data) for m in good}
    if good:
        reference = {name: around(f, f["unit"]) for name, f in data["references"].items()}
        yield from side_by_side(columns, reference, width)
        yield Text("")
        yield Text(READING, style="dim")
    for method in methods:
        if method["failed"]:
            failed = f"{method['failed']} of {method['failed'] + method['splits']} splits"
            yield Text("")
            yield Text(f"{words.visible(method['method'])} failed on {failed}", "bold magenta")
            yield from (indented(words.visible(reason)) for reason in method["reasons"])
        for note in method["notes"]:
            yield Text(f"{words.visible(method['method'])}: {words.visible(note)}")


def _column(method: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, str]:
    """Give what is printed of a method; what worked on some splits only says on how many."""
    made = {}
    for name in data["references"]:
        found = method["measures"].get(name)
        text = around(found, found["unit"] if found else "")
        partly = found and 0 < found["splits"] < method["splits"]
        made[name] = f"{text} ({found['splits']} splits)" if found and partly else text
    for label, (phase, cost, unit) in COSTS.items():
        made[label] = around(method[phase][cost], unit)
    return made
