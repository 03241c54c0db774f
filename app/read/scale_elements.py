"""The lane of a scale factor, SFA[row][block] or SFB[column][block], or of the metadata of a group of A,
E[row][group].
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from lanescope.app.instruction import wording
from lanescope.app.kit.maps.bench import PIN
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.names.form_names import name_form
from lanescope.ptx.instruction import Instruction

Supplied = tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]
METADATA_BITS = 4  # of a group


def answer_place(form: Instruction, place: SoughtPlace) -> Supplied:
    """Find the lane that supplies a scale factor or metadata: the holders, the query that pins it, and the sentences.

    LayoutError if the instruction has none, reads them from tensor memory, or lacks this one.
    """
    name, is_metadata = name_form(form).text, place.matrix == "e"
    issue, sparsity = form.family.issue, None if form.family.issue else form.operands.get("a")
    what = "metadata" if is_metadata else "scale factors"
    if issue and (issue.sparse if is_metadata else issue.factors):
        page = "/metadata/order" if is_metadata else "/scale-factors"
        raise LayoutError(
            "operand_not_in_registers", f"The {what} of {name} are in tensor memory.", f"{page} shows where.", "text"
        )
    if not (sparsity and sparsity.sparsity) if is_metadata else not form.scales:
        example = "mma.sp.m16n8k32 f16" if is_metadata else "mma.m16n8k64 mxf4"
        raise LayoutError("unknown_operand", f"{name} has no {what}.", f"{example} has some.", "text")
    suppliers = _list_metadata(form) if is_metadata else _list_factors(form, place.matrix)
    if place.thread is not None:
        return _answer_lane(form, place, suppliers)
    return _answer_element(form, place, suppliers)


def _list_factors(form: Instruction, name: str) -> list[dict[str, Any]]:
    """List every factor under every byte-id and thread-id."""
    scale = form.scales[f"scale_{name[-1]}"]
    depth = form.sizes["k"] // scale.blocks
    listed = []
    for byte_id, thread_id in product(scale.byte_ids, scale.thread_ids):
        threads, bytes_ = (array.tolist() for array in scale.find_owners(byte_id, thread_id))
        for line, block in product(range(len(threads)), range(scale.blocks)):
            columns = f"K block {block} (k {block * depth}–{(block + 1) * depth - 1})"
            listed.append(
                {
                    "operand": scale.name,
                    "place": (line, block),
                    "thread": threads[line][block],
                    "register": 0,
                    "bit": 8 * bytes_[line][block],
                    "bits": 8,
                    "means": f"the factor of {'row' if name == 'sfa' else 'column'} {line}, {columns}",
                    "choice": f"byte-id {byte_id} and thread-id {thread_id}",
                }
            )
    return listed


def _list_metadata(form: Instruction) -> list[dict[str, Any]]:
    """List the metadata of every group of A under every sparsity selector."""
    op = form.operands["a"]
    sparsity = op.sparsity
    assert sparsity is not None
    listed: dict[tuple[int, ...], dict[str, Any]] = {}
    for selector in range(sparsity.selectors):
        threads, bits = (array.ravel().tolist() for array in sparsity.find_suppliers(selector))
        rows, columns = op.coords["row"].ravel().tolist(), op.coords["col"].ravel().tolist()
        for thread, bit, row, column in zip(threads, bits, rows, columns, strict=True):
            group, first = column // sparsity.kept, bit - bit % METADATA_BITS
            dense = group * sparsity.group
            listed[selector, row, group, thread, first] = {
                "operand": "e",
                "place": (row, group),
                "thread": thread,
                "register": 0,
                "bit": first,
                "bits": METADATA_BITS,
                "means": f"the metadata of row {row}, columns {dense}–{dense + sparsity.group - 1} of A",
                "choice": f"sparsity selector {selector}",
            }
    return list(listed.values())


def _answer_element(form: Instruction, place: SoughtPlace, suppliers: list[dict[str, Any]]) -> Supplied:
    letter = place.matrix.upper()
    rows, cols = (1 + max(supplier["place"][axis] for supplier in suppliers) for axis in (0, 1))
    first, second = {"sfa": ("row", "K block"), "sfb": ("column", "K block"), "e": ("row", "group")}[place.matrix]
    if place.coords is None or min(place.coords) < 0 or place.coords[0] >= rows or place.coords[1] >= cols:
        raise LayoutError(
            "bad_coordinate",
            f"{name_form(form).text} has no {place.text}.",
            f"It is {letter}[{first}][{second}]: {first} 0 to {rows - 1}, {second} 0 to {cols - 1}.",
            "text",
        )
    found = [supplier for supplier in suppliers if supplier["place"] == place.coords]
    texts = [f"{_name_supplier(form, supplier)}, with {supplier['choice']}" for supplier in found]
    more = f"Or it is in {'; or in '.join(texts[1:])}." if texts[1:] else ""
    notices = (
        f"{place.text}, {found[0]['means']}, is in {texts[0]}.",
        f"It is read as {letter}[{first}][{second}].",
        more if len(texts) <= 4 else "Another byte-id or thread-id takes it from another byte or lane.",
    )
    row, col = (
        place.coords[::-1] if place.matrix == "sfb" else place.coords
    )  # the panel shows the blocks of SFB as rows
    pin = PIN.format(panel=place.matrix, row=row, col=col)
    return [_describe(form, supplier) for supplier in found], {"pin": pin}, tuple(filter(None, notices))


def _answer_lane(form: Instruction, place: SoughtPlace, suppliers: list[dict[str, Any]]) -> Supplied:
    """Return what a lane supplies under each byte-id, thread-id or selector."""
    thread = (place.thread or 0) + 32 * (place.warp or 0)
    supplied = [supplier for supplier in suppliers if supplier["thread"] == thread]
    letter = place.matrix.upper()
    if not supplied:
        raise LayoutError("bad_lane", f"Lane {thread} supplies nothing of {letter}.", "Ask for another lane.", "text")
    notices = []
    for choice in dict.fromkeys(supplier["choice"] for supplier in supplied):
        places = [
            f"{letter}[{supplier['place'][0]}][{supplier['place'][1]}]"
            for supplier in supplied
            if supplier["choice"] == choice
        ]
        notices.append(f"With {choice} lane {thread} supplies {join_words(places[:8])}{' …' if places[8:] else ''}.")
    return (
        [_describe(None, supplier) for supplier in supplied],
        {"pin": f"{form.family.scope.thread}:{thread}"},
        tuple(notices),
    )


def _name_supplier(form: Instruction | None, supplier: dict[str, Any]) -> str:
    """Name the lane and the bits of its register: lane 12, bits 15:8 of its scale_a."""
    register = "e" if supplier["operand"] == "e" else f"{supplier['operand']} data"
    lane = wording.format_holder(form, supplier["thread"])[0] if form else f"lane {supplier['thread']}"
    return f"{lane}, bits {supplier['bit'] + supplier['bits'] - 1}:{supplier['bit']} of its {register}"


def _describe(form: Instruction | None, supplier: dict[str, Any]) -> dict[str, Any]:
    row, col = supplier["place"]
    kept = {key: supplier[key] for key in ("operand", "thread", "register", "bit", "bits", "choice")}
    return {**kept, "row": row, "col": col, "text": f"{_name_supplier(form, supplier)}, with {supplier['choice']}"}
