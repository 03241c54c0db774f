"""Find a tensor map by the names that a copy knows it by."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.reader.code.maps.map_objects import list_filled_names
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.workbench.text.names import find_operand_letter


def find_named_map(names: frozenset[str], maps: Sequence[TensorMap]) -> TensorMap | None:
    """Find the tensor map that has one of the names: the one that fills its object, if that is known, else by
    its name, else by the operand in the name; None if none or several different ones fit.
    """
    named = [tensor_map for tensor_map in maps if tensor_map.has_name_in(names)]
    letter = find_operand_letter(*names)
    if len(named) != 1 and letter is not None and not list_filled_names(names):
        lettered = [tensor_map for tensor_map in named or maps if find_operand_letter(*tensor_map.names) == letter]
        named = lettered or named
    kinds = {(tensor_map.box, tensor_map.element_bits, tensor_map.swizzle) for tensor_map in named}
    return named[0] if len(kinds) == 1 else None
