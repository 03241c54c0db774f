"""Recognise CuTe's TiledCopy: make_tiled_copy and its variants in C++ and Python, TiledCopy<…>, print(tiled_copy).

CUTLASS 4.7, cute/atom/copy_atom.hpp. thr and val layouts map coordinates of the tile to ids; a printed TiledLayout_TV
maps ids to the tile's elements, column-major. The call determines which of the two a text has, not the shapes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lanescope.cute import copy_atom as copyatom
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout
from lanescope.cute.tuples import find_size, format_tuple
from lanescope.cxx.sizes import find_mlir_bits
from lanescope.errors import LayoutError
from lanescope.reader.cute import labelled_layouts, shapes, tiled_mma
from lanescope.reader.cute.copy_atoms import CopyAtomMeaning, parse_copy_atom
from lanescope.reader.cute.copy_maps import invert_map, list_mode_sizes
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText
from lanescope.reader.meaning import TextMeaning, drop_repeats
from lanescope.tiles.mma import SIDES

if TYPE_CHECKING:
    from lanescope.tiles.copy import TiledCopy

_MAKERS = re.compile(
    r"(?<!def )(?<![\w.])(?:\w+(?:::|\.)){0,6}make_(?:tiled_copy(?:_(?:tv|A|B|C|S|D|C_atom|impl))?|cotiled_copy)\s*\("
    r"|(?<!\w)TiledCopy\s*<"
)
_HEAD = re.compile(r"Tiler[ _]?MN\s*:", re.I)
_FIELD = re.compile(
    r"(?P<name>Tiler[ _]?MN|TiledLayout_TV|TV[ _]Layout[ _]tiled|Thr[ _]?ID|ValLayout(?:Src|Dst)"
    r"|TV[ _]Layout[ _](?:Src|Dst)|Value[ _]?Type)\s*:[ \t]*",
    re.I,
)
_OF_OPERAND = re.compile(r"make_tiled_copy_([ABC])(_atom)?")
_MOST_COPIES = 8
_FOURTH = (
    "make_tiled_copy takes an atom, a thread layout and a value layout. The fourth argument is taken as the tile to"
    " copy."
)


def recognise_tiled_copies(text: str) -> tuple[TextMeaning, ...]:
    """Return the TiledCopies that a text makes or prints, without repeats."""
    copies = []
    if _HEAD.search(text):
        copies += [meaning for block in _find_print_blocks(text) if (meaning := _parse_print(block))]
    if _MAKERS.search(text):
        home = terms.make_term_text(text)
        copies += [
            tiled_mma.finish_meaning(home, term, meaning)
            for term in terms.find_terms(home, _MAKERS)
            if (meaning := parse_tiled_copy(home, term))
        ]
    return drop_repeats(copies, _MOST_COPIES)


def parse_tiled_copy(home: TermText, term: SyntaxTerm) -> TextMeaning | None:
    """Parse a TiledCopy; None if the text does not contain its parts."""
    arguments = list((term.angle if term.name == "TiledCopy" else term.args) or ())
    if not arguments:
        return None
    copied = parse_copy_atom(home, arguments[0]) or CopyAtomMeaning(None, None, None)
    if term.name.endswith(("_S", "_D")):
        return _make_like_meaning(copied, term.name[-1], find_tiled_copy(home, arguments[1])) if arguments[1:] else None
    if term.name == "make_cotiled_copy":
        return _make_cotiled_meaning(home, copied, arguments) if len(arguments) == 3 else None
    if letter := _OF_OPERAND.fullmatch(term.name):
        if len(arguments) < 2:
            return None
        mma = tiled_mma.find_tiled_mma(home, arguments[1])
        return _make_atom_meaning(copied, mma) if letter[2] else _make_operand_meaning(copied, letter[1], mma)
    if _is_map_call(term, arguments):
        return _parse_map_term(home, term, copied)
    return _parse_layouts(home, term, copied)


def _is_map_call(term: SyntaxTerm, arguments: list[Any]) -> bool:
    """Return whether a call takes a thread-value map and a tile, as the DSL's make_tiled_copy does."""
    if term.name in ("TiledCopy", "make_tiled_copy_impl"):
        return True
    of_dsl = term.path.startswith(("cute.", "cutlass.")) and term.name == "make_tiled_copy"
    return of_dsl and len(arguments) < 4 and "thr_layout" not in term.keywords


