"""Where a text says that an operand's tile lies: its tensor maps and its CuTe layouts, and the storage each leaves."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from lanescope.descriptor.matrix import WGMMA, View
from lanescope.errors import LayoutError
from lanescope.reader.code.tensor_maps import TRITON, default_swizzle
from lanescope.reader.code.tma_rules import TensorMap
from lanescope.reader.code.word import Linear
from lanescope.shared.storage import Storage, storage
from lanescope.shared.tma import WIDTHS, panels, pitch_bytes
from lanescope.workbench.found import Assumed
from lanescope.workbench.loads import Filled
from lanescope.workbench.scan import Layout
from lanescope.workbench.uses import CUT, letter

_COMMON = frozenset(
    "a b as bs sa sb lhs rhs"
    " s g t r c tma tensor map maps desc descriptor smem gmem shared mem sm ptr base addr address buf buffer tile tiles"
    " params param load copy layout sh shm start data uint h d global tensors dev device host x y p the".split()
)
_OUTPUTS = frozenset("c d o out output outputs acc accum epi epilogue result".split())
# why a store is an operand's where nothing names it
ONLY, FIRST, SECOND, NO_OTHER = "it is the only one", "A’s comes first", "B’s second", "the text has no other"
BY_ORDER = (FIRST, SECOND, NO_OTHER)
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Store:
    """A tensor map or a CuTe layout; piece: which piece of the text it is; operand: a or b where a name says so.

    A tensor of shared memory has more names, its first byte in the names of descriptors' starts (`begins`), what its
    pointer counts (`bits`, None where that is open), what its layout depends on where the text leaves it `open`, and
    the function that makes it (`of`).
    """

    piece: int
    map: TensorMap | None = None
    layout: Layout | None = None
    spec: Mapping[str, Any] | None = None  # a storage as it stands
    name: str = ""
    others: tuple[str, ...] = ()
    begins: Linear | None = None
    bits: int | None = None
    open: str = ""
    of: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return self.map.names if self.map is not None else (self.name, *self.others)

    def alike(self, other: Store) -> bool:
        """Whether a tile lies in the same way in both."""
        if self.map is not None and other.map is not None:
            one, two = self.map, other.map
            return (one.box, one.swizzle, one.element_bits, one.storage) == (
                two.box,
                two.swizzle,
                two.element_bits,
                two.storage,
            )
        if self.layout is not None and other.layout is not None:
            return self.layout.text == other.layout.text
        return self.spec is not None and self.spec == other.spec

    @property
    def operand(self) -> str | None:
        if self.map is not None:
            calls = [name for name, _ in self.map.calls]
            return letter(*self.map.names) or (letter(self.map.names[0]) if self.map.names else None) or letter(*calls)
        return next(filter(None, map(letter, self.names)), None)


@dataclass(frozen=True, slots=True)
class Tile:
    """A storage that an operand's steps can be verified against: its first byte is put in by `at`."""

    spec: Mapping[str, Any]
    assumed: tuple[Assumed, ...]
    why: str
    mn: int | None = None  # rows that one box or layout holds
    stage_bytes: int = 0  # from one stage to the next, 0 where the text does not say
    start: int | None = None  # its first byte, where the text says it

    def at(self, base: int, seen: View) -> Storage:
        return storage({**self.spec, "base": base}, seen.bits, seen.major)


