"""Derive the storage of an operand's tile from a tensor map or a CuTe layout, or list the values that must be given.

`operands.py` calls `lay_tile` with the store that `stores.py` chose, and again for the other major.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

from lanescope import inputs
from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.reader.code.maps.tensor_maps import TRITON, get_default_swizzle
from lanescope.reader.code.maps.tma_rules import LOADED, TensorMap
from lanescope.shared.storage import Storage, storage
from lanescope.shared.tma import WIDTHS, get_pitch_bytes, make_panel_storage
from lanescope.workbench.copies.dimension_roles import list_dimension_words
from lanescope.workbench.copies.loads import FilledTile
from lanescope.workbench.reads.stores import TileStore
from lanescope.workbench.results import Assumption, VerifiedOperand
from lanescope.workbench.source.open_names import GIVEN_AS, SAID_AS
from lanescope.workbench.text.scan import PrintedLayout

UNFILLED = "the TMA calls of the text fill"  # begins the reason of an open value whose loads are too few


def is_filled_in_part(operand: VerifiedOperand) -> bool:
    """Return whether an operand has no storage since the loads seem to fill a part of it."""
    return any(UNFILLED in missing for missing in operand.missing)


@dataclass(frozen=True, slots=True)
class StoredTile:
    """A storage that an operand's steps can be verified against; `make_storage` sets its first byte."""

    spec: Mapping[str, Any]
    assumed: tuple[Assumption, ...]
    why: str
    mn: int | None = None  # rows that one box or layout holds
    stage_bytes: int = 0  # from stage to stage, 0 if unknown
    start: int | None = None  # its first byte, if the text gives it

    def make_storage(self, base: int, view: View) -> Storage:
        return _make_storage(tuple({**self.spec, "base": base}.items()), view.bits, view.major)


@lru_cache(maxsize=256)
def _make_storage(spec: tuple[tuple[str, Any], ...], bits: int, major: str) -> Storage:
    """Return the storage of a description; cached, since every step and every varied assumption needs it."""
    return storage(dict(spec), bits, major)


@dataclass(frozen=True, slots=True)
class TileRequest:
    """The part of an operand that must be stored: rows × depth elements of A or B.

    choices: values for what the text leaves open, by key; filled: the part that the text's TMA loads fill; inner: the
    dimension along the inner side of its map's boxes, K or MN, if the text says so.
    """

    operand: str
    seen: View
    rows: int
    depth: int
    choices: Mapping[str, str]
    filled: FilledTile | None = None
    inner: str = ""

    @property
    def name(self) -> str:
        return self.operand.upper()

    @property
    def mn(self) -> str:
        """The dimension of its rows, M or N."""
        return "M" if self.operand == "a" else "N"


OpenValues = tuple[Assumption, ...]  # values that must be given first


def lay_tile(store: TileStore, request: TileRequest) -> StoredTile | OpenValues:
    """Return the storage of rows × depth elements of an operand, or the values that must be given first.

    LayoutError if a given value is wrong.
    """
    if store.map is not None:
        return _lay_map(store.piece, store.map, request)
    assert store.layout is not None
    return _lay_layout(store, store.layout, request.seen)


def _lay_layout(store: TileStore, layout: PrintedLayout, view: View) -> StoredTile | OpenValues:
    counted = {None: "elements", view.bits: "elements", 8: "bytes", 128: "chunks"}
    unit = {} if layout.unit_bits else {"unit": counted.get(store.bits, "")}
    if not layout.unit_bits and not unit["unit"]:
        why = f"its pointer counts {store.bits} bits, the instruction reads elements of {view.bits}"
        return (Assumption(f"unit.{store.piece}", f"What {store.name} counts", "", why),)
    spec = {"kind": "cute", "layout": layout.text, **unit}
    where = storage(spec, view.bits, view.major)
    stage_bytes = (layout.stage_stride or 0) * (layout.unit_bits or view.bits) // 8
    return StoredTile(spec, (), f"the CuTe layout {layout.notation}", where.mn, stage_bytes, layout.start)


# tensor maps ----------------------------------------------------------------------------------------------------------


