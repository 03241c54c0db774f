"""The meaning of a CuTe atom: its instructions, majors and UMMA atom, from its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import SPELLED
from lanescope.ptx.instruction import WARPGROUP, Instruction
from lanescope.ptx.table import atoms as names
from lanescope.reader.cute import umma
from lanescope.reader.cute.umma import SpelledAtom
from lanescope.reader.grammars.terms import SyntaxTerm, TermText

_K_MAJOR, _MN_MAJOR = re.compile(r"(?:^|::|\.|_)K$"), re.compile(r"(?:^|::|\.|_)(?:MN|M|N)$")


@dataclass(frozen=True, slots=True)
class AtomMeaning:
    """The meaning of an atom: its instructions (several if the text does not determine one), the majors of its
    operands, and its properties.
    """

    found: tuple[Instruction, ...]
    name: str
    majors: dict[str, str]
    tensor_memory: bool = False
    from_registers: bool = False
    umma: SpelledAtom | None = None
    note: str = ""
    scalar: bool = False

    @property
    def spelled(self) -> str | None:
        """Return the first instruction as POST /tiles/mma takes it: PTX, or CUTLASS's name if only that has the suffix
        _RS.
        """
        if self.umma:
            return self.name if self.umma.atom else None
        if not self.found:
            return None
        name = names.get_atom_name(self.found[0]).split(" (")[0].replace("SM90::GMMA::MMA_", "SM90_")
        return name.replace("_SS", "_RS") if self.from_registers and "_SS" in name else self.found[0].ptx

    @property
    def known(self) -> bool:
        """Whether the text determines the instructions."""
        return bool(self.found or self.scalar or (self.umma and self.umma.atom))

    @property
    def threads(self) -> int | None:
        if self.umma:
            return self.umma.atom.ctas if self.umma.atom else None
        if self.scalar:
            return 1
        scopes = {count_atom_threads(i) for i in self.found}
        return scopes.pop() if len(scopes) == 1 else None

    @property
    def shape(self) -> list[int] | None:
        if self.umma:
            return list(self.umma.atom.shape) if self.umma.atom else None
        if self.scalar:
            return [1, 1, 1]
        shapes = {tuple(i.sizes[dim] for dim in "mnk") for i in self.found if i.family.multiplies}
        return list(shapes.pop()) if len(shapes) == 1 else None


def count_atom_threads(i: Instruction) -> int:
    """Return how many threads an instruction's atom has: the quad pairs of mma.m8n8k4 are 8."""
    return 8 if i.shape == "m8n8k4" and i.types["a"] != "f64" else i.family.scope.threads


def parse_dtype(text: TermText, value: Any) -> str:
    """Return PTX's name of an element type, "" for an unknown type."""
    return SPELLED.get(text.find_name(value).lower(), "")


def parse_majors(values: Iterable[Any]) -> dict[str, str]:
    """Return {"a", "b"} → K or MN, from the values that name a major, in order."""
    majors = []
    for value in values:
        path = value.path if isinstance(value, SyntaxTerm) else ""
        if re.search(r"major|OperandMajorMode", path, re.I) or path in ("K", "MN"):
            majors.append("MN" if _MN_MAJOR.search(path) else "K" if _K_MAJOR.search(path) else "")
    return dict(zip("ab", majors, strict=False)) if len(majors) == 2 and all(majors) else {}


def parse_umma(text: TermText, value: SyntaxTerm, words: str) -> AtomMeaning:
    """Return the UMMA atom of a value, with known arguments and defined names substituted."""
    try:
        spelled = umma.parse_umma_term(text, value)
    except LayoutError:
        spelled = None
    atom_text = umma.expand_names(text, value) if spelled and spelled.atom else " ".join(words.split())[:60]
    majors = {name: spelled.atom.get_major(name) for name in "ab"} if spelled and spelled.atom else {}
    return AtomMeaning((), atom_text, majors, True, umma=spelled)


def find_products(types: dict[str, str], sizes: dict[str, int], warpgroup: bool) -> list[Instruction]:
    """Return the dense products with these types and sizes, without rounding and saturation modifiers. Empty fields
    match anything.
    """
    return [
        i
        for i in catalog.instructions()
        if i.family.multiplies
        and i.family.specified
        and (i.family.scope is WARPGROUP) == warpgroup
        and not i.family.sparsity
        and not i.family.scale_blocks
        and not set(i.modifiers) & {"satfinite", "rn", "rz", "rm", "rp"}
        and all(i.types.get(letter) == kind for letter, kind in types.items() if kind)
        and all(i.sizes.get(dim) == size for dim, size in sizes.items())
    ]
