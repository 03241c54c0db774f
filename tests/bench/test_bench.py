"""The figures the project promises, measured: `make bench`. Nothing here passes or fails by time."""

from __future__ import annotations

from typing import Any

import pytest

from lanescope import find, tiled_mma, triton_layout
from lanescope.ptx import catalog
from lanescope.ptx.pattern import Pattern, _evaluate_pattern, _invert_pattern
from lanescope.render.figure import make_operand_figure, make_product_figure
from lanescope.render.svg import render_svg

pytestmark = pytest.mark.bench
WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def list_patterns() -> set[Pattern]:
    return {op.pattern for i in catalog.instructions() for op in i.operands.values()}


@pytest.mark.benchmark(group="map of m64n256k16 D (promised: under 1 ms)")
def test_map_evaluate(benchmark: Any) -> None:
    pattern = find(WIDE).operand("d").pattern
    benchmark(_evaluate_pattern.__wrapped__, pattern)


@pytest.mark.benchmark(group="map of m64n256k16 D (promised: under 1 ms)")
def test_map_inverse(benchmark: Any) -> None:
    pattern = find(WIDE).operand("d").pattern
    benchmark(_invert_pattern.__wrapped__, pattern)


@pytest.mark.benchmark(group="TiledMMA of 256×128×64, 8 warps, maps of A, B and C (promised: under 20 ms)")
def test_tiled_mma(benchmark: Any) -> None:
    def maps() -> int:
        made = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(4,2,1)", None, (256, 128, 64))
        return sum(op.rows.size for op in (made.a, made.b, made.c))

    assert benchmark(maps) == 256 * (128 + 128 + 128)


@pytest.mark.benchmark(group="Triton layout of 128×128, coordinates (promised: under 10 ms)")
def test_triton_layout(benchmark: Any) -> None:
    text = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 2], instrShape = [16, 8]}>"
    assert benchmark(lambda: triton_layout(text, (128, 128)).coords[0].size) == 128 * 128


@pytest.mark.benchmark(group="every distinct map once (promised: under 1 s)")
def test_every_map(benchmark: Any) -> None:
    patterns = list_patterns()
    benchmark(lambda: [_evaluate_pattern.__wrapped__(pattern) for pattern in patterns])


@pytest.mark.benchmark(group="SVG (promised: m64n256 D under 100 ms and 1.5 MB, m16n8k16 under 10 ms)")
@pytest.mark.parametrize("what", ["m64n256 D with every label", "m16n8k16 figure"])
def test_svg(benchmark: Any, what: str) -> None:
    wide = what.startswith("m64")
    figure = make_operand_figure(find(WIDE).operand("d")) if wide else make_product_figure(find(M16))
    text = benchmark(lambda: render_svg(figure, title=what, labels_up_to=20000))
    print(f"\n{what}: {len(text.encode())} bytes")


@pytest.mark.benchmark(
    group="descriptors (promised: one read under 1 ms, verify with repair under 50 ms, 16,000 reads under 2 s)"
)
@pytest.mark.parametrize("what", ["reads of one", "verify 128×64 with repair", "16,000 reads"])
def test_descriptors(benchmark: Any, what: str) -> None:
    import numpy as np

    from lanescope.descriptor.matrix import Descriptor, View, compute_many_addresses, reads
    from lanescope.descriptor.verify import verify
    from lanescope.shared.storage import storage

    stored = storage({"kind": "canonical", "swizzle": "128B", "mn": 128, "k": 64, "base": 4096}, 16, "K")
    words = np.random.default_rng(1).integers(0, 2**63, 16000, dtype=np.uint64)
    run = {
        "reads of one": lambda: reads(Descriptor(0x4000004000010100), View(64, 16, 16, "K")),
        "verify 128×64 with repair": lambda: verify(Descriptor(0x8000002000010101), View(128, 16, 16, "K"), stored),
        "16,000 reads": lambda: compute_many_addresses(words, View(64, 16, 16, "K")),
    }[what]
    benchmark(run)