def _lay_map(piece: int, tensor_map: TensorMap, request: TileRequest) -> StoredTile | OpenValues:
    sizes, open_values = _find_box_sizes(piece, tensor_map, request.choices)
    if not sizes:
        return (Assumption(f"box.{piece}.0", "boxDim[0] of the tensor map", "", "the text does not give it"),)
    swizzle, assumed = _find_swizzle(piece, tensor_map, sizes, request)
    if swizzle is None:
        open_values += assumed
    if open_values:
        return tuple(open_values)
    if swizzle not in WIDTHS:
        allowed = f"Allowed: {', '.join(WIDTHS)}."
        raise LayoutError(
            "unknown_swizzle", f"{swizzle} is not read by {request.seen.form.reader}.", allowed, f"swizzle.{piece}"
        )
    where = _lay_boxes(tensor_map, [size or 1 for size in sizes], swizzle, request)
    return replace(where, assumed=(*assumed, *where.assumed)) if isinstance(where, StoredTile) else where


def _find_box_sizes(
    piece: int, tensor_map: TensorMap, choices: Mapping[str, str]
) -> tuple[list[int | None], list[Assumption]]:
    """Return (box sizes, requests for the unknown ones)."""
    sizes, missing = list(tensor_map.box), []
    for n, size in enumerate(tensor_map.box):
        key = f"box.{piece}.{n}"
        if key in choices:
            sizes[n] = _parse_number(choices[key], key)
        elif size is None:
            why = _explain_open(tensor_map, f"box[{n}]")
            missing.append(Assumption(key, f"boxDim[{n}] of the tensor map", "", why))
    return sizes, missing