def _parse_map_term(home: TermText, term: SyntaxTerm, copied: CopyAtomMeaning) -> TextMeaning | None:
    """Parse TiledCopy<Copy_Atom, Layout_TV, Tiler> and cute.make_tiled_copy(atom, layout_tv, tiler_mn)."""
    of_type = term.name == "TiledCopy"
    first = term.get_argument(1, "layout_tv", "thr_layout", of_type=of_type)
    tv = shapes.parse_layout(home, first)
    if tv is None:
        return _make_unknown_meaning(copied, None, term.args is not None and first is not None)
    _, sizes = shapes.parse_tiler(home, term.get_argument(2, "tiler_mn", "val_layout", of_type=of_type))
    return _make_map_meaning(copied, tv, sizes)


def _parse_layouts(home: TermText, term: SyntaxTerm, copied: CopyAtomMeaning) -> TextMeaning | None:
    """Parse make_tiled_copy(atom, thread layout, value layout, tile); CuTe has no argument for the tile."""
    first, second = term.get_argument(1, "layout_tv", "thr_layout"), term.get_argument(2, "val_layout")
    thr, val = shapes.parse_layout(home, first), shapes.parse_layout(home, second)
    if thr is None:
        return _make_unknown_meaning(copied, val, term.args is not None and first is not None)
    opened = ["val_layout"] if second is not None and val is None else []
    layout_meaning = _make_layout_meaning(
        copied, thr, val or (None if opened else CuteLayout((1, 1), (0, 0))), None, opened
    )
    fourth = term.get_argument(3, "tiler", "tiler_mn")
    return layout_meaning if fourth is None else _add_tile(home, layout_meaning, fourth)


def _make_unknown_meaning(copied: CopyAtomMeaning, val: CuteLayout | None, called: bool) -> TextMeaning | None:
    """Return a TiledCopy whose thread layout is open; None if `called` is only a name."""
    return _make_layout_meaning(copied, None, val, None, ["thr_layout", "val_layout"]) if called else None


def _add_tile(home: TermText, meaning: TextMeaning, value: Any) -> TextMeaning:
    """Return the meaning with the tile of a fourth argument.

    CuTe's make_tiled_copy takes three, and its tile is the product of the two layouts.
    """
    _, sizes = shapes.parse_tiler(home, value)
    covered, notices = meaning.facts["tiler_mn"], [*meaning.notices, _FOURTH]
    known = bool(sizes) and all(isinstance(size, int) for size in sizes)
    if known and covered and covered != sizes:
        by = "×".join(map(str, covered))
        known = len(covered) == len(sizes) and all(big % small == 0 for big, small in zip(sizes, covered, strict=True))
        sentence = "of it at a time." if known else f"at a time, which does not divide {'×'.join(map(str, sizes))}."
        notices.append(f"The thread and value layouts cover {by} {sentence}")
    tile = sizes if known else None
    facts = {**meaning.facts, "tiler_mn": tile, "body": {**meaning.facts["body"], "tile": tile}}
    title = f"TiledCopy: {facts['threads'] or '?'} threads, tile {'×'.join(map(str, tile)) if tile else '?'}"
    opened = [size for size in meaning.undetermined if size != "tiler_mn"] + ([] if known else ["tiler_mn"])
    return TextMeaning("tiled_copy", title, facts, tuple(notices), False, tuple(opened))


