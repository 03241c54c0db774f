"""Four rows of a matrix by .tile::gather4 and .tile::scatter4. PTX ISA 9.1, 5.5.3.4; not run on hardware."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.async_kernels import list_codes, run, take, wait
from tests.cases import for_each
from tests.test_emulate_boxes import DUMP, FILL, SPANS, swizzle

ROWS = (
    "@!%p bra J; mov.u32 %a0, {x}; mov.u32 %a1, 2; mov.u32 %a2, -1; mov.u32 %a3, 5; mov.u32 %a4, {last};\n"
    "mbarrier.init.shared::cta.b64 [%bar], 1; fence.mbarrier_init.release.cluster;\n"
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%s],"
    " [%map, {{%a0, %a1, %a2, %a3, %a4}}], [%bar];\nJ: bar.sync 0;\n"
)


@for_each("mode", SPANS)
def test_gather4_brings_four_rows_of_a_matrix(mode: str) -> None:
    """PTX ISA 9.1, 5.5.3.4: rows outside the tensor are zero, as in tile mode. Not run on hardware."""
    width = {"none": 128, "32B": 32, "64B": 64, "128B": 128}[mode]
    tensor = np.arange(1, 1 + 8 * 64, dtype=np.uint32).reshape(8, 64)
    made = {"type": "u32", "dims": (64, 8), "strides": (256,), "box": (width // 4, 1), "swizzle": mode}
    body = FILL + ROWS.format(x=4, last=8).replace("512", str(4 * width)) + wait(0) + DUMP
    machine = run(body, tensor, np.zeros(8192, np.uint8), 128, make_map=made)
    assert machine.status == "finished" and not machine.findings
    rows = np.zeros((4, width // 4), np.uint32)
    rows[0], rows[2] = tensor[2, 4 : 4 + width // 4], tensor[5, 4 : 4 + width // 4]
    image, raw = np.full(8192, 0xEE, np.uint8), rows.view(np.uint8)
    for r, c in product(range(4), range(0, width, 16)):
        place = swizzle(r * width + c, mode)
        image[place : place + 16] = raw[r, c : c + 16]
    assert np.array_equal(take(machine, np.zeros(8192, np.uint8)), image)


def test_scatter4_writes_four_rows_of_a_matrix() -> None:
    fill = "".join(f"mov.u32 %a9, {n + 1}; st.shared.u32 [%s+{4 * n}], %a9; " for n in range(16))
    body = (
        f"@!%p bra J; {fill} fence.proxy.async.shared::cta; mov.u32 %a0, 4; mov.u32 %a1, 6; mov.u32 %a2, 0;\n"
        "mov.u32 %a3, 3; mov.u32 %a4, 9;\n"
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
        " [%map, {%a0, %a1, %a2, %a3, %a4}], [%s];\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nJ:\n"
    )
    tensor = np.zeros((8, 8), np.uint32)
    made = {"type": "u32", "dims": (8, 8), "strides": (32,), "box": (4, 1)}
    machine = run(body, tensor, tensor, make_map=made, on_output=True)
    assert machine.status == "finished" and not machine.findings
    expected = tensor.copy()
    for row, first in ((6, 1), (0, 5), (3, 9)):  # the fourth row is outside
        expected[row, 4:] = np.arange(first, first + 4)
    assert np.array_equal(take(machine, tensor), expected)


def test_rows_need_a_box_of_one_row() -> None:
    made = {"type": "u32", "dims": (64, 8), "strides": (256,), "box": (32, 2)}
    machine = run(ROWS.format(x=0, last=0), np.zeros((8, 64), np.uint32), np.zeros(4), 128, make_map=made)
    assert machine.status == "fault" and list_codes(machine) == ["tensor_box"]
