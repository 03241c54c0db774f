"""Names of a tensor map's dimensions, and whether K, M and N among them are those of the product that reads the map.

In attention V is (n, k) by its names: n counts the keys, over which P · V sums, so that its K is the n of the map.
`tiles.py` reads the letters, `workbench_builder.py` drops names that may be another product's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.reads.stores import TileStore
from lanescope.workbench.text.names import split_size

_CONSTANT = re.compile(r"\bk(?=[A-Z])")  # the prefix of constants: kHeadDim is no K
Chosen = Mapping[str, tuple[TileStore | None, str]]  # the store of each operand, and why


def list_dimension_words(tensor_map: TensorMap, number: int) -> set[str]:
    """List the words, in lower case, of what the text calls a dimension of a tensor; none if its size is a number."""
    name = tensor_map.symbols.get(f"dims[{number}]", "")
    return {word.lower() for word in split_size(_CONSTANT.sub("", name))}


def drop_doubtful_names(
    chosen: Chosen, group: Sequence[DescriptorUse], groups: Sequence[Sequence[DescriptorUse]]
) -> dict[str, tuple[TileStore | None, str]]:
    """Return the stores of an instruction's operands, without names of dimensions that may be another product's.

    Names are kept if the other operand's map has the same K; also beside an operand without a map, if the text has no
    other product. groups: the uses of every product.
    """
    words = {name: _list_words(store) for name, (store, _) in chosen.items()}
    several = any(_is_other_product(group, other) for other in groups)
    kept = {}
    for name, (store, why) in chosen.items():
        beside = words.get({"a": "b", "b": "a"}[name])
        doubtful = several if beside is None else bool(beside & {"m", "n"}) and "k" not in beside
        kept[name] = (_drop_names(store) if doubtful and store is not None else store, why)
    return kept


def _list_words(store: TileStore | None) -> set[str] | None:
    """List the words of a map's dimensions; None without a map."""
    if store is None or store.map is None:
        return None
    return {word for number in range(2) for word in list_dimension_words(store.map, number)}


def _drop_names(store: TileStore) -> TileStore:
    if store.map is None:
        return store
    symbols = {key: name for key, name in store.map.symbols.items() if not key.startswith("dims")}
    return replace(store, map=replace(store.map, symbols=symbols))


def _is_other_product(group: Sequence[DescriptorUse], other: Sequence[DescriptorUse]) -> bool:
    """Return whether two groups read A from different places, or A from registers and B from different places."""
    first, second = _list_starts(group, "a"), _list_starts(other, "a")
    if first or second:
        return not first & second
    return not _list_starts(group, "b") & _list_starts(other, "b")


def _list_starts(group: Sequence[DescriptorUse], operand: str) -> set[LinearExpression | None]:
    return {use.arguments[operand].address for use in group if operand in use.arguments}
