"""The descriptors that read a stored tile, for the pages, the API and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from lanescope.app.kit.enumerations import Word64
from lanescope.app.kit.fact import Description, fact
from lanescope.app.kit.memory_words import Major, SwizzleMode
from lanescope.app.memory.storage import replace_storage
from lanescope.descriptor.tile_descriptors import TileDescriptors, describe_stored_tile
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import START
from lanescope.shared.storage import UNITS


@fact
class StartWord:
    """The descriptor of one K step."""

    k: int
    start_offset_bytes: Annotated[int, Description("From the tile's first byte.")]
    descriptor: Annotated[Word64, Description("For a tile that begins at base.")]


@fact
class DescribedTile:
    """The descriptors that read a stored tile, or why there are none."""

    element_bits: int
    assumed: Annotated[bool, Description("Whether the width of the elements is a guess: the text leaves it open.")]
    on_bytes: Annotated[
        bool, Description("Whether the swizzle is assumed to XOR byte addresses, which the text does not specify.")
    ]
    instruction: Annotated[str, Description("A wgmma that takes the tile as B with as many columns.")]
    rows: Annotated[int, Description("Rows of M or N that it reads.")]
    major: Major
    transpose: Annotated[Literal[0, 1], Description("imm-trans: 1 for MN-major.")]
    swizzle: Annotated[SwizzleMode | None, Description("null if no descriptor reads the tile.")]
    swizzle_code: int | None
    lbo_bytes: int | None
    sbo_bytes: int | None
    lbo_encoded: Annotated[int | None, Description("In units of 16 bytes, as the field has it.")]
    sbo_encoded: int | None
    base_offset: int | None
    unused: Annotated[dict[str, str], Description("Fields that the instruction does not read, and why.")]
    base: Annotated[int, Description("The first byte of the tile that the words are for.")]
    k_steps: list[StartWord]
    why: Annotated[str, Description("Why no descriptor reads it; empty if one does.")]
    link: Annotated[str, Description("The descriptor page with the first word; empty if there is none.")]


def format_described(described: DescribedTile) -> list[str]:
    """Return the lines that the command prints for a tile."""
    of = f" as {described.element_bits}-bit elements" if described.assumed else ""
    of += ", the swizzle on byte addresses," if described.on_bytes else ""
    if described.why:
        return [f"no descriptor reads it{of}: {described.why}"]
    amounts = ", ".join(
        f"{name} {amount} bytes ({encoded})" + ("" if name.lower() not in described.unused else ", not read")
        for name, amount, encoded in (
            ("LBO", described.lbo_bytes, described.lbo_encoded),
            ("SBO", described.sbo_bytes, described.sbo_encoded),
        )
    )
    base = f", base offset {described.base_offset}" if described.base_offset else ""
    out = [
        f"read{of} by: {amounts}, swizzle mode {described.swizzle} ({described.swizzle_code}){base}, transpose"
        f" {described.transpose} ({described.major}-major); {described.rows} rows of M or N at a time, e.g. B of"
        f" {described.instruction}"
    ]
    return out + [
        f"  k = {step.k}: start {described.base:#x} + {step.start_offset_bytes}, {step.descriptor}"
        for step in described.k_steps
    ]


def describe_tile(spec: Mapping[str, object], element_bits: int | None) -> list[DescribedTile]:
    """Return the descriptors of a tile for each element width; if there are none, one entry with the reason."""
    try:
        return [_build_described(tile) for tile in describe_stored_tile(spec, element_bits)]
    except LayoutError:
        return []


def _build_described(tile: TileDescriptors) -> DescribedTile:
    first = tile.words[0] if tile.words else None
    return DescribedTile(
        element_bits=tile.seen.bits,
        assumed=tile.assumed,
        on_bytes=tile.on_bytes,
        instruction=tile.instruction,
        rows=tile.seen.rows,
        major=tile.seen.major,
        transpose=1 if tile.seen.major == "MN" else 0,
        swizzle=first.mode.name if first else None,
        swizzle_code=first.mode_code if first else None,
        lbo_bytes=first.lbo_bytes if first else None,
        sbo_bytes=first.sbo_bytes if first else None,
        lbo_encoded=first.lbo_bytes // 16 if first else None,
        sbo_encoded=first.sbo_bytes // 16 if first else None,
        base_offset=first.base_offset if first else None,
        unused={name: why for name, why in tile.unused.items() if name in ("lbo", "sbo")},
        base=int(str(tile.spec.get("base", 0)), 0),
        k_steps=[
            StartWord(k=n * tile.seen.k, start_offset_bytes=start, descriptor=str(word))
            for n, (start, word) in enumerate(zip(tile.starts, tile.words, strict=True))
        ],
        why=tile.why.removeprefix("No descriptor reads this layout. "),
        link=link_offset(tile, 0) if first else "",
    )


def link_offset(tile: TileDescriptors, past: int) -> str:
    """Link to the first word for the same tile moved by some bytes, with the storage that it reads."""
    seen = tile.seen
    query = {"instruction": tile.instruction, "operand": "b", "major": seen.major}
    base = int(str(tile.spec.get("base", 0)), 0) + past
    spec = {**tile.spec, "base": hex(base)}
    if spec["kind"] == "cute" and spec.get("unit", UNITS[0]) == UNITS[0]:
        spec.pop("unit", None)
    word = START.put(tile.words[0].word, START.truncate(base))
    shown = {name: str(value) for name, value in spec.items() if value is not None}
    return f"/descriptor/wgmma/{word:#018x}?{replace_storage(query, shown)}"


__all__ = ["DescribedTile", "StartWord", "describe_tile", "link_offset"]
