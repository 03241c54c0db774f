"""Recognise CuTe's TiledMMA: types, make_tiled_mma in C++ and Python, and print(tiled_mma).

CUTLASS 4.7, cute/atom/mma_atom.hpp: threads are the atom's threads (V) times AtomLayoutMNK; in each of M, N and K,
the tile is the larger of atoms × atom and the permutation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from lanescope.blackwell import umma_atom
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import find_size, format_tuple, list_leaves, list_modes, make_compact_strides, map_leaves
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.reader.cute import atoms, labelled_layouts, shapes, umma as umma_atoms
from lanescope.reader.cute.atom_meaning import AtomMeaning
from lanescope.reader.cute.printed_operands import holds_a, matches_print
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.lookup import describe_instantiation
from lanescope.reader.grammars.terms import SyntaxTerm, TermText
from lanescope.reader.meaning import TextMeaning, drop_repeats

_MAKERS = re.compile(
    r"(?<!def )(?<![\w.])(?:\w+(?:::|\.)){0,6}(?:make_tiled_mma|make_trivial_tiled_mma)\s*\(|(?<!\w)TiledM(?:MA|ma)\s*<"
)
_MAKER_NAMES = frozenset(("TiledMMA", "TiledMma", "make_tiled_mma", "make_trivial_tiled_mma"))
_HEAD = re.compile(r"(?:Thr[ _]?Layout[ _]?VMNK|Permutation[ _]?MNK)\s*:", re.I)
_FIELD = re.compile(
    r"(?P<name>Thr[ _]?Layout[ _]?VMNK|Permutation[ _]?MNK|Thr[ _]?ID|Shape[ _]?MNK|Layout(?P<cpp>[ABC])_TV"
    r"|TV[ _]?Layout[ _]?(?P<py>[ABC])\b(?!\s*tiled))\s*:[ \t]*",
    re.I,
)
_MOST_MMAS = 8  # per text
_MOST_LISTED = 48
REFUSED = frozenset(("bad_permutation", "bad_atom_layout"))  # by CuTe, whatever the tile
UMMA = (
    "This is a tcgen05 MMA: its threads are CTAs and its accumulator is in tensor memory. From documents, not measured."
)
TENSOR_MEMORY = "This is a tcgen05 MMA: its accumulator is in tensor memory, see /tmem."

SCALAR = "UniversalFMA multiplies single elements in each thread; it is not a matrix instruction."


def recognise_lone_atom(text: str) -> tuple[TextMeaning, ...]:
    """Return a text's UMMA atom outside a TiledMMA as a TiledMMA of one atom."""
    if _MAKERS.search(text) or _HEAD.search(text) or not umma_atoms.is_atom(text) or umma_atoms.is_tcgen05_mma(text):
        return ()
    spelled = umma_atoms.parse_umma_text(text)
    if spelled is None or spelled.atom is None:
        return ()
    majors = {letter: spelled.atom.get_major(letter) for letter in "ab"}
    return (_Tiled(AtomMeaning((), spelled.text, majors, True, umma=spelled), None).meaning,)


def recognise_tiled_mmas(text: str) -> tuple[TextMeaning, ...]:
    """Return the TiledMMAs that a text makes or prints, without repeats."""
    mmas = []
    if _HEAD.search(text):
        mmas += [meaning for block in _find_print_blocks(text) if (meaning := _parse_print(block))]
    if _MAKERS.search(text):
        home = terms.make_term_text(text)
        mmas += [
            finish_meaning(home, term, meaning)
            for term in terms.find_terms(home, _MAKERS)
            if (meaning := parse_tiled_mma(home, term))
        ]
    if any("umma" in meaning.facts for meaning in mmas):  # a print in a comment does not name the atom
        mmas.sort(key=lambda meaning: "umma" not in meaning.facts)
    return drop_repeats(mmas, _MOST_MMAS)


def finish_meaning(home: TermText, term: SyntaxTerm, meaning: TextMeaning) -> TextMeaning:
    """Return the meaning with open values under the text's names, and with a notice about the instantiation."""
    used = describe_instantiation(home, term.span[0])
    notice = (f"Evaluated for {used}, the only instantiation in the text.",) if used else ()
    return replace(meaning, undetermined=home.list_missing(meaning.undetermined), notices=(*meaning.notices, *notice))


def find_tiled_mma(home: TermText, value: Any) -> TextMeaning | None:
    """Return the TiledMMA that a value makes; None for other values."""
    value = home.resolve_value(value)
    if not isinstance(value, SyntaxTerm) or value.name not in _MAKER_NAMES:
        return None
    return parse_tiled_mma(home, value)


