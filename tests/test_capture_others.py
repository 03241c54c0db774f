"""Captures of kernels that are no examples, as an H200 wrote them: forms that the examples have not (rings, clusters,
sparse A, promoted sums, a C that is not zero, registers without ldmatrix) and mistakes that were planted by hand. Their
sources lie beside them in tests/golden/captures/others.tar.xz.
"""

from __future__ import annotations

import tarfile
from functools import lru_cache

import pytest

from lanescope import capture
from lanescope.app.hardware import capture_verdicts
from lanescope.capture.report import Verified
from tests.h200_captures import FOLDER
from tests.sample import take_sample

RUNS = {
    "w1_bf16_64B_ring-right": "",
    "w1_bf16_64B_ring-wrong_stage": "other_slice",
    "w1_bf16_64B_ring-wgoffset": "",
    "w1_bf16_64B_ring-ab": "operands_exchanged",
    "w1_bf16_64B_ring-start16": "start_wrong",
    "w2_f16_mna_32b-half": "slice_incomplete",
    "w2_f16_mna_32b-box_k": "other_slice",
    "w4_s8-right": "",
    "w6_sparse-right": "",
    "w6_sparse-kstep_a": "element_size",
    "w7_blocks_at-right": "",
    "w7_blocks_at-swapxy": "other_slice",
    "w8_pieces-right": "",
    "w9_c-right": "",
    "w10_none_f16acc-right": "",
    "p1_m16n8k8_bf16_trans-right": "",
    "p1_m16n8k8_bf16_trans-swap": "registers_exchanged",
    "p1_m16n8k8_bf16_trans-lane_row": "other_rows",
    "p4_plain_tf32-right": "",
}


@lru_cache(maxsize=1)
def read_files() -> dict[str, bytes]:
    with tarfile.open(FOLDER / "others.tar.xz") as archive:
        read = {member.name: archive.extractfile(member) for member in archive}
        return {name: file.read() for name, file in read.items() if file is not None}


@lru_cache(maxsize=32)
def verify_run(run: str) -> Verified:
    return capture.verify([read_files()[name] for name in sorted(read_files()) if name.startswith(f"{run}-fill")])


def test_other_kernels_are_judged_as_they_are() -> None:
    for run, code in take_sample(list(RUNS.items()), 3):
        made = verify_run(run)
        assert (made.verdict, capture_verdicts.list_causes(made)) == (
            ("mismatch", [code]) if code else ("match", [])
        ), run
        assert (not made.unread and all(one.verdict == "match" for one in made.accumulators)) or code, run


def test_blocks_of_a_cluster_record_their_own_memory() -> None:
    """The window of a block that is not its cluster's first; as recorded, addresses count from the window."""
    records = capture.read(read_files()["w7_blocks_at-right-fill1.lscap"]).records
    assert {one.block for one in records} == {(x, y, 0) for x in (0, 1) for y in (0, 1)}
    assert {one.window_first for one in records if len(one.window)} == {1024}


@pytest.mark.thorough
def test_registers_of_a_load_that_an_mma_takes_in_another_order() -> None:
    made = verify_run("p3_4warps_x4_pairs-b_pairs")
    first = made.first_wrong
    assert first is not None and first.causes[0].code == "registers_exchanged"
    assert "B uses registers 0 and 1 of the load at" in first.causes[0].message
    assert "its slice is in registers 0 and 2" in first.causes[0].message


def test_calls_that_were_left_out_are_counted() -> None:
    raw = read_files()["when.lscap"]
    assert capture.read(raw).skipped == 12 and len(capture.read(raw).records) == 2
    assert "LANESCOPE_WHEN left out 12 calls" in capture.verify(raw).text
