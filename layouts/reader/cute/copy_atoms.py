"""Copy atoms of CuTe in C++ and in Python: Copy_Atom<operation, element>, make_copy_atom(operation, element), or a bare
operation. CUTLASS 4.7, cute/atom/copy_atom.hpp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from lanescope.cxx.sizes import find_element_bits, find_size
from lanescope.reader.cute import atoms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText

_VECTOR = re.compile(r"AutoVectorizingCopyWithAssumedAlignment")
_ASYNC = re.compile(r"SM80_CP_ASYNC_CACHE(?:ALWAYS|GLOBAL)(?:_ZFILL)?")


@dataclass(frozen=True, slots=True)
class CopyAtomMeaning:
    """A copy atom (PTX, universal or cp.async), with the bits of an access and of an element; None if unknown.

    vectorizes: whether `bits` is a maximum that the layouts may reduce.
    """

    atom: str | None
    bits: int | None
    element_bits: int | None
    ptx: tuple[str, ...] = ()
    tensor_memory: bool = False
    vectorizes: bool = False


def parse_copy_atom(home: TermText, value: Any) -> CopyAtomMeaning | None:
    """Parse Copy_Atom<operation, element>, cute.make_copy_atom(operation, element, …), or a bare operation."""
    value = home.resolve_value(value)
    if not isinstance(value, SyntaxTerm):
        return None
    if value.name in ("Copy_Atom", "make_copy_atom"):
        arguments = [*(value.angle or ()), *(value.args or ())]
        if not arguments:
            return None
        element = find_element_bits(home.find_name(arguments[1])) if len(arguments) > 1 else None
        inner = _parse_copy_operation(home, arguments[0], element)
        bits = home.parse_number(value.keywords["num_bits_per_copy"]) if "num_bits_per_copy" in value.keywords else None
        if inner is None:
            return CopyAtomMeaning(None, bits, element)
        return replace(inner, element_bits=element, bits=bits or inner.bits)
    return _parse_copy_operation(home, value, None)


def _parse_copy_operation(home: TermText, value: Any, element: int | None) -> CopyAtomMeaning | None:
    value = home.resolve_value(value)
    if not isinstance(value, SyntaxTerm):
        return None
    if value.name == "Copy_Traits" and value.angle:
        return _parse_copy_operation(home, value.angle[0], element)
    if re.search(r"SM100_TMEM|tcgen05", value.path):
        return CopyAtomMeaning(None, None, element, (), True)
    angle = value.angle[0] if value.angle else None
    if value.name in ("UniversalCopy", "CopyUniversalOp"):
        return CopyAtomMeaning("universal", element if angle is None else _find_type_bits(home, angle), element)
    if value.name in ("DefaultCopy", "AutoVectorizingCopy") or _VECTOR.match(value.name):
        return _parse_vectorizing_copy(home, value.name, angle, element)
    if _ASYNC.fullmatch(value.name) or value.name == "CopyG2SOp":
        return CopyAtomMeaning("cp.async", None if angle is None else _find_type_bits(home, angle), element)
    return _parse_instruction_copy(home, value, element)


def _find_type_bits(home: TermText, value: Any) -> int | None:
    """Return the bits of an access type such as uint128_t, int or uint_bit_t<128>."""
    meant = home.resolve_value(value)
    if isinstance(meant, SyntaxTerm) and meant.name in ("uint_bit_t", "uint_byte_t") and meant.angle:
        number = home.parse_number(meant.angle[0])
        return number if number is None or meant.name == "uint_bit_t" else 8 * number
    name = home.find_name(meant)
    size = find_size(name) if not find_element_bits(name) else None
    return find_element_bits(name) or (8 * size.bytes if size else None)


def _parse_vectorizing_copy(home: TermText, name: str, angle: Any, element: int | None) -> CopyAtomMeaning:
    """Parse DefaultCopy, AutoVectorizingCopy and AutoVectorizingCopyWithAssumedAlignment<128>."""
    wide = 128 if name == "AutoVectorizingCopy" else element
    if angle is not None:
        number = home.parse_number(angle)
        wide = find_element_bits(home.find_name(angle)) if number is None else number
    return CopyAtomMeaning("universal", wide, element, vectorizes=name != "DefaultCopy")


def _parse_instruction_copy(home: TermText, value: SyntaxTerm, element: int | None) -> CopyAtomMeaning | None:
    """Return the load or store atom of SM75_U32x4_LDSM_N, LdMatrix8x8x16bOp(…) and the like."""
    atom = atoms.parse_atom(home, value)
    if atom is None or not atom.found or atom.found[0].family.multiplies:
        return None
    ptx = tuple(i.ptx for i in atom.found)
    return CopyAtomMeaning(ptx[0] if len(ptx) == 1 else None, 128 if len(ptx) == 1 else None, element, ptx)
