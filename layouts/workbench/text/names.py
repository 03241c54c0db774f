"""Split names into words, and find the operand that a name denotes.

`stores.py`, `uses.py`, `exchanged_buffers.py` and `tiles.py` use it to assign buffers, tensor maps and descriptors.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.workbench.text.known_values import find_common_value

CUT = re.compile(r"…[0-9a-f]{3}(?:[0-9a-f]{5})?")  # abbreviates the rest of a long name
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OBJECT = re.compile(r"\b\w+\s*(?:\.|->)(?=\s*\w+\s*\()")
_LETTERS = {"a": "a", "sa": "a", "as": "a", "lhs": "a", "b": "b", "sb": "b", "bs": "b", "rhs": "b"}
_DESCRIPTORS = {"da": "a", "adesc": "a", "desca": "a", "db": "b", "bdesc": "b", "descb": "b"}


def split_name(name: str) -> list[str]:
    """Return the words of a name.

    >>> split_name("tma_map_A"), split_name("smemTileB")
    (['tma', 'map', 'A'], ['smem', 'Tile', 'B'])
    """
    return _WORD.findall(name)


def split_size(size: str) -> list[str]:
    """Return the words of an expression for the size of a dimension, without the objects whose methods it calls.

    >>> split_size("BLOCK_K / 64"), split_size("K.size(0)")
    (['BLOCK', 'K'], ['size'])
    """
    return split_name(_OBJECT.sub("", size))


@lru_cache(maxsize=4096)
def find_operand_letter(*names: str) -> str | None:
    """Return "a" or "b" if names indicate an operand: sA, desc_b, tma_map_A, smem.B; None for neither or both.

    >>> (find_operand_letter("tma_map_A"), find_operand_letter("smem_b"), find_operand_letter("sA", "sB"),
    ... find_operand_letter("barrier"))
    ('a', 'b', None, None)
    >>> find_operand_letter("(shared + 4096·lane…82b855a1)", "(smem & 0x3ff ? …a3d : smem >> 16)") is None
    True
    """
    words = (word.lower() for name in names for word in split_name(CUT.sub("", name)))
    return find_common_value(_LETTERS[word] for word in words if word in _LETTERS)


def find_descriptor_letter(name: str) -> str | None:
    """Return "a" or "b" if the name of a descriptor indicates its operand, also da and db.

    >>> find_descriptor_letter("desc_b"), find_descriptor_letter("da"), find_descriptor_letter("desc")
    ('b', 'a', None)
    """
    return find_operand_letter(name) or _DESCRIPTORS.get(name.strip().lower())