def _find_swizzle(
    piece: int, tensor_map: TensorMap, sizes: list[int | None], request: TileRequest
) -> tuple[str | None, list[Assumption]]:
    """Return (swizzle of a tensor map, None if it must be given; assumptions and requests)."""
    key, label = f"swizzle.{piece}", "Swizzle of the tensor map"
    known = request.choices.get(key) or tensor_map.swizzle
    if known is not None:
        return known, []
    bits = request.seen.bits
    if tensor_map.element_bits is None and tensor_map.source in TRITON and sizes[0]:
        chosen = get_default_swizzle(sizes[0] * bits // 8, prod(size or 8 for size in sizes[1:]))
        why = f"Triton’s default for {sizes[0]} elements of {bits} bits; the text does not give the type"
        return chosen, [Assumption(key, label, chosen, why, tuple(WIDTHS))]
    return None, [Assumption(key, label, "", _explain_open(tensor_map, "swizzle"), tuple(WIDTHS))]


def _explain_open(tensor_map: TensorMap, field: str) -> str:
    """Explain why a field is open; for a map that is encoded elsewhere, with the names for -D."""
    name = tensor_map.symbols.get(field, "")
    if tensor_map.source == LOADED:
        return f"no code here encodes the map; {GIVEN_AS} {name}"
    return f"{SAID_AS} {name}" if name else "the text does not give it"


@dataclass(frozen=True, slots=True)
class _Cover:
    """How boxes of a tensor map cover a tile.

    `boxes` in sequence along the lines form a panel, `panels` in sequence along the inner dimension the tile. inner:
    that dimension, K or MN; width: bytes of a box's line; pitch: bytes from line to line; lines: of one box; total: of
    one panel; along: elements that the steps reach along the inner dimension; reached: lines that one panel must have;
    deep: panels within one box, after which no other box can continue the lines.
    """

    inner: str
    width: int
    pitch: int
    lines: int
    total: int
    boxes: int
    panels: int
    along: int
    reached: int
    deep: int = 1

    @property
    def stride(self) -> int:
        """Bytes from one panel to the next."""
        return self.pitch * self.total

    @property
    def offsets(self) -> list[int]:
        """Where every box begins, in bytes from the tile's first one."""
        box = self.pitch * self.lines * self.deep
        return [n * self.stride + at * box for n in range(self.panels) for at in range(self.boxes)]


def _lay_boxes(tensor_map: TensorMap, sizes: list[int], swizzle: str, request: TileRequest) -> StoredTile | OpenValues:
    """Place boxes where the text's loads put them, else in sequence: along the lines first, then along the inner
    dimension.

    The inner dimension is K if wgmma reads elements of this size K-major only.
    """
    inner, assumed = _find_inner(tensor_map, request)
    cover = _cover_tile(tensor_map, sizes, swizzle, inner, request)
    given = {f"boxes.{request.operand}", f"panel.{request.operand}"} & request.choices.keys()
    filled = None if given else request.filled
    apart = _is_loaded_apart(cover, filled, request.seen)
    if apart:  # each tile of M or N is a box of its own
        cover = replace(cover, panels=1)
    stride, sure, gap = _place_by_loads(cover, filled)
    if not sure:
        stride, places = _assume_places(cover, sizes[0], stride, gap, request)
        assumed += places
    if open_values := tuple(value for value in assumed if value.missing):
        return open_values
    spec = {**make_panel_storage(cover.width, cover.total, swizzle, inner=inner), "inner_stride": stride}
    del spec["base"]
    box = " × ".join(str(size) for size in sizes)
    name = f"tensor map ‘{tensor_map.names[0].lstrip('&')}’" if tensor_map.names else "the tensor map"
    rows = cover.lines if inner == "K" else request.seen.rows if apart else None
    return StoredTile(spec, tuple(assumed), f"{name}: box {box}, swizzle {swizzle}", rows)


def _cover_tile(tensor_map: TensorMap, sizes: list[int], swizzle: str, inner: str, request: TileRequest) -> _Cover:
    seen, base = request.seen, tensor_map.storage or {}
    cut = base.get("kind") == "atoms"  # by the map itself, into panels
    width = int(base["width_bytes"]) if cut else sizes[0] * (tensor_map.element_bits or seen.bits) // 8
    pitch = get_pitch_bytes(width, swizzle)
    along, across = (request.depth, request.rows) if inner == "K" else (request.rows, request.depth)
    reached = seen.rows if inner == "K" else across
    if cut:
        lines = total = int(base["inner_stride"]) // pitch
        return _Cover(inner, width, pitch, lines, total, -(-reached // lines), 1, along, reached, deep=2)
    lines = prod(sizes[1:])
    return _Cover(
        inner=inner,
        width=width,
        pitch=pitch,
        lines=lines,
        total=-(-across // lines) * lines,
        boxes=-(-reached // lines),
        panels=-(-along * seen.bits // 8 // width) if width else 1,
        along=along,
        reached=reached,
    )


def _find_inner(tensor_map: TensorMap, request: TileRequest) -> tuple[str, list[Assumption]]:
    """Return (dimension along a box's inner side, K or MN; the assumption about it)."""
    key, seen = f"inner.{request.operand}", request.seen
    both = seen.form.allows_elements(seen.bits, "MN")
    named = find_inner_dimension(tensor_map, request.operand) or (None if both else "K")
    given = request.choices.get(key)
    if given is None and both and request.inner:
        return request.inner, []
    if given is None and named is not None and _is_sure_inner(tensor_map, request, named, both):
        return named, []
    chosen = (given or "").upper() or named or seen.major
    if chosen not in ("K", "MN"):
        raise LayoutError("bad_major", f"{key} is '{given}'.", "Allowed: K, MN.", key)
    if given is not None:
        why = "as given"
    elif named is not None:  # the n of an attention kernel is the length of its sequence
        why = f"one of the map’s dimensions is named so, but {request.name} is read {seen.major}-major"
    else:
        why = f"{request.name} is read {seen.major}-major, and the text does not name the map’s dimensions"
    return chosen, [Assumption(key, f"Inner dimension of {request.name}’s tensor map", chosen, why, ("K", "MN"))]


def _is_sure_inner(tensor_map: TensorMap, request: TileRequest, named: str, both: bool) -> bool:
    """Return whether the inner dimension of a map is what the names of its dimensions say.

    both: whether the instruction reads elements of this size K-major and MN-major.
    """
    return not both or named == request.seen.major or are_both_named(tensor_map, request.operand)


def _is_loaded_apart(cover: _Cover, filled: FilledTile | None, view: View) -> bool:
    """Return whether a box begins at every tile of M or N, and holds the rows of one instruction."""
    if filled is None or cover.inner == "K" or cover.panels <= 1:
        return False
    return filled.apart and cover.boxes == 1 and cover.width == view.rows * view.bits // 8


def _place_by_loads(cover: _Cover, filled: FilledTile | None) -> tuple[int, bool, str]:
    """Return (bytes from panel to panel, whether the loads determine every box, what is missing if they do not)."""
    further = "a box has its further panels there; the position of another box is not evaluated"
    gap = further if cover.boxes > 1 and cover.deep > 1 else ""
    if filled is None or filled.has_all(cover.offsets):
        return cover.stride, filled is not None and not gap, gap
    if filled.may_have_all(cover.offsets):
        return cover.stride, False, gap
    distance = filled.find_distance(cover.panels)
    if cover.boxes == 1 and distance >= cover.pitch * cover.lines:
        return distance, True, ""
    there = len(filled.offsets.intersection(cover.offsets))
    return cover.stride, False, f"{UNFILLED} {there} of the tile’s {len(cover.offsets)} boxes"


def _assume_places(
    cover: _Cover, width: int, stride: int, gap: str, request: TileRequest
) -> tuple[int, list[Assumption]]:
    """Return (bytes from panel to panel, the assumptions about where boxes are).

    width: elements of a box along its inner side; stride: the bytes if the panels are in sequence.
    """
    assumed = [_assume_boxes(cover, gap, request)] if cover.boxes > 1 else []
    if cover.panels > 1 and not any(value.missing for value in assumed):
        key = f"panel.{request.operand}"
        if key in request.choices:
            stride = _parse_number(request.choices[key], key)
        assumed.append(_assume_panel(cover, gap, width, stride, request))
    return stride, assumed


def _assume_boxes(cover: _Cover, gap: str, request: TileRequest) -> Assumption:
    """Return the assumption that the boxes of a panel are in sequence, without a value if it must be given."""
    key, boxes, choices = f"boxes.{request.operand}", str(cover.boxes), request.choices
    side = request.mn if cover.inner == "K" else "K"
    whose = "one instruction takes" if cover.inner == "K" or request.seen.k > cover.lines else "the steps take"
    value, why = boxes, f"the box has {cover.lines} of {side} and {whose} {cover.reached}"
    if gap:
        value, why = "", f"{why}; {gap}"
    elif choices.get(key, boxes) != boxes:
        value, why = "", f"{why}: the text does not give the address of the rest"
    elif key in choices:
        why = "as given"
    else:
        why += f": {boxes} boxes, one after the other"
    return Assumption(key, f"Boxes of {request.name}’s tensor map along {side}", value, why, (boxes, "1"))


def _assume_panel(cover: _Cover, gap: str, width: int, stride: int, request: TileRequest) -> Assumption:
    """Return the assumed bytes from panel to panel, without a value if they must be given."""
    key, dimension = f"panel.{request.operand}", "K" if cover.inner == "K" else request.mn
    label = f"Bytes from one panel of {request.name} along {dimension} to the next"
    why = f"the box is {width} elements wide, and the steps reach {cover.along}"
    if gap:
        return Assumption(key, label, "", f"{why}; {gap}")
    if key in request.choices:
        return Assumption(key, label, str(stride), "as given")
    why += f": {cover.panels} panels of {width} along {dimension}, {cover.total} lines each"
    return Assumption(key, label, str(stride), why)


def find_inner_dimension(tensor_map: TensorMap, operand: str) -> str | None:
    """Return the dimension along a box's inner side, K or MN, where the names of the tensor's dimensions say so."""
    first, second = (list_dimension_words(tensor_map, number) for number in range(2))
    mn = {"a": "m", "b": "n"}[operand]
    if _list_only_in(first, second, "k") or _list_only_in(second, first, mn):
        return "K"
    if _list_only_in(second, first, "k") or _list_only_in(first, second, mn):
        return "MN"
    return None


def are_both_named(tensor_map: TensorMap, operand: str) -> bool:
    """Return whether the names of a tensor's dimensions have K and M, or K and N."""
    names = list_dimension_words(tensor_map, 0) | list_dimension_words(tensor_map, 1)
    return {"k", {"a": "m", "b": "n"}[operand]} <= names


def _list_only_in(names: Collection[str], others: Collection[str], name: str) -> bool:
    return name in names and name not in others


def _parse_number(text: str, key: str) -> int:
    return inputs.parse_integer(text, key, 1, 1 << 20)
