"""understudy measures."""

from pathlib import Path

import click

from understudy.cli import common


@click.command("measures")
@common.as_json
def command(json_file: Path | None) -> None:
    """List the measures and attacks: what each number says and what it does not show."""
    from understudy.attacks import ATTACKS
    from understudy.attacks.setting import Attack
    from understudy.measures import MEASURES, Measure
    from understudy.options import declared
    from understudy.workflows.assessment import cards

    common.check_outputs([], json_file=json_file)
    if json_file is not None:
        common.write_json({"version": 1, "measures": list(cards().values())}, json_file)
        return
    every: list[Measure | Attack] = [*MEASURES.values(), *ATTACKS.values()]
    for measure in every:
        card = measure.card
        click.secho(card.name, bold=True, nl=False)
        click.echo(
            f"  {card.unit}, {card.better} is better"
            if card.better != "reference"
            else f"  {card.unit}"
        )
        common.paragraph(card.meaning)
        common.paragraph(f"Does not show: {card.not_shown}")
        if card.threat:
            common.paragraph(f"Threat: {card.threat}")
        if card.needs:
            common.paragraph(f"Needs: {', '.join(card.needs)}.")
        chosen = [f"{name}={option}" for name, option in declared(measure).items()]
        common.paragraph(f"Options: {', '.join(chosen)}" if chosen else "No options.")
        click.echo()
