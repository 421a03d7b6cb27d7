"""understudy methods."""

from pathlib import Path

import click

from understudy.cli import common


@click.command("methods")
@common.as_json
def command(json_file: Path | None) -> None:
    """List the methods: what each keeps, what it loses and what it claims."""
    from understudy.options import declared
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
        title = f"{card.title}{' (default)' if name == DEFAULT else ''}"
        if issubclass(method, Broken):
            common.show_card(name, title, [f"It comes from {card.source}."])
            continue
        texts = [f"Keeps {card.keeps}; loses {card.loses}.", f"Claim: {card.claim}"]
        able = [ABILITIES[one].text for one in ABILITIES if one in abilities_of(method)]
        texts += [
            f"A saved model contains {card.file}.",
            f"It {'; '.join(able)}." if able else "It only fits and samples.",
        ]
        common.show_card(name, title, texts, declared(method))
