"""Relations between the columns of a table: what they say of rows, and what they are read off."""

from understudy.data.relations.judging import Judged, Learnt, judge, learn
from understudy.data.schema import Relation, RelationKind

__all__ = ["Judged", "Learnt", "Relation", "RelationKind", "judge", "learn"]
