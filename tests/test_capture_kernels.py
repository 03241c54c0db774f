"""Captures verified, of what kernels do beside a plain loop over filled matrices: rings of stages, tails, accumulators
that begin elsewhere, operands that are not recorded, and mistakes that reach beyond one word.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lanescope import capture, find
from lanescope.app.capture import forms
from lanescope.app.hardware import capture_verdicts
from lanescope.capture import fills
from lanescope.capture.file_format import Capture, Record
from lanescope.capture.recorded_operands import list_steps
from lanescope.descriptor.matrix import Descriptor, encode_wgmma as word
from lanescope.ptx.codec import encode_values
from tests.cases import for_each
from tests.made_captures import (
    BASE_A,
    BASE_B,
    BF16,
    build_matrices,
    build_memory,
    build_record,
    build_steps,
    build_storage,
    build_tile,
    build_warp,
    build_word,
    verify_records,
)
from tests.sample import take_sample

RINGS = [(*ring, major) for major in ("K", "MN") for ring in ((64, 3), (128, 2), (128, 3), (32, 6))]


@for_each(("deep", "stages", "major"), take_sample(RINGS, 2), sample=1)
def test_no_stage_has_the_codes_of_another(deep: int, stages: int, major: str) -> None:
    """B of a loop is read from each stage of a ring that is not its own: never right, and said as what it is."""
    rows, tile_bytes = 64, 64 * deep * 2
    parts = []
    for stage in range(stages):
        for base, name in ((BASE_A, "a"), (BASE_A + stages * tile_bytes, "b")):
            one = build_storage((rows, deep), base + stage * tile_bytes, "64B", major)
            parts.append((one, build_tile("bf16", name, (0, deep * stage), (rows, deep))))
    window = build_memory(*parts)
    trans = {"scale_a": 1, "scale_b": 1, "trans_a": int(major == "MN"), "trans_b": int(major == "MN")}

    def start(base: int, stage: int) -> Descriptor:
        return word(base + stage * tile_bytes, deep * 64, 512, 0, "64B")

    for away in sorted({0, 1, stages - 1}):
        made = verify_records(
            [
                build_record(
                    start(BASE_A, stage),
                    start(BASE_A + stages * tile_bytes, (stage + away) % stages),
                    window,
                    immediates=trans,
                )
                for stage in range(stages)
            ]
        )
        # the first step of each tile: K is a tile further at every step
        right = [[one.ok for one in step.operands] for step in made.steps]
        if not away:
            assert made.ok and {one.part.k for step in made.steps for one in step.operands} == {
                deep * stage for stage in range(stages)
            }
        else:
            assert made.verdict == "mismatch" and len(right) == stages and not any(all(one) for one in right)
            assert capture_verdicts.list_causes(made) == ["other_slice"], capture_verdicts.list_causes(made)


def test_a_word_of_the_other_operand_is_said() -> None:
    window = build_memory(
        (build_storage((64, 64), BASE_A), build_tile("bf16", "a", (0, 0), (64, 64))),
        (build_storage((64, 64), BASE_B), build_tile("bf16", "b", (0, 0), (64, 64))),
    )
    for words in ((BASE_B, BASE_A), (BASE_A, BASE_A), (BASE_B, BASE_B)):
        made = verify_records(
            [build_record(*(build_word(base, 16 * step) for base in words), window) for step in range(4)]
        )
        assert (
            made.verdict == "mismatch"
            and capture_verdicts.list_causes(made) == ["operands_exchanged"]
            and not made.unread
        )
    assert "desc_a reads B: its slice at n = 0, k = 0" in made.text


def test_what_of_a_slice_is_missing_is_said() -> None:
    codes = build_tile("bf16", "b", (0, 0), (64, 64))
    codes[48:] = 0
    window = build_memory(
        (build_storage((64, 64), BASE_A), build_tile("bf16", "a", (0, 0), (64, 64))),
        (build_storage((64, 64), BASE_B), codes),
    )
    made = verify_records(
        [build_record(build_word(BASE_A, 16 * step), build_word(BASE_B, 16 * step), window) for step in range(4)]
    )
    assert (
        capture_verdicts.list_causes(made) == ["slice_incomplete"]
        and "n = 48 to 63 of this slice of B are not in" in made.text
    )


def test_past_the_end_of_a_matrix_are_zeros() -> None:
    """K = 40 in tiles of 64, M = 50 and N = 60: TMA fills what lies outside; rows outside may hold anything."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((50, 40)), rng.standard_normal((60, 40))
    held = []
    for matrix in (a, b):
        whole = np.zeros((64, 64), np.uint64)
        whole[: len(matrix), :40] = encode_values(matrix, "bf16")
        held.append(whole)
    held[1][60:] = 0x3F80
    assert verify_records(build_steps(build_matrices(held)), a=a, b=b, nk=True).ok
    held[0][3, 41] = 0x3F80
    made = verify_records(build_steps(build_matrices(held)), a=a, b=b, nk=True)
    assert [step.index for step in made.wrong] == [2]