def pair(
    stores: list[Store],
    operands: list[str],
    given: Mapping[str, str],
    *,
    buffers: Mapping[str, str] | None = None,
    addresses: Mapping[str, Iterable[str]] | None = None,
    used: Collection[int] = (),
    starts: Mapping[str, Linear] | None = None,
    of: str = "",
    loaded: Mapping[str, Collection[str]] | None = None,
) -> dict[str, tuple[Store | None, str]]:
    """Operand → (its store, why). A tensor over the operand's buffer decides, then names: what the operand's addresses
    are called, then its letter; without them the order in which a text has the stores, A before B.

    starts: operand → the first start of its descriptors; of: the function that takes them; buffers: operand → the one
    whose buffer it is given, where that is another; addresses: operand → names that its descriptors are made of; used:
    pieces of the stores that other tiles lie in, which are taken last; loaded: operand → names of the maps that TMA
    loads its tile from.
    """
    out: dict[str, tuple[Store | None, str]] = {}
    free = []
    known = addresses or {}
    every, stores = stores, [s for s in stores if not _is_output(s)]
    for name in operands:
        chosen = given.get(f"storage.{name}")
        if chosen is not None:
            found = next((s for s in every if str(s.piece) == chosen), None)
            out[name] = (found, "chosen")
            continue
        whose = (buffers or {}).get(name, name)
        if tensors := over(stores, (starts or {}).get(name), name, of):
            alone = len(tensors) == 1
            out[name] = (tensors[0], f"it is named {tensors[0].name}") if alone else (None, _several(tensors))
            continue
        words = {word for address in known.get(name, ()) for word in _words(address)}
        alike = [s for s in stores if words & {word for one in s.names for word in _words(one)}]
        own = [s for s in stores if s.operand == whose]
        from_ = (loaded or {}).get(name, ())
        filling = [s for s in stores if s.map is not None and any(one.lstrip("&") in from_ for one in s.names)]
        if len(filling) == 1 and not own:
            out[name] = (filling[0], f"TMA loads it from {filling[0].names[0].lstrip('&')}")
        elif len(alike) == 1:
            called = next(one for one in alike[0].names if words & set(_words(one)))
            out[name] = (alike[0], f"it is named {called}")
        elif own and own[0].piece in used and all(letter(address) != whose for address in known.get(name, ())):
            out[name] = (own[0], NO_OTHER)
        elif own:
            out[name] = (own[0], f"it is named {_called(own[0], whose)}")
        else:
            free.append(name)
    rest = [
        s for s in stores if s.operand is None and s.begins is None and not any(s is one for one, _ in out.values())
    ]
    unused = [s for s in rest if s.piece not in used]
    if len(unused) < len(rest) and len(unused) < len(free):
        out.update({name: (rest[min(n, len(rest) - 1)], NO_OTHER) for n, name in enumerate(free)})
        free = []
    rest = unused
    if len(free) == 1 and len(operands) > 1 and len(rest) == 1 and not any(s.operand for s in stores):
        free = free[:1]
    for n, name in enumerate(free):
        if len(rest) > n:
            only = len(rest) == 1
            out[name] = (
                rest[n],
                ONLY if only and len(free) == 1 else FIRST if name == "a" else SECOND,
            )
        elif len(rest) == 1 and n:
            out[name] = (rest[0], NO_OTHER)
        else:
            out[name] = (None, "")
    return out


def over(stores: Iterable[Store], start: Linear | None, operand: str, of: str = "") -> list[Store]:
    """The tensors whose buffer a descriptor begins in: of several the last that begins before it; of several that begin
    there those of the function that takes the descriptor (`of`), and those that the operand's letter names. One of each
    layout.
    """
    if start is None or not start.terms:
        return []
    found = [s for s in stores if s.begins is not None and s.begins.terms == start.terms]
    below = [s.begins.const for s in found if s.begins is not None and s.begins.const <= start.const]
    here = [s for s in found if s.begins is not None and below and s.begins.const == max(below)]
    here = [s for s in here if s.of == of] or here
    here = [s for s in here if any(letter(one) == operand for one in s.others)] or here
    return list({s.layout.whole if s.layout else "": s for s in reversed(here)}.values())[::-1]


def _is_output(store: Store) -> bool:
    """Whether a tensor is called after C or D: the epilogue writes over the tiles of A and B."""
    words = {word.lower() for one in store.others[:1] for word in _TOKEN.findall(one)}
    return store.begins is not None and not words.isdisjoint(_OUTPUTS)


def _several(tensors: Iterable[Store]) -> str:
    told = " and ".join(one.layout.whole if one.layout else f"one that {one.open}" for one in tensors)
    return f"the text lays several tensors over its buffer: {told}"


def _words(name: str) -> list[str]:
    """What tells one name from others but an operand's letter: sK, smem_k and tma_map_K are k."""
    found = (word.lower() for word in _TOKEN.findall(CUT.sub("", name.lstrip("&"))))
    return [word for word in found if word not in _COMMON]


def _called(store: Store, name: str) -> str:
    names = store.names
    return next((one for one in names if letter(one) == name), names[0] if names else "")