def _make_layout_meaning(
    copied: CopyAtomMeaning,
    thr: CuteLayout | None,
    val: CuteLayout | None,
    tiler: list[Any] | None,
    opened: list[str],
    counts: tuple[int | None, int | None] | None = None,
) -> TextMeaning:
    threads, values = counts or tuple(find_size(part.shape) if part else None for part in (thr, val))
    if tiler is None and thr and val:
        tiler = _multiply_layouts(thr, val)
    known = tiler if tiler is not None and all(isinstance(part, int) for part in tiler) else None
    body = {
        "thr_layout": _format_call(thr),
        "val_layout": _format_call(val),
        "tile": known if known is not None and len(known) == 2 else None,
    }
    facts = _make_facts(copied, threads, values, known, body)
    return _make_meaning(facts, copied, opened, shapes.list_symbols(*(part.shape for part in (thr, val) if part)))


def _format_call(layout: CuteLayout | None) -> str | None:
    return str(layout) if layout else None


def _make_facts(
    copied: CopyAtomMeaning, threads: int | None, values: int | None, tile: list[Any] | None, body: dict[str, Any]
) -> dict[str, Any]:
    """Return the facts of a TiledCopy; body: the request of POST /tiles/copy without the atom."""
    return {
        "threads": threads,
        "values_per_thread": values,
        "tiler_mn": tile,
        "element_bits": copied.element_bits,
        "ptx": list(copied.ptx),
        "body": {"atom": copied.atom, "bits": copied.bits, "element_bits": copied.element_bits, **body},
    }


def _multiply_layouts(thr: CuteLayout, val: CuteLayout) -> list[int | None]:
    """Return the tile that a thread and a value layout cover (None: unknown mode)."""
    rank = max(2, thr.rank, val.rank)
    both = zip(list_mode_sizes(thr.shape, rank), list_mode_sizes(val.shape, rank), strict=True)
    return [a * b if isinstance(a, int) and isinstance(b, int) else None for a, b in both]


def _make_meaning(facts: dict[str, Any], copied: CopyAtomMeaning, opened: list[str], names: list[str]) -> TextMeaning:
    for name in ("threads", "values_per_thread", "tiler_mn", "element_bits"):
        if facts[name] is None:
            opened = [*opened, name]
    if copied.vectorizes and copied.bits and copied.element_bits and facts["values_per_thread"]:
        width = copyatom.find_widest_access(copied.bits, copied.element_bits, facts["values_per_thread"])
        facts["body"]["bits"] = width
    if copied.atom is None:
        opened = [*opened, "atom"]
    elif copied.bits is None:
        opened = [*opened, "bits"]
    notices = (tiled_mma.TENSOR_MEMORY.replace("tcgen05 MMA: its accumulator", "tcgen05 copy: its data"),)
    tile = "×".join(map(str, facts["tiler_mn"])) if facts["tiler_mn"] else "?"
    title = f"TiledCopy: {facts['threads'] or '?'} threads, tile {tile}"
    shown = notices if copied.tensor_memory else ()
    return TextMeaning("tiled_copy", title, facts, shown, True, tuple(dict.fromkeys((*opened, *names))))


def _make_operand_meaning(copied: CopyAtomMeaning, letter: str, mma: TextMeaning | None) -> TextMeaning:
    """Return the meaning of make_tiled_copy_A(atom, tiled_mma): the operand's tile, distributed as in the MMA."""
    facts = mma.facts if mma else {}
    mma_body, tile = facts.get("body"), facts.get("tile_mnk") or ()
    sizes = [tile[n] for n in SIDES[letter.lower()]] if tile and all(isinstance(size, int) for size in tile) else None
    values = _count_mma_values(letter, facts) if sizes else None
    body = {"tiled_mma": dict(mma_body) if mma_body else None, "operand": letter.lower(), "tile": sizes}
    opened = list(mma.undetermined) if mma else ["tiled_mma"]
    return _make_meaning(_make_facts(copied, facts.get("threads"), values, sizes, body), copied, opened, [])


