"""Shared-memory layouts of CUTLASS and of CuTe's DSL: swizzle atoms, and tile_to_shape of them.

CUTLASS 4.7, cute/atom/mma_traits_sm90_gmma.hpp and mma_traits_sm100.hpp: Layout_{K,MN}_{INTER,SW32,SW64,SW128}_Atom<T>
are 8 rows of one swizzle width, or its transpose. tile_to_shape lays copies of the atom, the first mode fastest unless
a Step or an order says otherwise; a third mode is the pipeline's stage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from lanescope.cxx.sizes import ELEMENT_BITS
from lanescope.ptx.table.descriptors import BASE32B, TCGEN05
from lanescope.reader import shapes, terms
from lanescope.reader.found import Found
from lanescope.reader.terms import Term, Text

_NAME = r"Layout_(?:K|MN)_(?:INTER|SW(?:32|64|128))(?:_32B)?_(?:Sp)?Atom(?:_Bits)?"
_ATOM = re.compile(r"Layout_(K|MN)_(INTER|SW32|SW64|SW128)(_32B)?_(?:Sp)?Atom(_Bits)?$")
_KIND = re.compile(r"SmemLayoutAtomKind\.(K|MN)_(INTER|SW32|SW64|SW128)(_32B)?$")
_MADE = re.compile(r"(?<![\w.])(?:\w+(?:::|\.)){0,6}tile_to_(?:mma_)?shape\s*\(")
_ALONE = re.compile(
    rf"(?<![\w.])(?:\w+::){{0,6}}{_NAME}\b(?!\s*[=:]\s*(?:Sw?<|smem_ptr|\())|(?<![\w.])(?:\w+\.){{0,6}}make_smem_layout_atom\s*\("
    r"|(?<![\w.])(?:\w+\.){0,6}SmemLayoutAtomKind\.\w+"
    r"|(?<![\w:])composition\s*\(\s*(?:\w+::)?Swizzle\s*<"
)
_WIDTHS = {"INTER": (0, 16), "SW32": (1, 32), "SW64": (2, 64), "SW128": (3, 128)}  # Sw's bits, bytes
_NAMES = {0: "none", 1: "32B", 2: "64B", 3: "128B"}
_DSL_BITS = re.compile(r"(?:Float|BFloat|TFloat|Int|Uint)(\d+)\w*$")
_MOST_MADE = 16
_LONGEST_NAME = 80
_LAYS = frozenset("Layout ComposedLayout composition make_layout make_ordered_layout".split())
_LAID = re.compile(r"Layout|make_(?:ordered_)?layout|composition\s*\(")
# what programs call a tile of A or B in shared memory, and what they call other things
_OF_TILE = re.compile(
    r"(?i:smem|shared|shmem)\w*?(?:(?<=[a-z\d_])[AB]|_[ab])(?![a-z])|(?<![A-Za-z])(?:s_?[AB]|s_[ab])(?![a-z])"
    r"|(?<![A-Za-z])[ABab]_?(?:[Ss]mem|[Ss]hared)"
)
_OF_OTHER = re.compile(r"gmem|glob|thr|tid|copy|tiler|tv|cluster|warp|atom|block|reg|acc|(?<![A-Za-z])g[AB]", re.I)


@dataclass(frozen=True, slots=True)
class Atom:
    """A swizzle atom: Sw<bits,base,shift> of what XORs; its layout in elements (None where the type is open); the major
    and swizzle of a canonical one.
    """

    swizzle: tuple[int, int, int]
    bits: int | None
    laid: shapes.Laid | None
    major: str = ""
    mode: str = ""
    by_element: bool = False  # the swizzle counts elements, as composition(Swizzle, Layout) does
    opened: tuple[str, ...] = ()


def read(text: str) -> tuple[Found, ...]:
    """Every shared-memory layout that a text makes of an atom, each once; atoms alone where none is tiled."""
    if not (_MADE.search(text) or _ALONE.search(text)):
        return ()
    home = terms.of(text)
    out = [one for term in terms.found(home, _MADE) if (one := _tiled(home, term))]
    if not out:
        out = [_found(made, None, None) for term in terms.found(home, _ALONE) if (made := atom(home, term))]
    seen: dict[str, Found] = {}
    for one in out:
        seen.setdefault(repr(one.facts), one)
    return tuple(seen.values())[:_MOST_MADE]


def _bits(home: Text, value: Any) -> int | None:
    value = home.meant(value)
    name = value if isinstance(value, str) else value.name if isinstance(value, Term) else ""
    match = _DSL_BITS.match(name)
    return ELEMENT_BITS.get(name) or (int(match[1]) if match else None)


def atom(home: Text, value: Any) -> Atom | None:
    """The swizzle atom that a value names, makes or composes; a plain layout is one without a swizzle."""
    value = home.meant(value)
    if not isinstance(value, Term):
        return None
    if value.name == "decltype" and value.args:
        return atom(home, value.args[0])
    named = _ATOM.search(value.name)
    if named:
        bits = 1 if named[4] else _bits(home, value.angle[0]) if value.angle else None
        opened = () if bits else tuple(home.words(one) for one in (value.angle or ())[:1])
        return _canonical(named[1], named[2], bits, bool(named[3]), opened)
    if value.name in ("make_smem_layout_atom", "get_smem_layout_atom") and value.args:
        inner = atom(home, value.args[0])
        bits = _bits(home, value.args[1]) if len(value.args) > 1 else None
        opened = (home.words(value.args[1]),) if len(value.args) > 1 and bits is None else ()
        return _canonical(inner.major, _spelled(inner), bits, False, opened) if inner else None
    kind = _KIND.search(value.path)
    if kind:
        return _canonical(kind[1], kind[2], None, bool(kind[3]), ())
    if value.name in ("composition", "ComposedLayout") and len(value.args or value.angle or ()) >= 2:
        return _composed(home, value)
    if value.name in ("Layout", "make_layout", "make_ordered_layout"):
        laid = shapes.layout(home, value)
        if laid is None:
            return None
        known = laid.stride is not None and not shapes.symbols(laid.shape, laid.stride)
        names = tuple(shapes.symbols(laid.shape))
        return Atom((0, 0, 0), None, laid if known else None, major="", mode="", by_element=True, opened=names)
    return None


def _spelled(inner: Atom) -> str:
    return next(name for name, (bits, _) in _WIDTHS.items() if _NAMES[bits] == inner.mode.removesuffix("_base32B"))


def _canonical(major: str, width: str, bits: int | None, base32: bool, opened: tuple[str, ...]) -> Atom:
    count, size = _WIDTHS[width]
    laid = None
    if bits:
        run = size * 8 // bits
        deep = BASE32B.deep if base32 else 8
        laid = shapes.Laid((8, run), (run, 1)) if major == "K" else shapes.Laid((run, deep), (1, run))
    swizzle = (2, 5, 2) if base32 else (count, 4, 3)
    return Atom(
        swizzle,
        bits,
        laid,
        major=major,
        mode=_NAMES[count] + ("_base32B" if base32 else ""),
        by_element=False,
        opened=opened,
    )


def _composed(home: Text, value: Term) -> Atom | None:
    """composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{}): the swizzle counts elements; with
    smem_ptr_flag_bits<16> in the middle, of a ComposedLayout<…>, bytes.
    """
    args = [home.meant(one) for one in (value.args if value.name == "composition" else value.angle) or ()]
    first = args[0]
    if not isinstance(first, Term) or first.name != "Swizzle" or len(first.angle or ()) != 3:
        return None
    numbers = [home.number(one) for one in first.angle or ()]
    laid = shapes.layout(home, args[-1])
    if laid is None:
        return None
    names = tuple(shapes.symbols(laid.shape)) + tuple(
        home.words(one) for one, n in zip(first.angle or (), numbers, strict=True) if n is None
    )
    known = (
        all(n is not None for n in numbers) and laid.stride is not None and not shapes.symbols(laid.shape, laid.stride)
    )
    swizzle = tuple(n if n is not None else 0 for n in numbers)
    flag = args[1] if len(args) > 2 else None
    flagged = isinstance(flag, Term) and flag.name == "smem_ptr_flag_bits"
    bits = home.number(flag.angle[0]) if isinstance(flag, Term) and flagged and flag.angle else None
    if flagged and bits is None:
        laid, known = None, False
    elif flag is not None and not flagged and home.number(flag) != 0:
        return None
    three = (swizzle[0], swizzle[1], swizzle[2])
    return Atom(three, bits, laid if known else None, major="", mode="", by_element=not flagged, opened=names)


def made(text: str, bits: int | None = None) -> Iterator[tuple[str, tuple[int, int], str]]:
    """(name, span, CuTe text) of every tile_to_shape of a text whose sizes are known. bits: of an element whose type is
    open.
    """
    if "tile_to_" not in text or not _MADE.search(text):
        return
    home = terms.of(text)
    for term in terms.found(home, _MADE):
        found = _tiled(home, term, bits)
        if found is not None and found.facts["cute"]:
            line = text[max(0, term.span[0] - 120) : term.span[0]]
            named = re.search(r"([A-Za-z_]\w*)\s*=\s*(?:decltype\s*\(\s*)?(?:\w+(?:::|\.)){0,3}$", line)
            yield named[1] if named else "", term.span, found.facts["cute"]


def named(text: str, bits: int | None = None) -> Iterator[tuple[str, tuple[int, int], str]]:
    """(name, span, CuTe text) of every layout that a text defines under a name of a shared-memory tile: SmemLayoutA,
    sB_layout. What is tiled is `made`'s; an atom is no tile.
    """
    if not _LAID.search(text):
        return
    home = terms.of(text)
    for name, places in home.defined.items():
        if len(name) > _LONGEST_NAME or not _OF_TILE.search(name) or _OF_OTHER.search(name):
            continue
        for _, begin, behind in places[:1]:
            value = None if behind else home.term(begin)
            while isinstance(value, Term) and value.name == "decltype" and value.args:
                value = value.args[0]
            if isinstance(value, Term) and not value.name.startswith("tile_to_"):
                found = block_at(home, value, bits) if value.name in _LAYS or _ATOM.search(value.name) else None
                if found:
                    yield name, value.span, found


def block_at(home: Text, value: Any, bits: int | None = None) -> str | None:
    """The CuTe text of a layout that a value spells, tiles or composes; None where the text leaves it open."""
    value = home.meant(value)
    while isinstance(value, Term) and value.name == "decltype" and value.args:
        value = home.meant(value.args[0])
    if isinstance(value, Term) and value.name in ("tile_to_shape", "tile_to_mma_shape"):
        found = _tiled(home, value, bits)
        return found.facts["cute"] if found else None
    one = atom(home, value)
    if one is not None and one.bits is None and one.major and bits:
        one = _canonical(one.major, _spelled(one), bits, "base32B" in one.mode, ())
    return _cute(one, one.laid) if one is not None and one.laid is not None else None


def _tiled(home: Text, term: Term, bits: int | None = None) -> Found | None:
    """tile_to_shape(atom, shape, order)."""
    args = list(term.args or ())
    if len(args) < 2:
        return None
    one = atom(home, args[0])
    if one is not None and one.bits is None and one.major and bits:
        one = _canonical(one.major, _spelled(one), bits, "base32B" in one.mode, ())
    one = one or Atom((0, 0, 0), None, None, by_element=True, opened=(home.words(args[0]),))
    shape = shapes.nested(home, args[1])
    ordered = args[2] if len(args) > 2 else term.at(9, "order", "trg_order")
    order = shapes.nested(home, ordered) if ordered is not None else None
    ranks = tuple(order) if isinstance(order, tuple) and all(isinstance(n, int) for n in order) else None
    return _found(one, shape if isinstance(shape, tuple) else (shape,), ranks)


def _found(one: Atom, shape: Any, order: tuple[int, ...] | None) -> Found:
    sizes = [_extent(mode) for mode in shape] if shape is not None else None
    names = [*one.opened, *(shapes.symbols(shape) if shape is not None else [])]
    laid = one.laid
    if laid is not None and sizes is not None:
        laid = _tile(laid, sizes, order) if all(isinstance(n, int) for n in sizes) else None
    text = _cute(one, laid) if laid else None
    modes = len(laid.shape) if laid else len(sizes) if sizes else 2
    stages = sizes[2] if sizes and len(sizes) > 2 else None
    mn, k = (sizes[0], sizes[1]) if sizes and len(sizes) > 1 else _two(one)
    first = bool(order and len(order) > 1 and order[0] > order[1])
    storage: dict[str, Any] | None = None
    if one.major:
        storage = {
            "kind": "canonical",
            "element_bits": one.bits,
            "major": one.major,
            "swizzle": one.mode,
            "mn": mn if isinstance(mn, int) else None,
            "k": k if isinstance(k, int) else None,
            "order": "k" if first else "mn",
            "base": None,
        }
    elif text and modes == 2:
        storage = {"kind": "cute", "layout": text}
    flat = list(zip(shapes.leaves(laid.shape), shapes.leaves(laid.stride), strict=True)) if laid else []
    facts: dict[str, Any] = {
        "cute": text,
        "swizzle": ",".join(map(str, one.swizzle)) if not (one.by_element and one.laid is None) else None,
        "element_bits": one.bits,
        "shape": shapes.spelled(laid.shape) if laid else None,
        "stride": shapes.spelled(laid.stride) if laid else None,
        "modes": modes,
        "size": prod(n for n, _ in flat) if laid else None,
        "cosize": 1 + sum((n - 1) * step for n, step in flat) if laid else None,
        "storage": storage,
    }
    if stages is not None:
        facts["stages"] = stages if isinstance(stages, int) else None
        facts["stage_bytes"] = (
            mn * k * one.bits // 8 if one.bits and isinstance(mn, int) and isinstance(k, int) else None
        )
    notices = []
    if one.major == "MN" and one.bits not in (None, 1, 16):
        also = TCGEN05.allows(one.bits, "MN", TCGEN05.named(one.mode))
        says = f"wgmma reads MN-major tiles of 16-bit types only, not of {one.bits} bits"
        notices.append(f"{says}; tcgen05 reads this one." if also else f"{says}; tcgen05 reads none in this swizzle.")
    missing = ["element_bits"] if one.bits is None else []
    missing += ["cute"] if text is None else []
    what = "×".join("?" if not isinstance(n, int) else str(n) for n in (sizes or [mn, k]))
    mode = f"{one.major}-major, swizzle {one.mode}" if one.major else f"Sw<{facts['swizzle'] or '?'}>"
    title = f"Shared-memory layout {what}, {mode}" + (f", {stages} stages" if stages is not None else "")
    return Found("layout", title, facts, tuple(notices), True, tuple(dict.fromkeys((*missing, *names))))


def _extent(mode: Any) -> Any:
    found = shapes.size(mode)
    return found if found is not None else shapes.spelled(mode)


def _two(one: Atom) -> tuple[Any, Any]:
    shape = one.laid.shape if one.laid and isinstance(one.laid.shape, tuple) else (None, None)
    return shapes.size(shape[0]) if shape[0] else None, shapes.size(shape[1]) if shape[1] else None


def _tile(laid: shapes.Laid, sizes: list[int], order: tuple[int, ...] | None) -> shapes.Laid | None:
    """The atom copied to fill a shape: each mode (atom, copies); None where it does not divide the shape."""
    modes = list(laid.shape) if isinstance(laid.shape, tuple) else [laid.shape]
    steps = list(laid.stride) if isinstance(laid.stride, tuple) else [laid.stride]
    modes += [1] * (len(sizes) - len(modes))
    steps += [0] * (len(sizes) - len(steps))
    if len(modes) != len(sizes):
        return None
    owned = [shapes.size(mode) or 1 for mode in modes]
    if any(size % own for size, own in zip(sizes, owned, strict=True)):
        return None
    copies = [size // own for size, own in zip(sizes, owned, strict=True)]
    leaves = zip(shapes.leaves(laid.shape), shapes.leaves(laid.stride), strict=True)
    step = 1 + sum((n - 1) * d for n, d in leaves)
    ranks = order if order and len(order) == len(sizes) else tuple(range(len(sizes)))
    strides = [0] * len(sizes)
    for mode in sorted(range(len(sizes)), key=lambda n: ranks[n]):
        strides[mode] = step if copies[mode] > 1 else 0
        step *= copies[mode]
    shape = tuple((mode, n) for mode, n in zip(modes, copies, strict=True))
    return shapes.Laid(shape, tuple(zip(steps, strides, strict=True)))


def _cute(one: Atom, laid: shapes.Laid) -> str:
    bits, base, shift = one.swizzle
    if one.by_element:
        return f"Sw<{bits},{base},{shift}> o {laid}" if bits else str(laid)
    return f"Sw<{bits},{base},{shift}> o smem_ptr[{one.bits}b](unset) o {laid}"
