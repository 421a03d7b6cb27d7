"""An attack is a game whose wins are counted against a control. ``ATTACKS`` names those on fits."""

from typing import cast

from understudy.attacks.audit import audit
from understudy.attacks.membership import membership
from understudy.attacks.refits import AttackFunction
from understudy.attacks.worlds import worlds

ATTACKS: dict[str, AttackFunction] = {
    a.card.name: a for a in cast("tuple[AttackFunction, ...]", (worlds, membership, audit))
}
