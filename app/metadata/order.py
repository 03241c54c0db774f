"""What /metadata/order shows: sparsity metadata in the order that CUTLASS's compressors write. No framework."""

from __future__ import annotations

from typing import Annotated, Any

from lanescope.app.kit.fact import Integers, Json, Numbers, Says, fact
from lanescope.ptx import compressed
from lanescope.ptx.compressed import Written
from lanescope.ptx.table.compressed import OPCODES, ORDERS
from lanescope.reading import asked, keys, number
from lanescope.render.scaling import metadata

# parameter → (the words it may be; what it is; its default).
ASKED: dict[str, tuple[tuple[str, ...], str, str]] = {
    "opcode": (OPCODES, "Who reads the metadata.", "tcgen05.mma.sp"),
    "element": (tuple(dict.fromkeys(name for row in ORDERS for name in row.types)), "The type of A.", "f16"),
    "rows": ((), "Rows of A, whole atoms; one atom where it is empty.", ""),
    "k": ((), "Columns of dense A, whole atoms; one atom where it is empty.", ""),
    "tile_k": ((), "K of wgmma.sp's tile, which its atom spans.", ""),
    "row": ((), "The row that is looked at.", "3"),
    "group": ((), "The group along K that is looked at.", "5"),
}


@fact
class MetadataOrder:
    """Sparsity metadata in global memory as CUTLASS's compressor writes them."""

    opcode: str
    element: str
    rows: int
    k: int
    group: Annotated[int, Says("Elements of K an index of 4 bits covers.")]
    bytes: int
    atoms: Annotated[tuple[int, ...], Says("Atoms along the rows, along K; those along the rows come first.")]
    pattern: Annotated[str, Says("(32-bit word)(index of 4 bits) → (row)(group) of one atom.")]
    row: Annotated[Numbers, Integers(2, "[word][index], low bits first: the row.")]
    group_of: Annotated[Numbers, Integers(2, "[word][index]: the group along K.")]
    word: Annotated[int, Says("The 32-bit word of the index that is looked at.")]
    bit: Annotated[int, Says("Its first bit there.")]
    evidence: str


def order_of(given: Json) -> tuple[Written, int, int]:
    """The order of a request, and the row and group that are looked at; LayoutError names the wrong field."""
    keys(given, ASKED)
    values = {name: str(asked(given, name, usual)) for name, (_, _, usual) in ASKED.items()}
    sizes = {name: number(values[name], name) if values[name] else 0 for name in ("rows", "k", "tile_k")}
    tile = sizes["tile_k"]
    least = compressed.least(values["opcode"], values["element"], tile)
    one = compressed.written(
        values["opcode"], values["element"], sizes["rows"] or least[0], sizes["k"] or least[1], tile
    )
    return one, number(values["row"], "row"), number(values["group"], "group")


def order_facts(given: Json) -> MetadataOrder:
    """GET /metadata-order."""
    one, row, group = order_of(given)
    rows, groups = one.coords
    word, bit = one.where(row, group)
    return MetadataOrder(
        opcode=one.order.opcode,
        element=one.element,
        rows=one.rows,
        k=one.k,
        group=one.group,
        bytes=one.bytes,
        atoms=one.atoms,
        pattern=str(one.atom),
        row=rows,
        group_of=groups,
        word=word,
        bit=bit,
        evidence=one.evidence,
    )


def context(query: Json) -> dict[str, Any]:
    """Everything the page shows."""
    given = {name: str(query[name]) for name in query if name in ASKED}
    one, row, group = order_of(given)
    word, bit = one.where(row, group)
    rows, groups = one.coords
    first = word // 8 * 8
    return {
        "one": one,
        "given": {name: given.get(name) or usual for name, (_, _, usual) in ASKED.items()},
        "choices": {name: words for name, (words, _, _) in ASKED.items() if words},
        "looked": (row, group, word, bit),
        "lines": [
            (at, [(int(rows[at, n]), int(groups[at, n])) for n in range(8)])
            for at in range(first, min(first + 8, len(rows)))
        ],
        "order": metadata(one),
        "error": None,
    }
