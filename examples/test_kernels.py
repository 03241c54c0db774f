"""Two kernels of this folder, tested without a GPU: `pytest test_kernels.py`."""

from pathlib import Path

from lanescope.descriptor.matrix import encode_wgmma as word
from lanescope.testing import TensorMap, assert_box_fills, assert_constants, assert_descriptors_read, assert_expect_tx

HERE, WGMMA = Path(__file__).parent, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"


def test_k_major() -> None:
    a_map = TensorMap(type="bf16", dims=(128, 64), box=(64, 64), swizzle="128B")
    assert_constants(HERE / "wgmma_tma_k_major.cu", {"PANEL_K": 64, "STEP_K": 16, "A_PANEL": 8192, "A_BYTES": 16384})
    assert_box_fills(a_map, "64x128 bf16 K 128B base=0x400")
    assert_expect_tx(16384, [a_map, a_map])
    a = [word(0x400 + k // 64 * 8192 + k % 64 * 2, 16, 1024, swizzle="128B") for k in range(0, 128, 16)]
    assert_descriptors_read(a, "64x128 bf16 K 128B base=0x400", WGMMA, "a")


def test_mn_major() -> None:
    b_map = TensorMap(type="bf16", dims=(128, 64), box=(64, 64), swizzle="128B")
    assert_constants(HERE / "wgmma_mn_major_b.cu", {"PANEL_N": 64, "B_PANEL": 8192, "B_BYTES": 16384})
    assert_box_fills(b_map, "128x64 bf16 MN 128B base=0x2400 order=k")
    assert_expect_tx(16384, [b_map, b_map])
    b = [word(0x2400 + k * 128, 8192, 1024, swizzle="128B") for k in range(0, 64, 16)]
    assert_descriptors_read(b, "128x64 bf16 MN 128B base=0x2400 order=k", WGMMA, "b")
