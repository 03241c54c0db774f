"""Places of elements, and elements at places: one question for instructions, tiles in shared memory, tensor memory,
scale factors, metadata, and layouts of Triton and CuTe. The answers are those of their own pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lanescope.app.agents.places import Located, Place, check_inside, locate, parse_place, require_found, require_letter
from lanescope.app.kit.fact import Json
from lanescope.app.kit.maps.bench import BANK_BYTES, BANKS
from lanescope.app.kit.question import (
    declare_question,
    number_field,
    options_of,
    question_field,
    text_field,
    word_field,
)
from lanescope.app.layouts.facts import TvBody
from lanescope.app.layouts.triton_facts import TritonBody
from lanescope.app.memory.facts import TileQuestion, read_tile
from lanescope.app.memory.storage import storage_field
from lanescope.app.metadata.order import OrderQuestion, make_order
from lanescope.app.read import elements
from lanescope.app.scales.facts import ScaleQuestion, parse_tile
from lanescope.app.tiles.questions import TiledUmmaBody
from lanescope.app.tmem.facts import LayoutQuestion, layout
from lanescope.blackwell.scaling import ScaleOperand
from lanescope.errors import LayoutError
from lanescope.inputs import format_count, parse_integer, quote_value
from lanescope.names import lookup
from lanescope.ptx.instruction import WARP
from lanescope.shared.storage import Storage, make_tile_storage, storage
from lanescope.shared.tiling import DEFAULT_ORDER

MOST_STORED = 2048  # rows and columns of a storage
IN_MEMORY = "[5][9] or byte 0x2c2"  # places of tiles and storages


@declare_question
class StoredQuestion:
    """An operand as a program stores it."""

    storage: Json = storage_field("Where the program put element (mn, k).", required=True)
    mn: int = number_field(64, "M or N", "Extent of M or N that it has.", least=1, most=MOST_STORED, required=True)
    k: int = number_field(64, "K", "Extent of K that it has.", least=1, most=MOST_STORED, required=True)
    element_bits: int = number_field(16, "Element bits", "Bits of an element: 8, 16, 32 or 64.", least=8, most=64)
    major: str = word_field(DEFAULT_ORDER, "Major", "The contiguous dimension, where the storage leaves it open.")


def _declare_part(question: type, label: str, help: str) -> Any:
    return question_field(question, label, help, default="")


@declare_question
class WhereQuestion:
    """A place, and the instruction, tile or layout that it belongs to."""

    place: str = text_field(
        "",
        "Place",
        "An element, or what holds one. Of instruction: 'A[5][9]', 'row 3 of D', 'lane 20', 'R2 of lane 20', 'd3 of"
        " lane 20', 'SFA[3][1]', 'E[4][2]' (metadata). Of tile and stored: '[mn][k]' or 'byte 0x2c2'. Of tensor_memory:"
        " '[row][col]' or 'lane 5 column 3'. Of scale_factors: '[row][factor]' or 'lane 5 column 257 byte 1'. Of"
        " metadata: '[row][group]' or 'word 3 bit 8'. Of triton and tv: '[row][col]', 'thread 37', 'thread 37 value 2'"
        " (triton: 'register 2', of shared layouts 'offset 12'). Of tiled_mma: the same behind A, B or C: 'C[5][9]',"
        " 'C thread 37 value 2'.",
        most=400,
        required=True,
        examples=("A[5][9]", "R2 of lane 20"),
    )
    instruction: str = text_field(
        "",
        "Instruction",
        "PTX text or a name: any mma, wgmma (A in registers, D), wmma, ldmatrix, stmatrix, tcgen05.ld, .st or .cp.",
        examples=("mma.m16n8k16.row.col.f32.bf16.bf16.f32",),
    )
    tile: TileQuestion | None = _declare_part(TileQuestion, "Tile", "A swizzled tile in shared memory.")
    stored: StoredQuestion | None = _declare_part(
        StoredQuestion, "Stored", "Any other storage: rows with a pitch, panels of TMA boxes, a CuTe layout of (mn, k)."
    )
    tensor_memory: LayoutQuestion | None = _declare_part(
        LayoutQuestion, "Tensor memory", "An operand of a tcgen05.mma."
    )
    scale_factors: ScaleQuestion | None = _declare_part(
        ScaleQuestion, "Scale factors", "A block-scaled tile; `place` has row and factor."
    )
    metadata: OrderQuestion | None = _declare_part(
        OrderQuestion, "Metadata", "Sparsity metadata as CUTLASS stores them; `place` has row and group."
    )
    triton: TritonBody | None = _declare_part(TritonBody, "Triton layout", "A layout of Triton or Gluon over a tensor.")
    tv: TvBody | None = _declare_part(
        TvBody, "Thread-value layout", "A CuTe layout (thread, value) → element of a tile."
    )
    tiled_mma: TiledUmmaBody | None = _declare_part(TiledUmmaBody, "TiledMMA", "make_tiled_mma over a tile.")


def find_place(question: WhereQuestion) -> Located:
    """Return the places of an element, or the elements of a holder."""
    names = [name for name in options_of(WhereQuestion) if name != "place"]
    subjects = [name for name in names if getattr(question, name)]
    if len(subjects) != 1:
        what = "The subject is missing" if not subjects else f"Both {subjects[0]} and {subjects[1]} are present"
        raise LayoutError(
            "bad_request", f"{what}.", f"Give one of {', '.join(names)}.", subjects[1] if subjects else names[0]
        )
    if question.instruction:
        return _find_in_instruction(question.place, question.instruction)
    try:
        return _SUBJECTS[subjects[0]](question.place, getattr(question, subjects[0]))
    except LayoutError as error:
        if not error.field or error.field == "place" or error.field.startswith(f"{subjects[0]}."):
            raise
        raise error.move_to_field(f"{subjects[0]}.{error.field}") from None


def _find_in_instruction(place: str, name: str) -> Located:
    answers = elements.answer_question(f"{place} of {name}")
    if answers is None:
        lookup.parse_instruction(name, "instruction")
        hint = "Write A[5][9], row 3 of D, lane 20, R2 of lane 20, d3 of lane 20, SFA[3][1] or E[4][2]."
        raise LayoutError("bad_find", f"place is {quote_value(place)}.", hint, "place")
    if answers.refused:
        raise answers.refused.move_to_field("place")
    first, *rest = answers.meanings
    also = [meaning.title for meaning in rest]
    if answers.more:
        also.append(f"{format_count(answers.more, 'more form')}: give the whole PTX text")
    holders = first.facts["holders"]
    return Located(
        place=place,
        of=first.facts["ptx"],
        count=len(holders),
        found=holders,
        notes=list(first.notices),
        also=also,
    )


def _find_in_tile(text: str, question: TileQuestion) -> Located:
    tile, _ = read_tile(question)
    place, bits = parse_place(text, IN_MEMORY), tile.element_bits
    if bits < 8:
        raise LayoutError("bad_find", "Elements of less than a byte are not found here.", "", "place")
    of = f"{tile.mn} × {tile.k} elements of {bits} bits, {question.major}-major, {tile.mode.name}"
    found = _find_in_memory(place, make_tile_storage(tile), (tile.mn, tile.k), bits // 8, "The tile")
    return require_found(locate(text, of, found), f"It has bytes {tile.base} to {tile.base + tile.bytes - 1}.")


def _find_in_storage(text: str, question: StoredQuestion) -> Located:
    bits = question.element_bits
    if bits % 8:
        message = f"element_bits is {bits}."
        raise LayoutError("bad_number", message, "Elements of whole bytes are found here.", "element_bits")
    stored = storage(question.storage, bits, question.major)
    size = min(question.mn, stored.mn or question.mn), min(question.k, stored.k or question.k)
    found = _find_in_memory(parse_place(text, IN_MEMORY), stored, size, bits // 8, "The storage")
    return require_found(locate(text, stored.text, found), f"It has {size[0]} × {size[1]} elements.")


def _find_in_memory(place: Place, stored: Storage, size: tuple[int, int], element: int, what: str) -> Iterator[Json]:
    """Find the byte of an element, or the element at a byte. element: its bytes."""
    if place.coords:
        cells = [check_inside(place.coords, *size, what)]
    else:
        (byte,) = place.require(IN_MEMORY, "byte")
        first = stored.compute_addresses(*size)
        cells = [(mn, k) for mn, k in np.argwhere((first <= byte) & (byte < first + element)).tolist()]
    for mn, k in cells:
        at = int(stored.address(mn, k))
        bank = at // BANK_BYTES % BANKS
        yield {"mn": mn, "k": k, "byte": at, "hex": hex(at), "offset": at - stored.base, "bank": bank}


def _find_in_tensor_memory(text: str, question: LayoutQuestion) -> Located:
    answer = layout(question)
    example = "[70][3] or lane 5 column 3"
    place, rows, cols = parse_place(text, example), np.asarray(answer.row), np.asarray(answer.col)
    size = answer.unit_bits
    require_letter(place, question.operand)
    if place.coords:
        at = check_inside(place.coords, int(rows.max()) + 1, int(cols.max()) + 1, question.operand)
        cells = np.argwhere((rows == at[0]) & (cols == at[1]))
    else:
        lane, column = place.require(example, "lane", "column")
        units = np.arange(rows.shape[1]) * size
        inside = (units // 32 <= column) & (column <= (units + size - 1) // 32)
        cells = np.argwhere((np.arange(rows.shape[0]) == lane)[:, None] & inside[None, :] & (rows >= 0))
    found = (
        {
            "row": int(rows[lane, unit]),
            "col": int(cols[lane, unit]),
            "lane": lane,
            "column": unit * size // 32,
            "bit": unit * size % 32,
            **({"half": int(answer.half[lane][unit])} if answer.half is not None else {}),
        }
        for lane, unit in cells.tolist()
    )
    of = f"{question.operand.upper()} in tensor memory, layout {answer.id or answer.pattern}, of one CTA"
    note = f"Columns count from the operand's first; rows are those of the CTA ({answer.rows_of_cta})."
    evidence = f"Evidence: {answer.evidence}."
    return require_found(
        locate(text, of, found, note, evidence), f"It has lanes 0 to 127 and {answer.columns} columns."
    )


def _find_factor(text: str, question: ScaleQuestion) -> Located:
    tile, example = parse_tile(question), "[37][5], row and factor, or lane 5 column 257 byte 1"
    place, selected = parse_place(text, example), tile.selected
    of = f"scale factors of {question.side.upper()}"
    require_letter(place, f"sf{question.side}")
    if place.coords:
        check_inside(place.coords, selected.rows, selected.k // selected.block, "The tile of factors")
        return locate(text, of, [_describe_factor(selected, *place.coords)])
    lane, column, byte = place.require(example, "lane", "column", "byte")
    firsts = ((factor, selected.locate_factor(0, factor)) for factor in range(selected.k // selected.block))
    factors = [n for n, at in firsts if at.byte == byte and 0 <= column - at.column < selected.group_columns]
    described = (_describe_factor(selected, row, factor) for factor in factors for row in range(selected.rows))
    found = (
        factor_place for factor_place in described if factor_place["column"] == column and lane in factor_place["lanes"]
    )
    columns = f"columns {selected.column} to {selected.column + selected.columns - 1}"
    return require_found(locate(text, of, found), f"They take lanes 0 to 127 of {columns}, 4 bytes each.")


def _describe_factor(looked: ScaleOperand, row: int, factor: int) -> Json:
    place = looked.locate_factor(row, factor)
    described: Json = {"row": row, "factor": factor, "row_major_byte": place.row_major, "atoms_byte": place.atoms}
    described |= {"lanes": list(place.lanes), "column": place.column, "byte_of_column": place.byte, "mma": place.step}
    return described if place.shared is None else described | {"shared_byte": looked.shared + place.shared}


def _find_index(text: str, question: OrderQuestion) -> Located:
    order, example = make_order(question), "[3][5], row and group, or word 3 bit 8"
    place = parse_place(text, example)
    require_letter(place, "e")
    if place.coords:
        row, group = check_inside(place.coords, order.rows, order.groups, "The metadata")
        word, bit = order.locate_index(row, group)
    else:
        word, bit = place.require(example, "word", "bit")
        rows, groups = (np.asarray(axis) for axis in order.coords)
        if word >= rows.shape[0] or bit >= 32:
            hint = f"Words 0 to {rows.shape[0] - 1}, bits 0 to 31."
            raise LayoutError("bad_find", f"There is no bit {bit} of word {word}.", hint, "place")
        row, group = (int(axis[word, bit // 4]) for axis in (rows, groups))
    described = {"row": row, "group": group, "word": word, "bit": bit - bit % 4, "bits": 4}
    return locate(text, f"metadata of {order.order.opcode}", iter([described]), f"Evidence: {order.evidence}.")


def _find_in_map(place: Place, of: str, holder_map: Any, size: tuple[int, int], word: str = "value") -> Iterator[Json]:
    """Find an element of a map [thread][value], or the elements of a thread. word: name of its values."""
    if place.coords:
        pairs = holder_map.owner(*check_inside(place.coords, *size, of))
    else:
        names = ("thread", word) if word in place.numbers else ("thread",)
        thread, *rest = place.require(f"[5][9], thread 37, or thread 37 {word} 2", *names)
        count = holder_map.rows.shape[1]
        first = parse_integer(rest[0], "place", 0, count - 1, "bad_find") if rest else 0
        pairs = [(thread, value) for value in range(first, first + 1 if rest else count)]
    ids = getattr(holder_map, "thread_ids", np.arange(holder_map.rows.shape[0])).tolist()
    if pairs and pairs[0][0] not in ids:
        raise LayoutError("bad_find", f"There is no thread {pairs[0][0]}.", f"The last is {max(ids)}.", "place")
    for thread, value in pairs:
        at = ids.index(thread), value
        warp = {"warp": thread // WARP.threads, "lane": thread % WARP.threads}
        yield {"thread": thread, **warp, word: value, "row": int(holder_map.rows[at]), "col": int(holder_map.cols[at])}


def _find_in_tv(text: str, question: TvBody) -> Located:
    layout = question.layout
    place = parse_place(text, "[5][9], thread 37, or thread 37 value 2")
    return locate(
        text, str(layout.layout), _find_in_map(place, "The tile", layout, (layout.row_count, layout.col_count))
    )


def _find_in_tiled_mma(text: str, question: TiledUmmaBody) -> Located:
    tiled_mma, example = question.tiled_mma, "C[5][9], C thread 37, or C thread 37 value 2"
    tiled_mma.require_registers("tiled_mma")
    match = re.match(r"\s*([abcd])(?:\s+of)?(?=[\s\[(])", text, re.IGNORECASE)
    if not match:
        raise LayoutError("bad_find", f"place is {quote_value(text)}.", f"Write {example}.", "place")
    operand = tiled_mma.operand(match[1])
    title = f"{operand.name.upper()}, {operand.row_count} × {operand.col_count}"
    if operand.shared:
        raise LayoutError("bad_find", f"{title}, is in shared memory.", "A descriptor reads it.", "place")
    place = parse_place(text[match.end() :], example)
    return locate(text, title, _find_in_map(place, title, operand, (operand.row_count, operand.col_count)))


def _find_in_triton(text: str, question: TritonBody) -> Located:
    layout = question.layout
    if len(layout.shape) != 2:
        message = f"The tensor has {format_count(len(layout.shape), 'axis')}."
        raise LayoutError("bad_find", message, "Places are found in tensors of two.", "triton.shape")
    example = "[5][9]"
    if layout.of_threads:
        place = parse_place(text, f"{example}, thread 37, or thread 37 register 2")
        return locate(text, layout.text, _find_in_map(place, layout.kind, layout, layout.shape, "register"))
    example += " or offset 12" * layout.shared
    place = parse_place(text, example)
    if layout.shared:
        offsets = np.asarray(layout.offset)
        if place.coords:
            cells = [check_inside(place.coords, *layout.shape, layout.kind)]
        else:
            (offset,) = place.require(example, "offset")
            cells = [(row, col) for row, col in np.argwhere(offsets == offset).tolist()]
        found = ({"row": row, "col": col, "offset": int(offsets[row, col])} for row, col in cells)
        return require_found(locate(text, layout.text, found), f"Offsets are 0 to {int(offsets.max())}, in elements.")
    if place.coords is None:
        raise LayoutError("bad_find", f"place is {quote_value(text)}.", f"Write {example}.", "place")
    row, col = check_inside(place.coords, *layout.shape, layout.kind)
    bits = layout.element_bits
    found = (
        {"row": row, "col": col, "lane": lane, "column": at * bits // 32, "bit": at * bits % 32}
        for lane, at in layout.owner(row, col)
    )
    return locate(text, layout.text, found)


_SUBJECTS: dict[str, Callable[[str, Any], Located]] = {
    "tile": _find_in_tile,
    "stored": _find_in_storage,
    "tensor_memory": _find_in_tensor_memory,
    "scale_factors": _find_factor,
    "metadata": _find_index,
    "triton": _find_in_triton,
    "tv": _find_in_tv,
    "tiled_mma": _find_in_tiled_mma,
}