def parse_tiled_mma(home: TermText, term: SyntaxTerm) -> TextMeaning | None:
    """Parse a TiledMMA; None if the text does not contain its parts."""
    parts = _parse_trivial_parts(home, term) if term.name == "make_trivial_tiled_mma" else _parse_parts(home, term)
    if parts is None:
        return None
    atom, layout, third = parts
    laid = shapes.parse_layout(home, layout)
    tiled = _Tiled(atom, laid)
    if atom is None or not atom.known:
        tiled.opened.append("atom")
    if layout is not None and laid is None:
        tiled.opened.append("atom_layout")
    if third is not None:
        _add_third(home, tiled, third)
    return tiled.meaning


# the atom, and the atom layout and the third argument (None: absent)
_Parts = tuple[AtomMeaning | None, Any, Any]


def _parse_trivial_parts(home: TermText, term: SyntaxTerm) -> _Parts | None:
    """Return the parts of the DSL's make_trivial_tiled_mma(types, majors, …, atom_layout_mnk, …)."""
    if len(term.args or ()) < 4 and not term.named:
        return None
    atom = atoms.parse_atom(home, term)
    if atom is None and atoms.BLACKWELL.search(term.path):
        return None
    return atom, None if atom and atom.umma else term.get_argument(5, "atom_layout_mnk"), None


def _parse_parts(home: TermText, term: SyntaxTerm) -> _Parts | None:
    """Return the parts of make_tiled_mma(atom, atom layout, permutation) and TiledMMA<…>."""
    of_type = term.name != "make_tiled_mma"
    if not (term.angle if of_type else term.args) and not term.named:
        return None
    first = term.get_argument(0, "op_or_atom", "op", "atom", of_type=of_type)
    layout = term.get_argument(1, "atom_layout_mnk", "atom_layout", of_type=of_type)
    third = term.get_argument(2, "permutation_mnk", "permutation_tiler", of_type=of_type)
    resolved = home.resolve_value(first)
    if of_type and isinstance(resolved, SyntaxTerm) and resolved.name == "Atom":
        return None  # CuTe's own TiledMMA<Atom, TiledThr, TiledPerm>
    atom = atoms.parse_atom(home, first)
    if term.args is None and all(part is None for part in (atom, layout, third)):
        return None
    return atom, layout, third


def _add_third(home: TermText, tiled: _Tiled, third: Any) -> None:
    """Set the third argument: the permutation of M, N and K, or the value layout of older CuTe."""
    value = home.resolve_value(third)
    if not isinstance(value, SyntaxTerm) or value.name not in ("Layout", "make_layout"):
        tiled.permutation, tiled.sizes = shapes.parse_tiler(home, third)
        if tiled.permutation is None and not tiled.sizes:
            tiled.opened.append("permutation")
        return
    values = shapes.parse_layout(home, value)
    times = _list_three_sizes(values.shape) if values else [1, 1, 1]
    tiled.sizes = _multiply_sizes(_multiply_sizes(tiled.shape, tiled.atoms_mnk), times) or []
    if tiled.sizes and max(x for x in times if isinstance(x, int)) > 1:
        tiled.permutation = format_tuple(tuple(tiled.sizes))
    tiled.notices.append("The third argument is the value layout of older CuTe; it multiplies the tile of the atoms.")