def _make_atom_meaning(copied: CopyAtomMeaning, mma: TextMeaning | None) -> TextMeaning:
    """Return the meaning of make_tiled_copy_C_atom(atom, tiled_mma): as many of C's first values as the atom has."""
    meaning = _make_operand_meaning(copied, "C", mma)
    body = {**meaning.facts["body"], "operand": "c_atom", "tile": None}
    facts = {**meaning.facts, "values_per_thread": None, "tiler_mn": None, "body": body}
    opened = [name for name in meaning.undetermined if name not in ("values_per_thread", "tiler_mn")]
    result = _compute_copy(body) if not opened else None
    if result is None:
        return _make_meaning(facts, copied, opened, [])
    sizes = list(result.tiler)
    facts |= {"values_per_thread": result.values, "tiler_mn": sizes, "body": {**body, "tile": sizes}}
    return _make_meaning(facts, copied, opened, [])


def _compute_copy(body: Mapping[str, Any]) -> TiledCopy | None:
    """Return the TiledCopy of a POST /tiles/copy body; None if CuTe rejects it."""
    from lanescope.tiles.copy import tiled_copy  # loads the maps only for a complete TiledCopy
    from lanescope.tiles.tiled_mma import tiled_mma as make_mma

    arguments = {name: value for name, value in body.items() if value is not None and name != "atom"}
    try:
        if mma := arguments.pop("tiled_mma", None):
            arguments["tiled_mma"] = make_mma(mma["atom"], mma["atom_layout"], mma["permutation"], mma["tile"])
        if like := arguments.pop("like", None):
            arguments["like"] = _compute_copy(like)
            if arguments["like"] is None:
                return None
        return tiled_copy(body["atom"], **arguments)
    except LayoutError:
        return None


def _make_like_meaning(copied: CopyAtomMeaning, side: str, like: TextMeaning | None) -> TextMeaning:
    """Return the meaning of make_tiled_copy_S(atom, tiled_copy), which has the threads, values and tile of
    tiled_copy.
    """
    facts = like.facts if like else {}
    body = {"like": dict(facts["body"]) if like else None, "side": side}
    opened = (
        [name for name in like.undetermined if name not in ("element_bits", "atom", "bits")] if like else ["tiled_copy"]
    )
    shown = _make_facts(copied, facts.get("threads"), facts.get("values_per_thread"), facts.get("tiler_mn"), body)
    return _make_meaning(shown, copied, opened, [])


def find_tiled_copy(home: TermText, value: Any) -> TextMeaning | None:
    """Return the TiledCopy that a value makes; None for other values."""
    value = home.resolve_value(value)
    makes = isinstance(value, SyntaxTerm) and value.name.startswith(
        ("TiledCopy", "make_tiled_copy", "make_cotiled_copy")
    )
    return parse_tiled_copy(home, value) if makes else None


def _make_cotiled_meaning(home: TermText, copied: CopyAtomMeaning, arguments: list[Any]) -> TextMeaning:
    """Return the meaning of make_cotiled_copy(atom, (thread, value) → address, coordinate → address)."""
    tv, data = (shapes.parse_layout(home, argument) for argument in arguments[1:])
    opened = [
        name for name, layout in (("atom_tv_layout", tv), ("data_layout", data)) if layout is None or not layout.known
    ]
    names = shapes.list_symbols(*(layout.shape for layout in (tv, data) if layout))
    counts = _count_elements(tv) if tv else (None, None)
    if opened or tv is None or data is None:
        return _make_layout_meaning(copied, None, None, None, [*opened, *names], counts)
    try:
        layout, tiler = copyatom.cotile(CuteLayout(tv.shape, tv.stride), CuteLayout(data.shape, data.stride))
    except LayoutError:
        return _make_layout_meaning(copied, None, None, None, ["tiler_mn"], counts)
    laid = CuteLayout(layout.shape, layout.stride)
    sizes = [mode.size for mode in tiler]
    modes = (str(mode.size) if mode.stride == 1 else str(mode) for mode in tiler)
    return _make_map_meaning(copied, laid, sizes, f"({','.join(modes)})")


