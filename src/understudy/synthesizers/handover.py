"""A release on its way to disk: replicates, batch by batch, with the marker and the README."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from understudy.data.schema import Column
from understudy.data.tables import (
    Marker,
    RowDigest,
    Table,
    WholeFiles,
    digest_file,
    format_of,
    sidecar,
    write_batches,
)
from understudy.data.tables.markers import KEY, read_note
from understudy.errors import OptionError
from understudy.synthesizers.given import given_condition
from understudy.synthesizers.margins import Margins
from understudy.synthesizers.partial import Replacement
from understudy.synthesizers.readme import readme
from understudy.synthesizers.synthesizer import Synthesizer


@dataclass(frozen=True)
class Release:
    """What is to be written: the batches of each replicate, and what is said about them."""

    made: Synthesizer
    marker: Marker
    batches: Callable[[int], Iterable[pl.DataFrame]]
    left_out: tuple[Column, ...]
    learnt_elsewhere: bool = False
    shares_one_draw: bool = False

    @classmethod
    def of_rows(
        cls,
        made: Synthesizer,
        rows: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        margins: Mapping[str, Mapping[Any, float]] | None = None,
        train: Table | None = None,
    ) -> "Release":
        """Take whole rows from a fitted synthesizer.

        With the training table, a method that draws its own model (proper synthesis) draws
        another for each replicate.
        """
        schema = made.fitted
        shown = None if given is None else str(given_condition(given, schema))
        shares = None if margins is None else str(Margins.of(margins, schema))

        def batches(number: int) -> Iterator[pl.DataFrame]:
            if number and train is not None and made.is_proper:
                made.fit(train, replicate=number)
            return made.batches(rows, replicate=number, given=given, margins=margins)

        count = made.rows_ if rows is None else rows
        epsilon = made.epsilon_spent
        marker = Marker(
            made.method.card.name,
            count,
            given=shown,
            margins=shares,
            constraints=schema.constraints,
            epsilon=epsilon,
            seeded=epsilon is not None and made.seeded_,
        )
        shared = made.is_proper and train is None
        return cls(made, marker, batches, made.held_.left_out, shares_one_draw=shared)

    @classmethod
    def of_replacement(cls, made: Replacement) -> "Release":
        """Take records of which some columns are drawn anew."""
        real = made.real
        marker = Marker(
            made.made.method.card.name,
            real.height,
            kind="partially synthetic",
            aligned=True,
            replaced=made.columns,
            where=None if made.where is None else str(made.where),
            constraints=real.schema.constraints,
        )
        left_out = tuple(c for c in made.held.left_out if c.name in real.frame.columns)
        return cls(made.made, marker, lambda n: [made.table(n)], left_out, made.learnt_elsewhere)

    def write(
        self, outputs: Sequence[Path], *, note: Path | None = None, save: Path | None = None
    ) -> None:
        """Write the replicates, the README and the model: all of them or none."""
        if len(outputs) > 1 and self.shares_one_draw:
            raise OptionError(
                "proper replicates need a model each, and a saved model is one",
                hint="draw one file from the model, or fit again from the real table",
            )
        marker, method = replace(self.marker, replicates=len(outputs)), self.made.method
        digests: list[str] = []
        with WholeFiles() as files:
            if save is not None:
                self.made.write(files.add(save, for_owner=method.card.is_file_for_owner))
            for number, path in enumerate(outputs):
                batches = self.batches(number)
                # a replacement is fitted when its first batch is asked for
                models = tuple(getattr(method, "methods_", ()))
                marker = replace(marker, proper=self.made.is_proper, models=models)
                inside = replace(marker, replicate=number + 1)
                digests.append(_write(batches, files.add(path), path, inside))
            if note is not None:
                names = tuple(path.name for path in outputs)
                marker = replace(marker, replicate=1 if len(names) == 1 else None)
                marker = replace(marker, files=names, digests=tuple(digests))
                text = readme(
                    marker,
                    method.card,
                    proper=self.made.is_proper,
                    learnt_elsewhere=self.learnt_elsewhere,
                    spending=self.made.spending_ or (),
                )
                files.add(note).write_text(text, encoding="utf-8")


def _write(batches: Iterable[pl.DataFrame], file: Path, like: Path, marker: Marker) -> str:
    """Write the rows of one file, and its marker inside if it can have one; give their digest."""
    made = RowDigest()

    def inside() -> dict[str, str]:
        return {KEY: replace(marker, digests=(made.text,)).to_json()}

    write_batches(made.over(batches), file, like=like, metadata=inside)
    # an Excel file keeps fewer digits than a number has: what counts is what is read again
    return digest_file(file) if format_of(like) == "excel" else made.text


def note_for(out: Path) -> Path | None:
    """Give the place of the README; a Parquet file needs none, a pipe can have none."""
    if format_of(out) == "parquet" or (out.exists() and not out.is_file()):
        return None
    note = sidecar(out)
    if note.is_file() and read_note(note) is None:
        raise OptionError(f"{note} is not ours and would be overwritten", hint="name another file")
    return note
