"""Random questions and what is answered, held: tiles, storages that no descriptor reads, chains, reuse, comparison, any
text. Seeded, so that the same questions are asked in every run; what the answers mean is tested elsewhere, here no word
and no number of them changes unnoticed.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from lanescope.app.kit.examples import BODIES
from lanescope.app.main import create_app
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from tests import asgi
from tests.held import held
from tests.right_words import programs, word
from tests.test_answers_held import folded

MODES = ("none", "32B", "64B", "128B")


@pytest.fixture(scope="module")
def app() -> Any:
    return create_app()


def brief(value: Any) -> str:
    """An answer in a line: its lists of numbers as checksums, an error in its own words."""
    if "error" in value:
        error = value["error"]
        return f"{error['code']} {error['field']}: {error['message']} | {error['hint']}"
    text = json.dumps(folded(value), ensure_ascii=False)
    return re.sub(r"\[[-\d, \[\]]{40,}\]", lambda match: f"#{zlib.crc32(match[0].encode()):08x}", text)


def asked(app: Any, requests: list[tuple[str, Any]]) -> str:
    async def all_() -> list[asgi.Answer]:
        return [
            await asgi.ask(app, "GET" if body is None else "POST", path, b"" if body is None else body)
            for path, body in requests
        ]

    lines = []
    for (path, body), answer in zip(requests, asgi.run(all_()), strict=True):
        lines += [f"{path} {json.dumps(body) if body else ''}", f"  {brief(answer.json())}"]
    return "\n".join(lines) + "\n"


def storage(dice: random.Random, base: int = 1024) -> dict[str, Any]:
    """A storage of any kind, right or odd."""
    swizzle, inner = dice.choice(MODES), dice.choice(("K", "K", "MN"))
    match dice.randrange(4):
        case 0:
            return {
                "kind": "canonical",
                "swizzle": swizzle,
                "major": inner,
                "mn": 64 * dice.randint(1, 3),
                "k": 64 * dice.randint(1, 2),
                "order": dice.choice(("mn", "k")),
                "base": base,
            }
        case 1:
            return {
                "kind": "rows",
                "inner": inner,
                "pitch_bytes": dice.choice((32, 64, 128, 144, 256, 272, 100)),
                "swizzle": swizzle,
                "swizzle_by": dice.choice(("address", "tile")),
                "base": base + dice.choice((0, 0, 16, 128)),
            }
        case 2:
            width = dice.choice((16, 32, 64, 128))
            return {
                "kind": "atoms",
                "inner": inner,
                "width_bytes": width,
                "outer8_stride": 8 * width * dice.randint(1, 3),
                "inner_stride": 1024 * dice.randint(1, 9),
                "swizzle": swizzle,
                "base": base,
            }
        case _:
            layout = dice.choice(
                (
                    "(64,64):(64,1)",
                    "(64,64):(1,64)",
                    "Sw<3,4,3> o ((8,8),(8,2)):((8,64),(1,512))",
                    "Sw<2,4,3> o ((8,8),(32,2)):((32,256),(1,2048))",
                    "((8,8),(8,8)):((8,512),(1,64))",
                    "(64,64):(72,1)",
                )
            )
            return {
                "kind": "cute",
                "layout": layout,
                "unit": dice.choice(("elements", "bytes", "chunks")),
                "base": base,
            }


def test_tiles(app: Any) -> None:
    dice = random.Random(21)
    asks = []
    for _ in range(90):
        query = {
            "element_bits": dice.choice((16, 16, 8, 32, 4, 64, 1)),
            "major": dice.choice(("K", "MN")),
            "swizzle": dice.choice(MODES),
            "mn": dice.choice((8, 32, 64, 128, 192, 100, 4096)),
            "k": dice.choice((16, 32, 64, 128, 24, 256)),
            "order": dice.choice(("mn", "k")),
            "base": dice.choice((0, 128, 512, 1024, 8, 261120)),
        }
        asks.append((f"/api/v1/smem/tile?{urlencode(query)}", None))
    held("random/tiles", asked(app, asks))


def test_storages_against_words(app: Any) -> None:
    """The right word of a program, its data stored in some other way."""
    dice = random.Random(22)
    asks = []
    for p in programs(22, 110):
        body = p.ask(word(p))
        asks.append(
            (
                "/api/v1/descriptors/verify",
                body
                | {
                    "storage": storage(dice, p.base),
                    "slice": {"mn": dice.choice((0, 0, 8, 64)), "k": dice.choice((0, 0, 16))},
                },
            )
        )
    held("random/storages", asked(app, asks))


def test_chains(app: Any) -> None:
    dice = random.Random(23)
    pairs = [
        ("ldmatrix.m8n8.x4.shared.b16", "mma.m16n8k16.row.col.f32.f16.f16.f32", "a"),
        ("ldmatrix.m8n8.x2.shared.b16", "mma.m16n8k16.row.col.f32.bf16.bf16.f32", "b"),
        ("ldmatrix.m8n8.x2.trans.shared.b16", "mma.m16n8k16.row.col.f32.f16.f16.f32", "b"),
        ("ldmatrix.m8n8.x4.shared.b16", "mma.m16n8k32.row.col.s32.s8.s8.s32", "a"),
        ("ldmatrix.m8n8.x1.shared.b16", "mma.m16n8k8.row.col.f32.tf32.tf32.f32", "b"),
        ("stmatrix.m8n8.x2.shared.b16", "mma.m16n8k16.row.col.f16.f16.f16.f16", "d"),
        ("ldmatrix.m8n8.x4.trans.shared.b16", "mma.m16n8k16.row.col.f32.f16.f16.f32", "a"),
        ("ldmatrix.m8n8.x4.shared.b16", "mma.sp.m16n8k32.row.col.f32.f16.f16.f32", "a"),
        ("ldmatrix.m8n8.x2.shared.b16", "mma.m16n8k64.row.col.s32.s4.s4.s32", "b"),
        ("stmatrix.m8n8.x4.trans.shared.b16", "wgmma.mma_async.m64n32k16.f16.f16.f16", "d"),
    ]  # fmt: skip
    asks = [
        ("/api/v1/chain", {"storage": storage(dice), "load": load, "mma": mma, "operand": operand})
        for _ in range(7)
        for load, mma, operand in pairs
    ]
    held("random/chains", asked(app, asks))


def test_pairs_of_instructions(app: Any) -> None:
    dice = random.Random(24)
    every = [i for i in catalog.instructions() if {"a", "d"} <= i.operands.keys()]
    kinds = {i.family.ptx: i for i in dice.sample(every, len(every))}
    asks: list[tuple[str, Any]] = []
    for one in kinds.values():
        two = dice.choice(list(kinds.values()))
        asks.append((f"/api/v1/reuse?{urlencode({'from': one.ptx, 'to': two.ptx})}", None))
        asks.append((f"/api/v1/reuse?{urlencode({'from': one.ptx, 'to': one.ptx})}", None))
        side = dice.choice("abd")
        if side in one.operands and side in two.operands:
            asks.append(
                (f"/api/v1/compare?{urlencode({'left': f'{one.ptx}/{side}', 'right': f'{two.ptx}/{side}'})}", None)
            )
    held("random/pairs", asked(app, asks))


def test_swizzles_that_free(app: Any) -> None:
    dice = random.Random(25)
    names = [
        "ldmatrix.x4",
        "ldmatrix.x1",
        "st.shared.b128",
        "st.shared.b64",
        "ld.shared.b32",
        "ld.shared.b8",
        "stmatrix.x2",
        "ld.shared.b128",
    ]
    asks = []
    for _ in range(30):
        accesses = [
            {"access": dice.choice(names), "pattern": dice.choice(("rows", "ldmatrix", "along", "fragment", "columns"))}
            for _ in range(dice.choice((1, 1, 2, 3)))
        ]
        asks.append(
            (
                "/api/v1/banks/solve",
                BODIES["/api/v1/banks/solve"]
                | {
                    "row_bytes": dice.choice((16, 48, 64, 128, 144, 256, 512, 1024, 4096)),
                    "accesses": accesses,
                },
            )
        )
    held("random/swizzles", asked(app, asks))


ONE = {i.family.ptx: i for i in catalog.instructions()}  # of each row
SPARSE = {row: i.operand("a").sparsity for row, i in ONE.items() if "a" in i.operands and i.operand("a").sparsity}


@pytest.mark.parametrize("family", SPARSE)
def test_a_group_with_too_many_elements_is_named(family: str) -> None:
    """Against a search in Python: the first row and group with more nonzero places than are stored, and how many."""
    sparsity = SPARSE[family]
    dice = random.Random(26)
    per, places = sparsity.per_index, sparsity.group // sparsity.per_index
    for _ in range(25):
        dense = np.array([[dice.random() < 0.55 for _ in range(3 * sparsity.group)] for _ in range(3)])
        pairs = dense.reshape(3, 3, places, per)  # row, group, place in the group, elements that have one index
        counts = {(row, group): int(pairs[row, group].any(axis=1).sum()) for row in range(3) for group in range(3)}
        first = next((key for key, count in sorted(counts.items()) if count > sparsity.kept // per), None)
        if first is None:
            assert sparsity.kept_positions(dense).shape == (3, 3, sparsity.kept // per)
            continue
        at = first[1] * sparsity.group
        what = "pairs of elements" if per > 1 else "elements"
        with pytest.raises(LayoutError) as caught:
            sparsity.kept_positions(dense)
        assert (
            caught.value.message
            == f"Row {first[0]}, columns {at} to {at + sparsity.group - 1} have {counts[first]} nonzero {what}."
        )
        assert (
            caught.value.hint
            == f"mma.sp stores {sparsity.kept // per} of every {places}: e.g. col % {sparsity.group} < {sparsity.kept}"
            " ? i : 0."
        )
