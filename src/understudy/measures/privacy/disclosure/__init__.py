"""Identity and attribute disclosure by exact matching on keys: the family of synthpop's tables."""

from understudy.measures.privacy.disclosure.attribute import attribute_disclosure
from understudy.measures.privacy.disclosure.identity import replicated_uniques

__all__ = ["attribute_disclosure", "replicated_uniques"]
