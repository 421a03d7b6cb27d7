"""Relations between the columns of a table: found, judged, learnt."""

from understudy.data.relations.discovery import discover
from understudy.data.relations.judging import Judged, Learnt, check, judge
from understudy.data.relations.known import relations_of, with_relations
from understudy.data.relations.learning import learn
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