@for_each("rounded", [False, True])
def test_tf32_matrices_may_have_been_rounded(rounded: bool) -> None:
    rng = np.random.default_rng(8)
    given = [rng.standard_normal((64, 32)).astype(np.float32) for _ in "ab"]
    bits = [matrix.view(np.uint32).astype(np.uint64) for matrix in given]
    held = [((one + 0x1000) & 0xFFFFE000) if rounded else one for one in bits]
    window = build_memory(
        (build_storage((64, 32), BASE_A), held[0]), (build_storage((64, 32), BASE_B), held[1]), bits=32
    )
    text = "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32"
    records = build_steps(window, text=text, immediates={})
    assert verify_records(records, a=given[0], b=given[1], nk=True).ok


def build_accumulators(values: np.ndarray, label: str = "D") -> list[Record]:
    """The registers of D of m64n64, f32, as the four warps record them."""
    own = find(BF16.format(n=64)).operand("d")
    registers = values.astype(np.float32).view(np.uint32)[own.rows, own.cols]
    return [
        Record(
            "fragment",
            "k.cu",
            30,
            label=label,
            text=BF16.format(n=64),
            thread=32 * warp,
            registers={"d": registers[32 * warp : 32 * warp + 32]},
        )
        for warp in range(4)
    ]


def test_where_accumulators_begin() -> None:
    """At zero; at a C that was recorded; anew after each time they were; and at a second launch."""
    rng = np.random.default_rng(9)
    a, b, c = (rng.integers(-8, 9, (64, 64)).astype(float) for _ in range(3))
    held = [encode_values(matrix, "bf16").astype(np.uint64) for matrix in (a, b)]
    steps = build_steps(build_matrices(held))
    halves = [a[:, n : n + 32] @ b[:, n : n + 32].T for n in (0, 32)]
    begun, whole = build_accumulators(c, "C"), build_accumulators(a @ b.T)
    given = {"a": a, "b": b, "nk": True}
    for records in (
        [*steps, *whole],
        [*begun, *steps, *build_accumulators(a @ b.T + c)],
        [*steps, *whole, *steps, *whole],
        [*steps[:2], *build_accumulators(halves[0]), *steps[2:], *build_accumulators(halves[1])],
    ):
        made = verify_records(records, **given)
        assert made.ok and {one.verdict for one in made.accumulators} == {"match"}
    for records in ([*steps, *build_accumulators(a @ b.T + c)], [*steps, *build_accumulators(halves[1])]):
        made = verify_records(records, **given)
        assert made.verdict == "mismatch" and not made.wrong and "did not begin at zero" in made.text
    partial = capture.write(Capture((*steps[:2], *whole), skipped=8))
    made = capture.verify(partial, **given)
    assert made.verdict == "match" and {one.verdict for one in made.accumulators} == {"unknown"}
    assert {one.verdict for one in forms.build_answer(made).accumulators} == {"unknown"}
    assert "not verified" in made.text and "LANESCOPE_WHEN left out 8 calls" in made.text


def test_registers_of_several_mma_are_those_of_the_loads_before_them() -> None:
    """Of a step along K: two loads of A, two of B, and eight mma, of which each takes one of both."""
    steps, unread = list_steps(build_warp() * 4)
    assert not unread and len(steps) == 128
    for step in steps:
        first, mma = step.number - step.number % 12, step.number % 12 - 4
        assert step.fed == {"a": (first + mma // 4,), "b": (first + 2 + mma % 4 // 2,)}


def test_only_what_is_recorded_is_judged() -> None:
    """A of a wgmma from registers that nobody recorded; of an mma, the operand that its label names."""
    window = build_memory((build_storage((64, 64), BASE_B), build_tile("bf16", "b", (0, 0), (64, 64))))
    records = [build_record(Descriptor(0), build_word(BASE_B, 16 * s), window, label="B") for s in range(4)]
    made = verify_records(records)
    assert made.ok and {len(step.operands) for step in made.steps} == {1}
    some = build_warp()
    scores = [
        replace(one, label="B", registers={**one.registers, "a": np.full((32, 4), 0x3C003C00, np.uint32)})
        if one.kind == "mma"
        else one
        for one in some
    ]
    assert (
        verify_records(scores).ok
        and not verify_records([replace(one, label="") if one.kind == "mma" else one for one in scores]).ok
    )


def test_fills_of_the_first_headers_are_known() -> None:
    """Whose codes repeated after 128 of K."""
    parts = []
    for base, name in ((BASE_A, "a"), (BASE_B, "b")):
        old = fills.compute_codes(np.arange(64)[:, None], np.arange(256)[None, :], "bf16", name, earlier=True)
        parts.append((build_storage((64, 256), base), old))
    window = build_memory(*parts)
    assert verify_records(build_steps(window, 16)).ok
    made = verify_records(
        [build_record(build_word(BASE_A, 16 * s), build_word(BASE_B, 16 * max(s - 1, 0)), window) for s in range(16)]
    )
    assert made.verdict == "mismatch"
