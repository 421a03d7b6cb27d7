"""An attack is a game whose wins are counted against a control. ``ATTACKS`` names those on fits."""

from typing import cast

from understudy.attacks.audit import audit
from understudy.attacks.membership import membership
from understudy.attacks.setting import Attack, Described
from understudy.attacks.worlds import worlds

_ALL: tuple[Described, ...] = (worlds, membership, audit)

ATTACKS: dict[str, Attack] = {a.card.name: a for a in cast("tuple[Attack, ...]", _ALL)}
