"""What lanescope.app.hardware.device hands to a device, shown to a card that is none (tests.fake_gpu): names, types,
shapes, shared memory and order of every argument, what is compiled and kept, and what `gpu verify` makes of the
answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.hardware import (
    bank_runs,
    chain_runs,
    code_runs,
    delivery_runs,
    descriptor_runs,
    device,
    evidence,
    fragment_runs,
    mma_runs,
    pieces,
    runs,
    script_runs,
    verification,
)
from lanescope.app.hardware.device import CudaDevice
from lanescope.descriptor.matrix import encode_wgmma
from lanescope.errors import LayoutError
from lanescope.product.planning import make_plan
from lanescope.ptx import hardware_runs
from lanescope.shared.banks import ACCESSES, list_regular_addresses
from tests.cases import for_each
from tests.command import run_lanescope
from tests.fake_gpu import FakeGpu, install_gpu
from tests.sample import take_rows

MMA = "mma.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.m64n16k16.f32.f16.f16"
FORMS = (
    MMA,
    "mma.m8n8k4.row.col.f64.f64.f64.f64",
    "mma.sp::ordered_metadata.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
    "wmma.mma.row.col.m16n16k16.f32.f32",
    WGMMA,
    "wgmma.mma_async.sp.m64n8k32.f32.f16.f16",
    "ldmatrix.m8n8.x4.shared.b16",
    "stmatrix.m8n8.x2.shared.b16",
    "movmatrix.m8n8.trans.b16",
    "wmma.load.a.row.m16n16k16.f16",
    "wmma.store.d.row.m16n16k16.f32",
    "wmma.load.a.row.m8n8k4.f64",
)


@pytest.fixture
def card(request: pytest.FixtureRequest) -> Iterator[FakeGpu]:
    with install_gpu(FakeGpu()) as found:
        yield found
    assert found.waited == len(found.launched), "every kernel is waited for"


@pytest.fixture
def sm_120() -> Iterator[FakeGpu]:
    with install_gpu(FakeGpu("12.0")) as found:
        yield found


@pytest.mark.parametrize("name", FORMS)
def test_every_kind_of_instruction_is_launched_as_its_kernel_asks(name: str, card: FakeGpu) -> None:
    cuda, i = CudaDevice(), find(name)
    assert not cuda.simulated and card.used == [0]
    if {"a", "b", "d"} <= set(i.operands):
        for form in i.family.forms:
            assert mma_runs.run_mma(cuda, i, form)["agrees"]
    for operand in fragment_runs.list_measurable(i)[: 4 if i.sizes.get("k", 0) < 32 else 1]:
        assert fragment_runs.run_fragment(cuda, i, operand)["agrees"]
    assert card.waited == len(card.launched) and set(card.launched) == {"k"}
    assert {count for count, _ in card.compiled} == {1}
    assert {tuple(options) for _, options in card.compiled} == {("--gpu-architecture=sm_90a", "--std=c++17")}
    assert len(card.compiled) == len(cuda._kernels), "each kernel is compiled once"


@pytest.mark.thorough
def test_a_wrong_answer_differs(card: FakeGpu) -> None:
    card.wrong = 0x00400000
    cuda = CudaDevice()
    assert not mma_runs.run_mma(cuda, find(MMA))["agrees"]
    assert not next(chain_runs.generate_cases()).run_case(cuda)
    assert not next(code_runs.generate_cases()).run_case(cuda)


@pytest.mark.parametrize("operand", ["a", "b"])
def test_descriptors_relative_and_absolute(operand: str, card: FakeGpu) -> None:
    assert descriptor_runs.run_descriptor(
        CudaDevice(), find(WGMMA), encode_wgmma(0x2010, 528, 1040, 3, "64B"), operand, "K"
    )["agrees"]
    card.window = 2048
    with pytest.raises(LayoutError, match="begins at 2048 on this device") as refused:
        descriptor_runs.run_descriptor(
            CudaDevice(), find(WGMMA), encode_wgmma(0x2010, 528, 1040, 3, "64B"), operand, "K"
        )
    assert refused.value.code == "unsupported_here" and refused.value.hint == "Known is 1024."


def test_shared_memory_beyond_48_kib_is_asked_for(card: FakeGpu) -> None:
    cuda = CudaDevice()
    for made in (
        make_plan(find("wgmma.mma_async.m64n256k16.f32.f16.f16"), "swizzle=128B,k=128", "swizzle=128B,k=128"),
        make_plan(find(WGMMA)),
        make_plan(find(MMA)),
        make_plan(find("wmma.mma.row.col.m16n16k16.f32.f32")),
    ):
        found = mma_runs.run_plan(cuda, made)
        assert found["agrees"] and "__global__" in found["source"]
    assert descriptor_runs.run_descriptor(cuda, find(WGMMA), encode_wgmma(0x10000, 528, 1040, 0, "none"), "a", "K")[
        "agrees"
    ]
    far = [48 * 1024 + 128 * lane for lane in range(32)]
    assert bank_runs.run_banks(cuda, "ld.shared.b32", [0, *far[1:]])["agrees"]
    near = [0] * 31 + [48 * 1024 - 16]
    assert bank_runs.run_banks(cuda, "ld.shared.b32", near)["agrees"]


def test_clocks_are_of_the_best_turn(card: FakeGpu) -> None:
    cuda = CudaDevice()
    took, source = cuda.cycles(bank_runs.get_access("ld.shared.b32"), [128 * lane for lane in range(32)])
    assert took == 32 and "clock64" in source and card.turns == 5
    assert cuda.cycles(bank_runs.get_access("ldmatrix.x1"), [128 * lane for lane in range(8)])[0] == 8
    for name, address, cycles, floor in (
        ("ldmatrix.x4", [128 * lane for lane in range(32)], 32, 4),
        ("st.shared.b128", [256] * 32, 4, 4),
    ):
        measured = bank_runs.run_banks(cuda, name, address)["measured"]
        assert measured == {"cycles": cycles, "cycles_one_address": floor, "wavefronts": cycles}
    with pytest.raises(LayoutError, match="from every lane") as refused:
        bank_runs.run_banks(cuda, "ld.shared.b32", [None, *range(0, 124, 4)])
    assert refused.value.hint == "Give 32." and refused.value.field == "address"
    with pytest.raises(LayoutError, match="The addresses span 231412 bytes") as refused:
        bank_runs.run_banks(cuda, "ld.shared.b32", [0] * 31 + [231412])
    assert refused.value.hint == f"At most {226 * 1024} can be run."
    assert bank_runs.run_banks(cuda, "ld.shared.b32", [128] * 31 + [128 + 226 * 1024 - 16])["agrees"]


def test_what_a_machine_has(card: FakeGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_read_driver_version", lambda: "580.95.05")
    card.count = 2
    told = {"name": "Card 0", "compute_capability": "9.0", "driver": "580.95.05", "cuda": "13.2", "nvrtc": "13.1"}
    assert device.list_devices() == [told, told | {"name": "Card 1"}]
    assert CudaDevice(1).info() == told | {"name": "Card 1", "target": "sm_90a"} and card.used == [1]
    assert run_lanescope("gpu", "status").stdout.splitlines() == [
        f"name Card {n}, compute_capability 9.0, driver 580.95.05, cuda 13.2, nvrtc 13.1" for n in (0, 1)
    ]
    card.count = 0
    with pytest.raises(LayoutError, match="There is no CUDA device") as refused:
        device.list_devices()
    assert (refused.value.code, refused.value.hint) == ("no_device", "Run this on a machine with an NVIDIA GPU.")
    card.broken = "driver too old"
    for asked in (device.list_devices, device.read_device_info):
        with pytest.raises(LayoutError, match="does not answer: driver too old") as refused:
            asked()
        assert refused.value.message == "The CUDA driver does not answer: driver too old."
        assert (refused.value.code, refused.value.hint) == ("no_device", "Is the NVIDIA driver loaded?")


@for_each(("capability", "target"), [("7.5", "sm_75"), ("8.9", "sm_89"), ("10.0", "sm_100a")])
def test_each_card_has_its_target(capability: str, target: str) -> None:
    with install_gpu(FakeGpu(capability)):
        cuda = CudaDevice()
    assert cuda.target == target
    assert cuda.supports(find("movmatrix.m8n8.trans.b16")) == ""
    refusal = cuda.supports(find(WGMMA))
    assert refusal == f"{find(WGMMA).ptx} does not assemble for this device's {target}; it needs sm_90a."


def test_a_card_before_turing_is_refused() -> None:
    with (
        install_gpu(FakeGpu("7.0")),
        pytest.raises(LayoutError, match=r"Card 0 has compute capability 7\.0: unsupp") as said,
    ):
        CudaDevice()
    assert said.value.code == "no_device" and said.value.hint == "The catalogue begins at 7.5 (sm_75)."


# gpu verify -----------------------------------------------------------------------------------------------------------


def test_a_family_is_verified_and_told(card: FakeGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    seen: list[Any] = []
    found = verification.verify_device("ldmatrix", lambda *told: seen.append(told))
    keys = [job.key for job in verification.generate_jobs("sm_90a", "ldmatrix")]
    assert seen == [(key, "agrees", len(keys)) for key in keys] and list(found["results"]) == sorted(keys)
    assert all(told == {"fragment": "agrees"} for told in found["results"].values())
    assert [count for count, _ in card.compiled] == [
        min(verification.BATCH, len(keys) - n) for n in range(0, len(keys), 12)
    ]
    assert {**found["meta"], "date": "", "method": ""} == {
        "device": "Card 0",
        "compute_capability": "9.0",
        "driver": found["meta"]["driver"],
        "cuda": "13.2",
        "nvrtc": "13.1",
        "target": "sm_90a",
        "date": "",
        "method": "",
    }
    done = run_lanescope("gpu", "verify", "--family", "movmatrix")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(
        "device Card 0, compute_capability 9.0, driver"
    )
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines() if line.startswith("│")
    ]
    assert rows == [["movmatrix", "1", "", "1 of 1", "1 of 1"]]
    card.wrong = 1
    done = run_lanescope("gpu", "verify", "--family", "movmatrix")
    key = find("movmatrix.m8n8.trans.b16").ptx
    assert done.returncode == 1 and "0 of 1" in done.stdout
    assert done.stderr.splitlines()[-1].startswith(f"{key}: fragment differs: ")


def test_both_forms_and_both_methods_of_a_product(card: FakeGpu) -> None:
    cuda = CudaDevice()
    jobs = [verification.VariantJob(find(name), form) for name in (MMA, WGMMA) for form in find(name).family.forms]
    assert [job.run_methods(cuda) for job in jobs] == [
        {"mma": "agrees", "fragment": "agrees"},
        {"mma": "agrees", "fragment": "agrees"},
        {"mma": "agrees"},
    ]
    assert [job.key for job in jobs] == [find(MMA).ptx, find(WGMMA).ptx, find(WGMMA).ptx + hardware_runs.SHARED_A]
    for job in jobs:
        assert set(job.list_kernels()) <= set(card.made)
    card.wrong = 0x00400000
    told = [
        verification.VariantJob(find(MMA), "registers").run_methods(cuda),
        verification.VariantJob(find(WGMMA), "shared").run_methods(cuda),
    ]
    assert told[0]["mma"] == "differs: 1 of 128" and told[1] == {"mma": "differs: 1 of 1024"}


def test_pieces_of_a_verification(card: FakeGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a fleet's worker executes them: some forms, some cases of a part, a part whole."""
    monkeypatch.setattr(verification, "BANK_RUNS", 2)
    forms = list(verification.generate_jobs("sm_90a", "ldmatrix"))
    monkeypatch.setattr(verification, "generate_jobs", lambda target: iter(forms))
    every = list(islice(chain_runs.generate_cases(), 6))
    monkeypatch.setattr(chain_runs, "generate_cases", lambda: iter(every))
    cuda, lines = CudaDevice(), []
    for part, first, count in (("", 1, 2), ("chains", 2, 3), ("banks", 0, 0)):
        told = pieces.run_piece(cuda, {"kind": "verify", "part": part, "first": first, "count": count})
        assert told.pop("seconds") >= 0 and told["device"].pop("driver") is not None
        lines.append(json.dumps(told))
    assert list(json.loads(lines[0])["found"]) == [job.key for job in forms[1:3]]
    assert sum(row["ran"] for row in json.loads(lines[1])["found"].values()) == 3


