"""Tiles in shared memory, and the 64-bit matrix descriptors that read them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.terminal import (
    drop_empty,
    make_flag,
    make_option,
    parse_picture_form,
    print_json,
    take_options,
    write_picture,
)
from lanescope.app.memory import descriptors, facts
from lanescope.app.memory.facts import TileQuestion
from lanescope.app.memory.options import LOOK
from lanescope.app.memory.questions import DecodeQuestion, EncodeBody, ReadsBody, VerifyBody
from lanescope.app.memory.verdicts import build_reads, build_verified
from lanescope.ptx.table.descriptors import FORMATS

DRAWN = {name: make_option(f"Drawn: {LOOK[name][1]}.") for name in LOOK if name != "plain"}


@take_options("look", DRAWN | {"plain": make_flag("plain", "Drawn: memory before the swizzle.")})
def run_smem(
    words: dict[str, str],
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Draw it: FILE.svg, .png, .pdf, .tex, .txt, .md, .csv.")
    ] = "",
    theme: Annotated[str, typer.Option(help="light, dark or bw.")] = "light",
    look: dict[str, Any],
    as_json: bool,
) -> None:
    """Print or draw a tile: its atom, strides, CuTe layouts, and the descriptor of every K step."""
    if output:
        from lanescope.app.diagram import forms as pictures  # imports this feature

        looks = look | {"plain": "1" * look["plain"], "theme": theme}
        return write_picture(pictures.render_tile(parse_picture_form(output), drop_empty(words | looks)), output)
    answer = TILE.ask(words)[1]
    if as_json:
        return print_json(answer)
    atom = answer.atom
    print(f"atom {atom.mn}×{atom.k} (mn×k), {atom.bytes} bytes, {atom.count.mn}×{atom.count.k} of them")
    for name, size, used in (("lbo", answer.lbo_bytes, answer.lbo_used), ("sbo", answer.sbo_bytes, answer.sbo_used)):
        note = "" if used else f"  ({answer.unused.get(name, 'not read')})"
        print(f"{name.upper()}  {size} bytes, encoded {size // 16:#x}{note}")
    cute = answer.cute
    for unit, text in (
        ("chunks", cute.chunks),
        ("elements", cute.elements),
        ("bytes", cute.bytes),
        ("bits", cute.bits),
    ):
        print(f"{unit:9} {text}")
    for step in answer.k_steps:
        print(f"k {step.k:4}  +{step.start_offset_bytes:<6} {step.descriptor}  {step.why}")


TILE = Tool(question=TileQuestion, answer=facts.tile, api="smem/tile", command="smem", run=run_smem)
FEATURE = Feature(
    tools=(
        TILE,
        Tool(
            question=EncodeBody,
            answer=descriptors.encode_descriptor,
            api="descriptors/encode",
            body="EncodeBody",
            raw=True,
            name="encode",
        ),
        Tool(
            question=ReadsBody,
            answer=build_reads,
            api="descriptors/reads",
            body="ReadsBody",
            raw=True,
            name="reads",
        ),
        Tool(
            question=VerifyBody,
            answer=build_verified,
            api="descriptors/verify",
            body="VerifyBody",
            raw=True,
            name="verify",
        ),
        Tool(question=DecodeQuestion, answer=descriptors.decode_word, api="descriptors/{word:path}", name="decode"),
    ),
    written=("page",),
    menu=(
        Entry("Shared memory", 1, "Swizzled tile", "/smem", "where each element of a TMA box or a CuTe atom is"),
        Entry(
            "Shared memory",
            2,
            "Swizzle atoms",
            "/smem/atoms",
            "the smallest repeating blocks, side by side",
            below="/smem",
        ),
        Entry(
            "Shared memory",
            3,
            "Matrix descriptor",
            "/descriptor",
            "does the word read your tile? LBO, SBO, start; wgmma and tcgen05",
        ),
    ),
    examples={
        "/api/v1/smem/tile": "/api/v1/smem/tile?major=K&swizzle=128B&mn=128&k=64",
        "/api/v1/descriptors/{word}": "/api/v1/descriptors/0x4000004004000101",
        **{
            f"/descriptor/{row.name}/{{word}}.{{form}}": f"/descriptor/{row.name}/{row.documented}.svg"
            for row in FORMATS
        },
    },
    bodies={
        "/api/v1/descriptors/encode": {
            "start_address": 4096,
            "lbo_bytes": 16,
            "sbo_bytes": 1024,
            "base_offset": 0,
            "swizzle": "128B",
        },
        "/api/v1/descriptors/reads": {
            "descriptor": "0x4000004000010100",
            "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
            "operand": "a",
            "major": "K",
        },
        "/api/v1/descriptors/verify": {
            "descriptor": "0x4000004004000101",
            "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
            "operand": "a",
            "major": "K",
            "storage": {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": 4096},
            "slice": {"mn": 0, "k": 0},
        },
    },
)
