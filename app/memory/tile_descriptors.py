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
        bool, Description("Whether the swizzle is taken to XOR byte addresses, which the text does not say.")
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


def format_described(one: DescribedTile) -> list[str]:
    """Return the lines that the command prints for a tile."""
    of = f" as {one.element_bits}-bit elements" if one.assumed else ""
    of += ", the swizzle on byte addresses," if one.on_bytes else ""
    if one.why:
        return [f"no descriptor reads it{of}: {one.why}"]
    amounts = ", ".join(
        f"{name} {amount} bytes ({encoded})" + ("" if name.lower() not in one.unused else ", not read")
        for name, amount, encoded in (
            ("LBO", one.lbo_bytes, one.lbo_encoded),
            ("SBO", one.sbo_bytes, one.sbo_encoded),
        )
    )
    base = f", base offset {one.base_offset}" if one.base_offset else ""
    out = [
        f"read{of} by: {amounts}, swizzle mode {one.swizzle} ({one.swizzle_code}){base}, transpose {one.transpose}"
        f" ({one.major}-major); {one.rows} rows of M or N at a time, e.g. B of {one.instruction}"
    ]
    return out + [
        f"  k = {step.k}: start {one.base:#x} + {step.start_offset_bytes}, {step.descriptor}" for step in one.k_steps
    ]


def describe_tile(spec: Mapping[str, object], element_bits: int | None) -> list[DescribedTile]:
    """Return the descriptors of a tile for each element width; if there are none, one entry with the reason."""
    try:
        return [_build_described(one) for one in describe_stored_tile(spec, element_bits)]
    except LayoutError:
        return []


def _build_described(one: TileDescriptors) -> DescribedTile:
    first = one.words[0] if one.words else None
    return DescribedTile(
        element_bits=one.seen.bits,
        assumed=one.assumed,
        on_bytes=one.on_bytes,
        instruction=one.instruction,
        rows=one.seen.rows,
        major=one.seen.major,
        transpose=1 if one.seen.major == "MN" else 0,
        swizzle=first.mode.name if first else None,
        swizzle_code=first.mode_code if first else None,
        lbo_bytes=first.lbo_bytes if first else None,
        sbo_bytes=first.sbo_bytes if first else None,
        lbo_encoded=first.lbo_bytes // 16 if first else None,
        sbo_encoded=first.sbo_bytes // 16 if first else None,
        base_offset=first.base_offset if first else None,
        unused={name: why for name, why in one.unused.items() if name in ("lbo", "sbo")},
        base=int(str(one.spec.get("base", 0)), 0),
        k_steps=[
            StartWord(k=n * one.seen.k, start_offset_bytes=start, descriptor=str(word))
            for n, (start, word) in enumerate(zip(one.starts, one.words, strict=True))
        ],
        why=one.why.removeprefix("No descriptor reads this layout. "),
        link=link_offset(one, 0) if first else "",
    )


def link_offset(one: TileDescriptors, past: int) -> str:
    """Link to the first word for the same tile moved by some bytes, with the storage that it reads."""
    seen = one.seen
    query = {"instruction": one.instruction, "operand": "b", "major": seen.major}
    base = int(str(one.spec.get("base", 0)), 0) + past
    spec = {**one.spec, "base": hex(base)}
    if spec["kind"] == "cute" and spec.get("unit", UNITS[0]) == UNITS[0]:
        spec.pop("unit", None)
    word = START.put(one.words[0].word, START.truncate(base))
    shown = {name: str(value) for name, value in spec.items() if value is not None}
    return f"/descriptor/wgmma/{word:#018x}?{replace_storage(query, shown)}"


__all__ = ["DescribedTile", "StartWord", "describe_tile", "link_offset"]