def test_parts_of_a_card_without_stmatrix_or_wgmma() -> None:
    with install_gpu(FakeGpu("8.0")), pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "BANK_RUNS", 5)
        cuda = CudaDevice()
        told = verification.verify_banks(cuda)
        assert verification.verify_descriptors(cuda) == {}
        with pytest.raises(LayoutError, match="does not assemble for this device's sm_80") as refused:
            runs.execute_run(cuda, runs.parse_run({"kind": "mma", "instruction": WGMMA}))
        assert refused.value.hint == "Run it on such a device, or with backend numpy (a simulation)."
    assert "ldmatrix.x4" in told and not any(name.startswith("stmatrix") for name in told)
    with install_gpu(FakeGpu("7.5")):
        request = runs.parse_run({"kind": "banks", "access": "stmatrix.x1", "address": list(range(0, 128, 16))})
        with pytest.raises(LayoutError, match="stmatrix needs sm_90"):
            runs.execute_run(CudaDevice(), request)


def test_blocks_of_a_product_are_told_apart(sm_120: FakeGpu) -> None:
    """Scale factors along both axes of the grid."""
    i = find(FORMS[3])
    cuda = CudaDevice()
    assert cuda.target == "sm_120a" and mma_runs.run_mma(cuda, i)["agrees"]
    rng = np.random.default_rng(3)
    job = device.ProductJob(
        i,
        "registers",
        {
            "a": rng.integers(0, 1 << 32, (3, 32, i.operands["a"].registers), np.uint32) & np.uint32(0x77777777),
            "b": np.zeros((2, 32, i.operands["b"].registers), np.uint32),
            "c": np.zeros((1, 32, i.operands["d"].registers), np.uint32),
            **{f"scale_{side}_data": np.full((1, 32), 0x7F7F7F7F, np.uint32) for side in "ab"},
        },
    )
    assert job.grid == (3, 2) and cuda.product(job)[0].shape == (3, 2, 32, i.operands["d"].registers)


