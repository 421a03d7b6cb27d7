"""understudy policy."""

from pathlib import Path

import click

from understudy.cli import common

START = """\
# A policy for `understudy assess … --policy FILE`.
# Every rule is decided on the interval of a finding: PASS if all of it keeps to the bound, FAIL
# if all of it breaks it, INCONCLUSIVE else, and where the number is not there. Shares are
# fractions. The bounds below are a start, not a standard: set your own and say why.
version = 1

# These must have a result, or the verdict is INCONCLUSIVE; without a holdout there is none.
required = ["privacy.closest_record", "privacy.identical_matches"]

[[rule]]
measure = "privacy.closest_record"
upper = 0.52
reason = "Synthetic records must hardly be closer to training than to fresh real rows."

[[rule]]
measure = "privacy.identical_matches"
difference_to_reference = 0.01
reason = "Copies of training rows must be about as rare as among fresh real rows."

[[rule]]
measure = "fidelity.trivariate"
ratio_to_reference = 1.5
reason = "Triples of columns should be about as close to training as those of fresh rows."

[[rule]]
measure = "fidelity.relations"
difference_to_reference = 0.05
if_applicable = true                   # kept where training has no relations between columns
reason = "What always holds between columns, such as a computed one, should hold in the release."

# [[rule]]
# measure = "utility.classification"   # needs --target
# lower = 0.85

# [[rule]]
# measure = "fidelity.bivariate"
# by = "sex"                           # each level alone, of 100 rows and more
# ratio_to_reference = 1.5

# maximum_epsilon = 1.0                # above the rules; for tables made with differential privacy
"""


@click.group("policy")
def command() -> None:
    """Write a starting policy: rules that an assessment must keep to."""


@command.command("init")
@click.option(
    "--out", type=common.FILE, default=Path("policy.toml"), show_default=True, help="The policy."
)
@common.quiet
def init(out: Path, quiet: bool) -> None:
    """Write a commented policy to start from; a file that is there is not overwritten."""
    from understudy.errors import OptionError

    common.check_outputs([out])
    if out.exists():
        raise OptionError(f"{out} is there already", hint="name another file with --out")
    common.write_text(START, out)
    common.say(f"wrote {out}: edit it, then understudy assess … --policy {out}", quiet=quiet)
