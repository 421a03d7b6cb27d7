"""understudy measures."""

from pathlib import Path
from typing import Any

import click

from understudy.cli import common


@click.command("measures")
@common.as_json
def command(json_file: Path | None) -> None:
    """List the measures and attacks: what each number says and what it does not show."""
    from understudy.attacks import ATTACKS
    from understudy.measures import MEASURES
    from understudy.options import declared
    from understudy.workflows.assessment import cards

    common.check_outputs([], json_file=json_file)
    every: dict[str, Any] = {**MEASURES, **ATTACKS}
    if json_file is not None:
        told = [
            {**card, "options": {o: taken.default for o, taken in declared(every[name]).items()}}
            for name, card in cards().items()
        ]
        common.write_json({"version": 1, "measures": told}, json_file)
        return
    for measure in every.values():
        card = measure.card
        better = "" if card.better == "reference" else f", {card.better} is better"
        texts = [card.meaning, f"Does not show: {card.not_shown}"]
        texts += [f"Threat: {card.threat}"] if card.threat else []
        texts += [f"Needs: {', '.join(card.needs)}."] if card.needs else []
        common.show_card(card.name, card.unit + better, texts, declared(measure))