# A box is loaded by a map that the driver encodes, and a capture is a kernel's own: a card that is none has neither.
# test_message_programs asks a stub of the driver for "maps".
@pytest.mark.parametrize(
    "part",
    take_rows(sorted({*evidence.PARTS} - {"boxes", "maps", "captures", "counters", "tcgen05"}), 3),
)
def test_each_part_alone_and_its_evidence(
    part: str, card: FakeGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(verification, "DESCRIPTOR_RUNS", 1)
    monkeypatch.setattr(verification, "BANK_RUNS", 6)
    for module in (chain_runs, code_runs):
        every = module.generate_cases
        monkeypatch.setattr(module, "generate_cases", lambda every=every: islice(every(), 0, 20, 5))
    deliveries = delivery_runs.generate_cases
    monkeypatch.setattr(delivery_runs, "generate_cases", lambda target: islice(deliveries(target), 0, 9, 2))
    chosen = [make_plan(find(MMA)), make_plan(find(WGMMA)), make_plan(find(WGMMA), "swizzle=32B")]
    monkeypatch.setattr(script_runs, "generate_plans", lambda device: iter(chosen))
    monkeypatch.setattr(script_runs, "run_script", lambda made: made is not chosen[2])
    monkeypatch.setattr(evidence, "FOLDER", tmp_path / "evidence")
    done = run_lanescope("gpu", "verify", "--part", part, "--json")
    found = json.loads(done.stdout)
    rows = found[part]
    assert found["results"] == {} and set(found) == {"meta", "results", part}
    if part == "programs":
        assert done.returncode == 1 and rows == {
            find(MMA).ptx: {"ran": 1, "agreed": 1},
            find(WGMMA).ptx: {"ran": 2, "agreed": 1, "differs": [rows[find(WGMMA).ptx]["differs"][0]]},
        }
        assert "swizzle=32B" in rows[find(WGMMA).ptx]["differs"][0] and done.stderr == f"{find(WGMMA).ptx}: 1 of 2\n"
        return
    assert (done.returncode, done.stderr) == (0, "") and all(row["ran"] == row["agreed"] for row in rows.values())
    counts = {
        "descriptors": 12 * 2,
        "banks": sum(len(list_regular_addresses(ACCESSES[name])) for name in ACCESSES),
        "chains": 4,
        "code": 4,
        "delivery": 5,
    }
    assert sum(row["ran"] for row in rows.values()) == counts[part]
    if part == "banks":
        assert {name: row["cycles_one_address"] for name, row in rows.items() if name.startswith("ld")} == {
            **{name: 2 if name == "ld.shared.b128" else 1 for name in rows if name.startswith("ld.")},
            "ldmatrix.x1": 1,
            "ldmatrix.x2": 2,
            "ldmatrix.x4": 4,
        }
        assert rows["ld.shared.b32"]["most_cycles"] == 32 and not {"differs"} & set(rows["ld.shared.b32"])
    assert evidence.summarize(found) == [evidence.SummaryRow(part, counts[part], counts[part], {})]
    assert evidence.write_evidence(found | {"meta": found["meta"] | {"method": "x: y"}}).name == "card_0.json"
    assert evidence.write_evidence(found, part).parent == tmp_path / "evidence"
    held = json.loads((tmp_path / "evidence" / "card_0.json").read_text())
    assert held[part] == rows and held["meta"]["dates"] == {part: found["meta"]["date"]}
    name = "descriptor" if part == "descriptors" else part
    assert held["meta"]["method"] == f"x: y; {part}: {evidence.METHODS[name]}"
