"""understudy methods."""

from pathlib import Path

import click

from understudy.cli import common


@click.command("methods")
@common.as_json
def command(json_file: Path | None) -> None:
    """List the methods: what each keeps, what it loses and what it claims."""
    from understudy.synthesizers import ABILITIES, DEFAULT, SYNTHESIZERS, abilities_of, options_of
    from understudy.synthesizers.registry import Broken

    common.check_outputs([], json_file=json_file)
    if json_file is not None:
        methods = [
            {
                **method.card.to_dict(),
                "abilities": sorted(abilities_of(method)),
                "options": options_of(method),
            }
            for method in SYNTHESIZERS.values()
        ]
        common.write_json({"version": 1, "default": DEFAULT, "methods": methods}, json_file)
        return
    for name, method in SYNTHESIZERS.items():
        card = method.card
        click.secho(name, bold=True, nl=False)
        click.echo(f"  {card.title}{' (default)' if name == DEFAULT else ''}")
        if issubclass(method, Broken):
            common.paragraph(f"It comes from {card.source}.")
            click.echo()
            continue
        common.paragraph(f"Keeps {card.keeps}; loses {card.loses}.")
        common.paragraph(f"Claim: {card.claim}")
        common.paragraph(f"A saved model contains {card.file}.")
        able = [ABILITIES[one].text for one in ABILITIES if one in abilities_of(method)]
        common.paragraph(f"It {'; '.join(able)}." if able else "It only fits and samples.")
        chosen = [f"{option}={default}" for option, default in options_of(method).items()]
        common.paragraph(f"Options: {', '.join(chosen)}" if chosen else "No options.")
        click.echo()
