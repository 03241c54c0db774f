"""Whole programs that nvcc compiled, optimized, with -O0 and with -G: the emulator's results equal NumPy's.

Sources: tests/golden/emulated/*.cu; their PTX: programs.tar.xz, which `python -m tests.test_emulate_programs` writes.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.machine import Schedule
from tests.cases import for_each
from tests.emulated_kernels import run_text

Array = NDArray[Any]
FOLDER = Path(__file__).parent / "golden" / "emulated"
ARCHIVE = FOLDER / "programs.tar.xz"
OPTIONS = {"": [], "-O0": ["-Xcicc", "-O0"], "-G": ["-G"]}


@lru_cache(maxsize=1)
def read_archive() -> dict[str, str]:
    with tarfile.open(ARCHIVE) as archive:
        return {
            member.name: file.read().decode() for member in archive if (file := archive.extractfile(member)) is not None
        }


def run(name: str, *arguments: Any, **options: Any) -> None:
    machine = run_text(read_archive()[f"{name}.ptx"], arguments, **options)
    assert machine.status == "finished", machine.findings
    assert not machine.findings


@for_each("option", OPTIONS)
def test_sort(option: str) -> None:
    values = np.random.default_rng(1).integers(-1000, 1000, 512, dtype=np.int32)
    out, eights = np.zeros(512, np.int32), np.zeros(512, np.int32)
    run(f"sort{option}", values, out, eights, block=(256, 1, 1))
    np.testing.assert_array_equal(out, np.sort(values))
    np.testing.assert_array_equal(eights.reshape(-1, 8), np.sort(values.reshape(-1, 8), axis=1))


@for_each(("option", "by_warp"), [("", False), ("", True), ("-O0", False), ("-G", False)])
def test_reductions(option: str, by_warp: bool) -> None:
    shape = (5, 4, 5)  # 100 threads: the last warp has four
    values = np.random.default_rng(2).integers(-50, 50, 200, dtype=np.int32)
    sums, scan, halves = np.zeros(2, np.int32), np.zeros(200, np.int32), np.zeros(200, np.float32)
    votes = np.zeros(200, np.uint32)
    run(
        f"reduce{option}", values, sums, scan, votes, halves, block=shape, grid=(2, 1, 1),
        schedule=Schedule(by_warp=by_warp),
    )  # fmt: skip
    weighted = values * np.tile([1, -2, 3, -4], 50)
    blocks = weighted.reshape(2, 100)
    np.testing.assert_array_equal(scan, blocks.cumsum(axis=1).reshape(-1))
    np.testing.assert_array_equal(sums, blocks.sum(axis=1) + (blocks > 0).sum(axis=1))
    halved = weighted.astype(np.float16).astype(np.float64) ** 2 + 1
    np.testing.assert_array_equal(halves, halved.astype(np.float16).astype(np.float32) + np.float32(1.25))
    for block in range(2):
        for first in range(0, 100, 32):
            own = blocks[block, first : min(first + 32, 100)].tolist()
            mask = (1 << len(own)) - 1
            ballot = sum((v > 0) << i for i, v in enumerate(own))
            common = ballot ^ (any(v == 7 for v in own) << 31) ^ (all(v < 1000 for v in own) << 5)
            for lane, value in enumerate(own):
                same = sum((v & 3 == value & 3) << i for i, v in enumerate(own)) & mask
                expected = (common + same * 3 + sum(own) + max(own)) & 0xFFFFFFFF
                assert votes[block * 100 + first + lane] == expected


@for_each(("option", "by_warp"), [("", False), ("", True), ("-O0", False), ("-G", False)])
def test_histogram(option: str, by_warp: bool) -> None:
    values = np.random.default_rng(3).integers(0, 256, 300, dtype=np.uint8)
    bins, steps = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    most, total = np.zeros(1, np.uint64), np.zeros(1, np.float32)
    lock, guarded = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(
        f"histogram{option}", values, len(values), bins, most, total, steps, lock, guarded,
        block=(128, 1, 1), grid=(2, 1, 1), shared=1024, schedule=Schedule(by_warp=by_warp),
    )  # fmt: skip
    np.testing.assert_array_equal(bins, np.bincount(values, minlength=256))
    assert int(most[0]) == max(int(v) << 32 | i for i, v in enumerate(values))
    assert total[0] == values.sum()
    assert guarded[0] == 2 * (0 + 32 + 64 + 96)
    assert lock[0] == 0
    np.testing.assert_array_equal(steps, [count_collatz(n + 1) for n in range(256)])


def count_collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


SHAPE = np.dtype([("kind", np.int32), ("sides", np.int16, 3), ("_", np.int16), ("__", np.int32), ("size", np.float64)])
GIVEN = (7, (-1, -2, -3), 1.5)


def compute_call(t: int) -> tuple[int, float]:
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21]
    result = fibonacci[t % 9] + (t * t if t & 1 else 2 * t)
    result = {0: result + 5, 1: result ^ 0x55, 2: result * 3, 3: result - 1000, 4: result << 2, 5: -result}.get(
        t % 7, result + (40 if t & 1 else 20)
    )
    shapes = [(1, (3, 4, 5), 0.5), (2, (6, 8, 10), 0.25)]
    kind, sides, size = shapes[t & 1] if t & 2 else GIVEN
    return result + sides[t % 3] + t % 5 + kind, size * (t % 5)


@for_each("option", OPTIONS)
def test_calls(option: str) -> None:
    given = np.zeros(1, SHAPE)
    given["kind"], given["sides"], given["size"] = GIVEN
    assert SHAPE.itemsize == 24
    out, sizes = np.zeros(90, np.int32), np.zeros(90, np.float64)
    run(f"calls{option}", out, sizes, given, 90, block=(96, 1, 1))
    expected = [compute_call(t) for t in range(90)]
    np.testing.assert_array_equal(out, [result for result, _ in expected])
    np.testing.assert_array_equal(sizes, [size for _, size in expected])


@for_each("option", OPTIONS)
def test_tiles(option: str) -> None:
    random, n = np.random.default_rng(4), 24
    a, b = (random.integers(-8, 9, (n, n)).astype(np.float32) for _ in range(2))
    rows = random.integers(-4, 5, (32, 16)).astype(np.float32)
    c, soft = np.zeros((n, n), np.float32), np.zeros((32, 16), np.float32)
    vectors = random.integers(-100, 100, (16, 16, 4), dtype=np.int32)
    turned = np.zeros((16, 16, 4), np.int32)
    halves = (rows.view(np.uint32) >> 16).astype(np.uint16)
    run(f"tiles{option}", a, b, c, n, halves, soft, vectors, turned, block=(16, 16, 1), grid=(2, 2, 1))
    np.testing.assert_array_equal(c, a @ b)
    powers = np.exp(rows.astype(np.float64) - rows.max(axis=1, keepdims=True))
    np.testing.assert_allclose(soft, powers / powers.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(turned, vectors.transpose(1, 0, 2))


def write_archive(nvcc: str) -> None:
    """Compile the programs again."""
    with tarfile.open(ARCHIVE, "w:xz") as archive:
        for name in ("sort", "reduce", "histogram", "calls", "tiles"):
            for option, words in OPTIONS.items():
                command = [nvcc, "-ptx", "-arch=sm_90a", "-std=c++17", *words, f"{name}.cu", "-o", "/dev/stdout"]
                text = subprocess.run(command, cwd=FOLDER, check=True, capture_output=True).stdout
                member = tarfile.TarInfo(f"{name}{option}.ptx")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))


if __name__ == "__main__":
    write_archive(sys.argv[1])