def tile(
    store: Store,
    operand: str,
    seen: View,
    *,
    rows: int,
    depth: int,
    given: Mapping[str, str],
    filled: Filled | None = None,
) -> Tile | tuple[Assumed, ...]:
    """The storage that holds rows × depth elements of an operand, or what has to be given first. LayoutError where a
    given value is wrong. filled: what the text's TMA loads fill of it.
    """
    if store.map is not None:
        return _of_map(store, store.map, operand, seen=seen, rows=rows, depth=depth, given=given, filled=filled)
    if store.layout is not None:
        one = store.layout
        counted = {None: "elements", seen.bits: "elements", 8: "bytes", 128: "chunks"}
        unit = {} if one.unit_bits else {"unit": counted.get(store.bits, "")}
        if not one.unit_bits and not unit["unit"]:
            why = f"its pointer counts {store.bits} bits, the instruction reads elements of {seen.bits}"
            return (Assumed(f"unit.{store.piece}", f"What {store.name} counts", "", why),)
        spec = {"kind": "cute", "layout": one.text, **unit}
        made = storage(spec, seen.bits, seen.major)
        apart = (one.stage_stride or 0) * (one.unit_bits or seen.bits) // 8
        return Tile(spec, (), f"the CuTe layout {one.whole}", made.mn, apart, one.start)
    assert store.spec is not None
    return Tile({k: v for k, v in store.spec.items() if k != "base"}, (), "the shared layout of the text")


