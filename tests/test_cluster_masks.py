"""Masks of multicasts name CTAs of the cluster: bit n is the CTA of rank n (PTX ISA 9.1, 9.7.9.25.5.2)."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import list_codes
from tests.test_copied_bytes import RIGHT

KERNEL = "__global__ void __launch_bounds__(THREADS) gemm("
LOAD = "tma_load(s.B[q], &tb, &s.full[q], t * BK, col);"
HELPER = """__device__ void tma_multicast(bf16* dst, const CUtensorMap* map, uint64_t* bar, int x, int y,
                              uint16_t mask) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%4, %5}], [%2], %3;" ::"r"(shared_address(dst)), "l"(reinterpret_cast<uint64_t>(map)),
      "r"(shared_address(bar)), "h"(mask), "r"(x), "r"(y) : "memory");
}
"""


def make_text(dimensions: str, mask: str, launch: str = "") -> str:
    assert RIGHT.count(KERNEL) == 1 and RIGHT.count(LOAD) == 1
    text = RIGHT.replace(LOAD, f"tma_multicast(s.B[q], &tb, &s.full[q], t * BK, col, {mask});")
    kernel = KERNEL.replace("gemm(", f"{dimensions} gemm(")
    return text.replace(KERNEL, f"constexpr int CTAS = 2;\n{HELPER}{kernel}").replace("  gemm<<<", f"  {launch}gemm<<<")


ATTRIBUTE = "attr[0].val.clusterDim.x = 2; attr[0].val.clusterDim.y = 1; attr[0].val.clusterDim.z = 1; "


@for_each(
    ("dimensions", "mask", "launch", "wrong"),
    [
        ("__cluster_dims__(CTAS, 1, 1)", "1 << CTAS", "", True),
        ("__cluster_dims__(CTAS, 2)", "1 << CTAS", "", False),
        ("__cluster_dims__(2, 1, 1)", "1 << (blockIdx.x % 4)", "", False),  # not known
        ("", "8", ATTRIBUTE, True),
        ("", "8", f"{ATTRIBUTE}attr[1].val.clusterDim.x = 4; ", False),  # of another launch
    ],
    sample=3,
)
def test_a_mask_names_ctas_of_the_cluster(dimensions: str, mask: str, launch: str, wrong: bool) -> None:
    assert ("multicast_mask" in list_codes(make_text(dimensions, mask, launch))) == wrong


def test_the_attribute_may_be_that_of_another_kernel() -> None:
    assert "multicast_mask" not in list_codes(make_text("", "8", ATTRIBUTE) + "__global__ void other() {}\n")