@dataclass(slots=True)
class _Tiled:
    """The parts of a TiledMMA in a text."""

    atom: AtomMeaning | None
    laid: CuteLayout | None
    permutation: str | None = None
    sizes: list[Any] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    printed_threads: int | None = None

    @property
    def shape(self) -> list[int] | None:
        """M, N and K of the atom (None: unknown)."""
        return self.atom.shape if self.atom else None

    @property
    def atoms_mnk(self) -> list[Any]:
        """The number of atoms along M, N and K."""
        return _list_three_sizes(self.laid.shape) if self.laid else [1, 1, 1]

    @property
    def threads(self) -> int | None:
        if self.printed_threads is not None:
            return self.printed_threads
        of_atom, count = self.atom.threads if self.atom else None, find_size(tuple(self.atoms_mnk))
        return of_atom * count if of_atom and count and "atom_layout" not in self.opened else None

    @property
    def umma(self) -> umma_atoms.SpelledAtom | None:
        return self.atom.umma if self.atom else None

    @property
    def candidates(self) -> list[str]:
        """The instructions that it may consist of."""
        if self.umma and self.umma.atom:
            return [self.umma.atom.bound.ptx]
        return [i.ptx for i in self.atom.found] if self.atom else []

    def tile(self, shape: list[int] | None) -> list[Any]:
        """Return M, N and K of the tile for an atom of this shape."""
        of_atoms = _multiply_sizes(shape, self.atoms_mnk) or [None] * 3
        return [_get_larger(core, size) for core, size in zip(of_atoms, [*self.sizes, None, None, None], strict=False)]

    @property
    def meaning(self) -> TextMeaning:
        atom, umma, threads, tile = self.atom, self.umma, self.threads, self.tile(self.shape)
        known = all(isinstance(x, int) for x in tile)
        closed, closing = self.close_tile(tile) if known and not umma else (tile, ())
        names = shapes.list_symbols(tuple(self.atoms_mnk), tuple(x for x in self.sizes if x is not None))
        names += umma.open if umma else ()
        missing = (["threads"] if threads is None else []) + ([] if known else ["tile_mnk"])
        facts: dict[str, Any] = {
            "threads": threads,
            "tile_mnk": tile if any(x is not None for x in tile) else None,
            "atom_mnk": self.shape,
            "permutation": self.permutation,
            "candidates": self.candidates[:_MOST_LISTED],
            "body": self.body(closed if known and not umma else None),
            **({"majors": atom.majors} if atom and atom.majors else {}),
            **self.umma_facts,
        }
        undetermined = tuple(dict.fromkeys((*self.opened, *missing, *names)))
        return TextMeaning(
            "tiled_mma", self.title, facts, (*self.notices, *closing, *self.atom_notices), True, undetermined
        )

    def close_tile(self, tile: list[Any]) -> tuple[list[Any], tuple[str, ...]]:
        """Return (the least tile that permutation and atoms cover completely, a sentence if it differs from CuTe's).

        The tile is returned unchanged if atom and layouts make no TiledMMA.
        """
        body = self.body(None)
        if not body["atom"] or not body["atom_layout"] or not self.permutation:
            return tile, ()
        from lanescope.tiles.mma import list_coverage_notes  # loads the maps only for a complete TiledMMA
        from lanescope.tiles.tiled_mma import tiled_mma

        try:
            mma = tiled_mma(body["atom"], body["atom_layout"], self.permutation)
        except LayoutError as error:
            return tile, (f"{error.message} {error.hint}",) if error.code in REFUSED else ()
        return list(mma.tile), tuple(list_coverage_notes(mma))

    @property
    def title(self) -> str:
        threads, tile = self.threads, self.tile(self.shape)
        who = f"{threads if threads is not None else '?'} {'CTA' if self.umma else 'thread'}{'s' * (threads != 1)}"
        return f"TiledMMA: {who}, tile {'×'.join('?' if x is None else str(x) for x in tile)}"

    def body(self, tile: list[Any] | None) -> dict[str, Any]:
        """Return the body of POST /tiles/mma."""
        layout = self.laid if self.laid is not None else CuteLayout((1, 1, 1), (0, 0, 0))
        return {
            "atom": self.atom.spelled if self.atom else None,
            "atom_layout": None if "atom_layout" in self.opened else str(_pad_to_rank_three(layout)),
            "permutation": self.permutation,
            "tile": tile,
        }

    @property
    def umma_facts(self) -> dict[str, Any]:
        """The facts of an UMMA atom with known arguments."""
        atom = self.umma.atom if self.umma else None
        if atom is None:
            return {}
        source = "tensor" if atom.tensor_a else "shared"
        return {"umma": {"idesc": str(atom.word), "ctas": atom.ctas, "a_from": source}}

    @property
    def atom_notices(self) -> list[str]:
        """Notices about an atom of tensor memory."""
        if self.umma and self.umma.atom:
            open_ = ", ".join(self.umma.open)
            return [UMMA, *([f"The text leaves {open_} open; the tile is the same for all."] if open_ else [])]
        if self.atom and self.atom.scalar:
            return [SCALAR]
        return [TENSOR_MEMORY] if self.atom and self.atom.tensor_memory else []


def _list_three_sizes(shape: Any) -> list[Any]:
    """Return M, N and K of an atom layout; K is 1 for a layout of rank 2."""
    sizes = [format_tuple(mode) if find_size(mode) is None else find_size(mode) for mode in list_modes(shape)[:3]]
    return [*sizes, *[1] * (3 - len(sizes))]


def _pad_to_rank_three(layout: CuteLayout) -> CuteLayout:
    more = 3 - layout.rank
    return CuteLayout((*list_modes(layout.shape), *[1] * more), (*list_modes(layout.stride), *[0] * more))