def _of_map(
    store: Store,
    one: TensorMap,
    operand: str,
    *,
    seen: View,
    rows: int,
    depth: int,
    given: Mapping[str, str],
    filled: Filled | None,
) -> Tile | tuple[Assumed, ...]:
    sizes = list(one.box)
    asked = []
    for n, size in enumerate(sizes):
        key = f"box.{store.piece}.{n}"
        if key in given:
            sizes[n] = _number(given[key], key)
        elif size is None:
            said = one.symbols.get(f"box[{n}]", "")
            why = f"the text gives it as {said}" if said else "the text does not give it"
            asked.append(Assumed(key, f"boxDim[{n}] of the tensor map", "", why))
    if not sizes:
        return (Assumed(f"box.{store.piece}.0", "boxDim[0] of the tensor map", "", "the text does not give it"),)
    key = f"swizzle.{store.piece}"
    swizzle = given.get(key) or one.swizzle
    assumed: tuple[Assumed, ...] = ()
    if swizzle is None and one.element_bits is None and one.source in TRITON and sizes[0]:
        swizzle = default_swizzle(sizes[0] * seen.bits // 8, prod(s or 8 for s in sizes[1:]))
        why = f"Triton’s default for {sizes[0]} elements of {seen.bits} bits; the text does not give the type"
        assumed = (Assumed(key, "Swizzle of the tensor map", swizzle, why, tuple(WIDTHS)),)
    if swizzle is None:
        asked.append(
            Assumed(
                key,
                "Swizzle of the tensor map",
                "",
                one.symbols.get("swizzle", "the text does not give it"),
                tuple(WIDTHS),
            )
        )
    if asked:
        return tuple(asked)
    if swizzle not in WIDTHS:
        raise LayoutError("unknown_swizzle", f"{swizzle} is not read by wgmma.", f"Allowed: {', '.join(WIDTHS)}.", key)
    made = _panels(
        store,
        one,
        [s or 1 for s in sizes],
        swizzle=swizzle,
        operand=operand,
        seen=seen,
        rows=rows,
        depth=depth,
        given=given,
        filled=filled,
    )
    return replace(made, assumed=(*assumed, *made.assumed)) if isinstance(made, Tile) else made


def _panels(
    store: Store,
    one: TensorMap,
    sizes: list[int],
    *,
    swizzle: str,
    operand: str,
    seen: View,
    rows: int,
    depth: int,
    given: Mapping[str, str],
    filled: Filled | None,
) -> Tile | tuple[Assumed, ...]:
    """Boxes where the text's loads put them; where none is seen, one after the other: along the lines first, then along
    the inner dimension. That is K where wgmma reads elements of this size K-major only.
    """
    assumed: list[Assumed] = []
    inner = inner_of(one, operand) or (None if WGMMA.allows(seen.bits, "MN") else "K")
    key = f"inner.{operand}"
    if inner is None or key in given:
        chosen = given.get(key, "").upper() or seen.major
        if chosen not in ("K", "MN"):
            raise LayoutError("bad_major", f"{key} is '{given[key]}'.", "Allowed: K, MN.", key)
        inner = chosen
        way = "K" if inner == "K" else "M" if operand == "a" else "N"
        why = f"{operand.upper()} is read {seen.major}-major, and the text does not name the map’s dimensions"
        why = "as given" if key in given else why
        assumed.append(Assumed(key, f"Inner dimension of {operand.upper()}’s tensor map", inner, why, ("K", "MN")))
    else:
        way = "K" if inner == "K" else "M" if operand == "a" else "N"
    base = one.storage or {}
    cut = base.get("kind") == "atoms"  # by the map itself, into panels
    width = int(base["width_bytes"]) if cut else sizes[0] * (one.element_bits or seen.bits) // 8
    pitch = pitch_bytes(width, swizzle)
    lines = int(base["inner_stride"]) // pitch if cut else prod(sizes[1:])
    along, across = (depth, rows) if inner == "K" else (rows, depth)
    reached = seen.rows if inner == "K" else across
    boxes = -(-reached // lines) if lines and not cut else 1
    total = lines if cut else -(-across // lines) * lines
    count = -(-along * seen.bits // 8 // width) if width and not cut else 1
    stride = pitch * total
    key, panel = f"boxes.{operand}", f"panel.{operand}"
    needed = [n * stride + at * pitch * lines for n in range(count) for at in range(boxes)]
    sure, lost = False, ""  # whether the text's loads say where every box lies; how many of them they fill
    if filled is not None and not {key, panel} & given.keys():
        sure = filled.covers(needed)
        if not sure and not filled.open and boxes == 1 and (apart := filled.apart(count)) >= pitch * lines:
            stride, sure = apart, True
        if not sure and not filled.open:
            there = len(filled.offsets.intersection(needed))
            lost = f"the TMA calls of the text fill {there} of the tile’s {len(needed)} boxes"
    if boxes > 1 and not sure:
        side = ("M" if operand == "a" else "N") if inner == "K" else "K"
        whose = "one instruction takes" if inner == "K" or seen.k > lines else "the steps take"
        why = f"the box has {lines} of {side} and {whose} {reached}"
        label = f"Boxes of {operand.upper()}’s tensor map along {side}"
        if lost:
            return (Assumed(key, label, "", f"{why}; {lost}", (str(boxes), "1")),)
        if given.get(key, str(boxes)) != str(boxes):
            why += ": the text does not say where the rest lies"
            return (Assumed(key, label, "", why, (str(boxes), "1")),)
        why = "as given" if key in given else f"{why}: {boxes} boxes, one after the other"
        assumed.append(Assumed(key, label, str(boxes), why, (str(boxes), "1")))
    if count > 1 and not sure:
        if panel in given:
            stride = _number(given[panel], panel)
        wide = f"the box is {sizes[0]} elements wide, and the steps reach {along}"
        label = f"Bytes from one panel of {operand.upper()} along {way} to the next"
        if lost:
            return (Assumed(panel, label, "", f"{wide}; {lost}"),)
        wide = "as given" if panel in given else f"{wide}: {count} panels of {sizes[0]} along {way}, {total} lines each"
        assumed.append(Assumed(panel, label, str(stride), wide))
    spec = {**panels(width, total, swizzle, inner=inner), "inner_stride": stride}
    del spec["base"]
    box = " × ".join(str(size) for size in sizes)
    name = f"tensor map ‘{one.names[0].lstrip('&')}’" if one.names else "the tensor map"
    return Tile(spec, tuple(assumed), f"{name}: box {box}, swizzle {swizzle}", lines if inner == "K" else None)


def inner_of(one: TensorMap, operand: str) -> str | None:
    """The dimension along a box's inner side, K or MN, where the names of the tensor's dimensions say so."""
    named = [set(map(str.lower, _TOKEN.findall(one.symbols.get(f"dims[{n}]", "")))) for n in range(2)]
    other = {"a": "m", "b": "n"}[operand]
    has_k = ["k" in names for names in named]
    has_mn = [other in names for names in named]
    if has_k == [True, False] or has_mn == [False, True]:
        return "K"
    if has_k == [False, True] or has_mn == [True, False]:
        return "MN"
    return None


def _number(text: str, key: str) -> int:
    from lanescope.reading import number

    return number(text, key, 1, 1 << 20)