def _count_mma_values(letter: str, facts: Mapping[str, Any]) -> int | None:
    """Return the number of an operand's elements per thread of a TiledMMA.

    Returns None if the atom is unknown or reads the operand through a descriptor.
    """
    from lanescope.tiles.tiled_mma import tiled_mma as make_mma  # loads the maps only for a complete TiledMMA

    body = facts["body"]
    if not body["atom"] or not body["atom_layout"]:
        return None
    try:
        operand = make_mma(body["atom"], body["atom_layout"], body["permutation"], facts["tile_mnk"]).operand(letter)
    except LayoutError:
        return None
    return None if operand.shared else operand.values


def _make_map_meaning(
    copied: CopyAtomMeaning, tv: CuteLayout, sizes: list[Any], tiler: str | None = None
) -> TextMeaning:
    """Return the meaning of a layout (thread, value) → element of the tile, column-major.

    tiler: as written, if it is more than sizes.
    """
    plain = len(sizes) == 2 and all(isinstance(size, int) for size in sizes)
    counts = _count_elements(tv)
    placed = plain and None not in counts and tv.stride is not None
    inverse = invert_map(tv, sizes) if placed and ":" not in (tiler or "") else None
    thr, val = inverse or (None, None)
    opened = [] if placed else ["thr_layout", "val_layout"]
    layout_meaning = _make_layout_meaning(copied, thr, val, sizes if plain else None, opened, counts)
    if placed and inverse is None:
        body = layout_meaning.facts["body"]
        del body["thr_layout"], body["val_layout"]
        body |= {"layout_tv": str(tv), "tiler_mn": tiler or format_tuple(tuple(sizes))}
    return layout_meaning


def _count_elements(tv: CuteLayout) -> tuple[int | None, int | None]:
    """Return the number of threads and values of a map (None: unknown)."""
    if not isinstance(tv.shape, tuple) or len(tv.shape) != 2:
        return None, None
    return find_size(tv.shape[0]), find_size(tv.shape[1])


# printed copies ------------------------------------------------------------------------------------------------------


def _find_print_blocks(text: str) -> list[dict[str, str]]:
    """Return the fields of every print in a text: tiler, tv, type, src, dst, thrid."""
    blocks: list[dict[str, str]] = []
    for match, value in labelled_layouts.find_print_fields(_FIELD, text):
        name = re.sub(r"[ _]", "", match["name"]).lower()
        name = {"tilermn": "tiler", "tiledlayouttv": "tv", "tvlayouttiled": "tv", "valuetype": "type"}.get(name, name)
        name = name.replace("vallayout", "").replace("tvlayout", "")
        if name == "tiler" or not blocks:
            blocks.append({})
        blocks[-1].setdefault(name, value)
    return [block for block in blocks if "tiler" in block and "tv" in block][:_MOST_COPIES]


def _parse_print(block: dict[str, str]) -> TextMeaning | None:
    tv = shapes.parse_printed_layout(block["tv"])
    if tv is None:
        return None
    tiler, sizes = shapes.parse_printed_tiler(block["tiler"])
    kind = block.get("type", "")
    match = re.fullmatch(r"(\d+)b", kind)
    bits = int(match[1]) if match else find_mlir_bits(kind)
    copied = CopyAtomMeaning(None, None, bits)
    if bits and "src" in block and "dst" in block:
        copied = _find_printed_atom(block["src"], block["dst"], bits)
    return _make_map_meaning(copied, tv, sizes, tiler)


def _find_printed_atom(source: str, destination: str, bits: int) -> CopyAtomMeaning:
    """Return the copy atom with these thread-value layouts.

    Values of a single thread may also be those of cp.async.
    """
    try:
        src, dst = parse_cute_layout(source), parse_cute_layout(destination)
    except LayoutError:
        return CopyAtomMeaning(None, None, bits)
    names = copyatom.find_printed_atoms(src, dst, bits)
    if names == ("universal",):
        return CopyAtomMeaning("universal", src.modes[1].size * bits, bits)
    return CopyAtomMeaning(names[0] if names else None, 128 if names else None, bits, names)
