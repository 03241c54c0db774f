"""Evaluate swizzle atoms of shared memory: GMMA::Layout_K_SW128_Atom<T>, make_smem_layout_atom(…) of the DSL, and those
that CUTLASS selects.
"""

from __future__ import annotations

from typing import Any

from lanescope.cute.calls.functions import OpenCuteValueError
from lanescope.cute.layout import CuteLayout
from lanescope.cute.making import drop_empty_swizzle
from lanescope.reader.code.cute.cute_mmas import (
    get_last_word,
    get_size,
    get_templates,
    get_type_bits,
    name_value,
    parse_major,
)
from lanescope.reader.code.values import ArrayValue, OpaqueValue, ResolvedType, shorten_name
from lanescope.reader.cute.smem_atoms import (
    SmemAtomName,
    choose_smem_atom,
    make_canonical_layout,
    parse_atom_kind,
    parse_atom_name,
)


def find_smem_atom(value: Any) -> tuple[SmemAtomName, Any] | None:
    """Return the swizzle atom that a value names, and the type of its elements, None without one."""
    name, arguments = "", ()
    kind = value.typed if isinstance(value, ArrayValue) and not value.cells else value
    if isinstance(kind, ResolvedType):
        name, arguments = kind.name, kind.arguments
    elif isinstance(kind, OpaqueValue):
        name, arguments = kind.head or kind.text, get_templates(kind)
    if get_last_word(name) == "make_smem_layout_atom" and len(value.arguments) > 1:  # of the DSL
        arguments = value.arguments[1:]
        atom = parse_atom_kind(str(value.arguments[0]))
    else:
        atom = parse_atom_name(get_last_word(name), parse_major(arguments[1]) if len(arguments) > 1 else "")
    return None if atom is None or atom.base32 else (atom, arguments[0] if arguments else None)


def make_atom_layout(value: Any, default_bits: int | None) -> CuteLayout | None:
    """Return the layout of the swizzle atom that a value names; None for another value.

    default_bits: of an element whose type is not known.
    """
    found = find_smem_atom(value)
    if found is None:
        return None
    atom, element = found
    bits = 1 if atom.in_bits else (get_type_bits(element) if element is not None else None) or default_bits
    if bits is None:
        raise OpenCuteValueError("the element type" if element is None else shorten_name(element))
    return make_canonical_atom(atom, bits)


def make_canonical_atom(atom: SmemAtomName, bits: int) -> CuteLayout:
    """Make GMMA::Layout_K_SW128_Atom or another canonical atom, for elements of `bits` bits."""
    if bits not in (1, 2, 4, 8, 16, 32, 64):
        raise OpenCuteValueError(f"elements of {bits} bits")
    return drop_empty_swizzle(make_canonical_layout(atom.major, atom.mode, bits))


SMEM_SELECTORS = frozenset(("ss_smem_selector", "sm100_smem_selector"))


def select_smem_atom(call: OpaqueValue, evaluate: Any) -> CuteLayout:
    """Return the swizzle atom of a call of SMEM_SELECTORS; OpenCuteValueError if it is unknown."""
    arguments = get_templates(call)
    major = parse_major(arguments[0]) if len(arguments) >= 4 else ""
    bits = get_type_bits(arguments[1]) if major else None
    if bits is None:
        raise OpenCuteValueError(name_value(arguments[1]) if major else call.head)
    block = evaluate(arguments[2 if major == "MN" else 3])
    atom = choose_smem_atom(call.head, major, bits, get_size(block[0] if isinstance(block, tuple) else block))
    if atom is None:
        raise OpenCuteValueError(call.head)
    return make_canonical_atom(atom, bits)
