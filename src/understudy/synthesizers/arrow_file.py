"""What an Arrow file says of itself, looked at before any of it is unpacked.

The format is that of the Arrow columnar specification: a footer names the batches, and each batch
begins with a table of facts (FlatBuffers). Only what a size depends on is read.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"ARROW1"
DICTIONARIES, BATCHES = 2, 3  # fields of the footer
HEADER_TYPE, HEADER = 1, 2  # fields of a message
IS_DICTIONARY, IS_BATCH = 2, 3  # types of a header
DATA = 1  # field of a dictionary
LENGTH, COMPRESSION = 0, 3  # fields of a batch
BLOCK = struct.Struct("<qi4xq")
SMALLEST_VALUE = 8  # a byte holds no more than so many values, each a bit


@dataclass(frozen=True)
class _FlatTable:
    """A table of facts at a place of a file."""

    content: bytes
    at: int

    @classmethod
    def root(cls, content: bytes, at: int) -> "_FlatTable":
        return cls(content, at + _whole(content, at, "<I"))

    def place(self, field: int) -> int | None:
        """Find where a field is; none where the table has no such field."""
        facts = self.at - _whole(self.content, self.at, "<i")
        where = 4 + 2 * field
        if where >= _whole(self.content, facts, "<H"):
            return None
        offset = _whole(self.content, facts + where, "<H")
        return self.at + offset if offset else None

    def table(self, field: int) -> "_FlatTable | None":
        place = self.place(field)
        return None if place is None else _FlatTable.root(self.content, place)

    def blocks(self, field: int) -> Iterator[int]:
        """Give where the messages of a list of blocks begin."""
        place = self.place(field)
        if place is None:
            return
        place += _whole(self.content, place, "<I")
        for number in range(_whole(self.content, place, "<I")):
            at = place + 4 + number * BLOCK.size
            yield _whole(self.content, at, "<q")


def _whole(content: bytes, at: int, form: str) -> int:
    if at < 0:
        raise ValueError("an Arrow file points outside itself")
    try:
        made: int = struct.unpack_from(form, content, at)[0]
    except struct.error:
        raise ValueError("an Arrow file points outside itself") from None
    return made


def is_plain(content: bytes) -> bool:
    """Whether no batch is compressed, and none tells of more values than the file has room for."""
    if not (content.startswith(MAGIC) and content.endswith(MAGIC)):
        raise ValueError("this is no Arrow file")
    end = len(content) - len(MAGIC) - 4
    footer = _FlatTable.root(content, end - _whole(content, end, "<i"))
    starts = [at for field in (DICTIONARIES, BATCHES) for at in footer.blocks(field)]
    return all(_is_plain_batch(content, at) for at in starts)


def _is_plain_batch(content: bytes, at: int) -> bool:
    # a message begins with a mark and its length, or, in old files, with its length alone
    marked = _whole(content, at, "<i") == -1
    message = _FlatTable.root(content, at + (8 if marked else 4))
    kind, header = message.place(HEADER_TYPE), message.table(HEADER)
    if kind is None or header is None or content[kind] not in (IS_DICTIONARY, IS_BATCH):
        raise ValueError("an Arrow file has a batch of an unknown kind")
    batch = header.table(DATA) if content[kind] == IS_DICTIONARY else header
    if batch is None:
        raise ValueError("an Arrow file has a dictionary without values")
    length = batch.place(LENGTH)
    rows = 0 if length is None else _whole(content, length, "<q")
    return batch.place(COMPRESSION) is None and 0 <= rows <= SMALLEST_VALUE * len(content)