def _multiply_sizes(shape: list[Any] | None, by: list[Any]) -> list[Any] | None:
    if shape is None:
        return None
    return [a * b if isinstance(a, int) and isinstance(b, int) else None for a, b in zip(shape, by, strict=False)]


def _get_larger(core: Any, size: Any) -> Any:
    if size is None or isinstance(size, str):
        return size or core
    return max(core, size) if isinstance(core, int) else size


# printed MMAs --------------------------------------------------------------------------------------------------------


def _find_print_blocks(text: str) -> list[dict[str, str]]:
    """Return the fields of every print in a text: thr, permutation, thrid, shape, a, b, c."""
    blocks: list[dict[str, str]] = []
    for match, value in labelled_layouts.find_print_fields(_FIELD, text):
        letter = match["cpp"] or match["py"]
        name = letter.lower() if letter else re.sub(r"[ _]", "", match["name"]).lower()
        name = {"thrlayoutvmnk": "thr", "permutationmnk": "permutation", "shapemnk": "shape"}.get(name, name)
        if name == "thr" or not blocks or (name in blocks[-1] and name != "thr"):
            blocks.append({})
        blocks[-1][name] = value
    return [block for block in blocks if "thr" in block or "shape" in block][:_MOST_MMAS]


def _parse_print(block: dict[str, str]) -> TextMeaning | None:
    thr = shapes.parse_printed_layout(block.get("thr", ""))
    if thr is None or not isinstance(thr.shape, tuple) or len(thr.shape) < 2:
        return None
    in_atom = find_size(thr.shape[0]) or 1
    sizes = _parse_printed_sizes(block)
    fitting = [i for i in catalog.instructions() if matches_print(i, sizes, in_atom, block)] if sizes else []
    memory = bool(sizes) and in_atom <= 2 and sizes["m"] >= 64
    atom = AtomMeaning(tuple(fitting), "", {}, memory, bool(fitting) and holds_a(fitting[0], block))
    tiled = _Tiled(atom, _parse_printed_atoms(thr, in_atom), printed_threads=find_size(thr.shape))
    if "permutation" in block:
        tiled.permutation, tiled.sizes = shapes.parse_printed_tiler(block["permutation"])
    if fitting:
        if len(fitting) > 1:
            tiled.notices.append(f"The print does not name the atom: {len(fitting)} instructions have these maps.")
        return tiled.meaning
    tiled.opened.append("atom")
    return _make_sized_meaning(tiled, sizes, in_atom) if sizes else tiled.meaning


def _parse_printed_atoms(thr: CuteLayout, in_atom: int) -> CuteLayout:
    """Return the layout of the atoms: ThrLayoutVMNK without its first mode, the threads of an atom."""
    modes, steps = thr.shape[1:], thr.stride[1:]
    if any(step % in_atom for step in list_leaves(steps)):
        return CuteLayout(modes, make_compact_strides(modes))
    return CuteLayout(modes, map_leaves(lambda step: step // in_atom, steps))


def _parse_printed_sizes(block: dict[str, str]) -> dict[str, int]:
    """Return M, N and K in a printed atom's name, {} if there is none."""
    shape = shapes.parse_printed_layout(block.get("shape", ""))
    modes = shape.shape if shape and isinstance(shape.shape, tuple) else ()
    return {dim: find_size(mode) or 0 for dim, mode in zip("mnk", modes, strict=True)} if len(modes) == 3 else {}


def _make_sized_meaning(tiled: _Tiled, sizes: dict[str, int], in_atom: int) -> TextMeaning:
    """Return a TiledMMA with only the atom's shape known; it may be a tcgen05.mma."""
    issued = []
    if tiled.atom and tiled.atom.tensor_memory:
        issued = umma_atom.find_fitting_opcodes(in_atom, sizes["m"], sizes["n"], sizes["k"])
    if issued:
        kinds = join_words([f"{'sparse ' * each.sparse}kind::{each.kind.name}" for each in issued], "or")
        tiled.notices.append(
            f"The print does not name the atom. It is a tcgen05.mma of {kinds}, whose threads are CTAs."
        )
    meaning, shape = tiled.meaning, list(sizes.values())
    tile = tiled.tile(shape)
    facts = {**meaning.facts, "atom_mnk": shape, "tile_mnk": tile, "body": {**meaning.facts["body"], "tile": tile}}
    if not issued:
        return replace(meaning, facts=facts)
    title = f"TiledMMA: {in_atom} CTA{'s' * (in_atom > 1)}, tile {'×'.join(map(str, tile))}"
    return replace(meaning, title=title, facts={**facts, "candidates": [each.ptx for each in issued]})
