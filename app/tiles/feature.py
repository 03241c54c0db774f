"""Whole tiles: TiledMMA, TiledCopy, main loops."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.terminal import drop_empty
from lanescope.app.tiles import facts, main_loop_facts, tiled_copy_facts
from lanescope.app.tiles.questions import LoopBody, TiledChainBody, TiledCopyBody, TiledUmmaBody


def run_mma(
    words: dict[str, Any],
    *,
    operand: Annotated[str, typer.Option(help="a, b or c: of one operand alone.")] = "",
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element?")] = "",
    thread: Annotated[str, typer.Option(help="What does this thread hold?")] = "",
    colour: Annotated[str, typer.Option(help="With -o: warp, group, lane, value, register, k, m or n.")] = "",
    output: Annotated[
        str, typer.Option("-o", "--output", help="FILE.{svg,png,pdf,tex,txt,md,csv,json}: a picture.")
    ] = "",
    as_json: bool,
) -> None:
    """Print a TiledMMA, or draw it."""
    from lanescope.app.tiles import mma_command

    if output:
        mma_command.draw_mma(words | drop_empty({"operand": operand, "colour": colour}), output)
    else:
        mma_command.print_mma(words, operand, at, thread, as_json)


MMA = Tool(
    question=TiledUmmaBody,
    answer=facts.answer_mma,
    api="tiles/mma",
    body="TiledUmmaBody",
    command="tiles mma",
    help=(
        "A, B and C of a whole tile: threads, values, registers; for an UMMA atom descriptors and tensor memory. Exit"
        " status 1 if the tile does not fit tensor memory."
    ),
    run=run_mma,
    name="tiled_mma_api",
)
CHAIN = Tool(
    question=TiledChainBody,
    answer=facts.build_chain,
    api="tiles/mma/chain",
    body="TiledChainBody",
    name="tiled_chain_api",
)
COPY = Tool(
    question=TiledCopyBody,
    answer=tiled_copy_facts.answer_copy,
    api="tiles/copy",
    body="TiledCopyBody",
    raw=True,
    name="tiled_copy_api",
)
LOOP = Tool(
    question=LoopBody,
    answer=main_loop_facts.build_loop,
    api="tiles/loop",
    body="LoopBody",
    raw=True,
    name="loop_api",
)
FEATURE = Feature(
    tools=(MMA, CHAIN, COPY, LOOP),
    written=("api", "page", "verbs"),
    menu=(
        Entry("Tiles", 1, "TiledMMA", "/tiles/mma", "which thread of a block holds which element"),
        Entry(
            "Tiles",
            3,
            "TiledCopy",
            "/tiles/copy",
            "which thread moves what, how wide, with which bank conflicts and sectors",
        ),
        Entry(
            "Tiles",
            2,
            "Back-to-back GEMM",
            "/tiles/mma/chain",
            "whether C’s registers already hold the next A, as FlashAttention’s P",
            below="/tiles/mma",
        ),
        Entry("Tiles", 4, "Main loop", "/tiles/loop", "from global memory to registers: what arrives, what it costs"),
    ),
    examples={
        "/tiles/mma.{form}": "/tiles/mma.svg?atom=SM80_16x8x16_F32F16F16F32_TN&atom_layout=(2,2,1)&tile=32x16x16",
        "/tiles/copy.{form}": (
            "/tiles/copy.svg?atom=cp.async&bits=128&tile=32x64&thr_layout=(8,8):(8,1)&val_layout=(1,8)"
        ),
        "/tiles/loop.{form}": "/tiles/loop.svg",
    },
    bodies={
        "/api/v1/tiles/mma": {
            "atom": "SM80_16x8x16_F32F16F16F32_TN",
            "atom_layout": "(2,2,1)",
            "permutation": "(32,32,16)",
            "tile": [64, 64, 32],
        },
        "/api/v1/tiles/mma/chain": {
            "first": {"atom": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(4,1,1)", "tile": [64, 64, 64]},
            "second": {"atom": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(4,1,1)", "tile": [64, 128, 64]},
        },
        "/api/v1/tiles/loop": {
            "tiled_mma": {
                "atom": "SM80_16x8x16_F32F16F16F32_TN",
                "atom_layout": "(2,2,1)",
                "permutation": "(32,32,16)",
                "tile": [64, 64, 64],
            },
            "a": {
                "store": {"atom": "cp.async", "bits": 128, "thr_layout": "(16,8):(8,1)", "val_layout": "(1,8)"},
                "storage": {"kind": "rows", "inner": "K", "pitch_bytes": 128, "swizzle": "128B"},
                "load": "SM75_U32x4_LDSM_N",
            },
        },
        "/api/v1/tiles/copy": {
            "atom": "cp.async",
            "bits": 128,
            "element_bits": 16,
            "thr_layout": "(16,8):(8,1)",
            "val_layout": "(1,8)",
            "tile": [64, 64],
            "storage": {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B"},
        },
    },
)
