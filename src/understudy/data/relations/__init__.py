"""Relations between the columns of a table: found, judged, learnt."""

from understudy.data.relations.discovery import discover
from understudy.data.relations.judging import Judged, Learnt, check, judge, learn
from understudy.data.relations.known import relations_of, with_relations
from understudy.data.schema import Relation, RelationKind

__all__ = [
    "Judged",
    "Learnt",
    "Relation",
    "RelationKind",
    "check",
    "discover",
    "judge",
    "learn",
    "relations_of",
    "with_relations",
]
