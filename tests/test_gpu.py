"""Hardware runs without hardware: packing, kernels that compile, and the stored evidence against the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.hardware import device, evidence, kernel_source, verification
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, fragment_words, hardware_runs
from lanescope.shared.banks import ACCESSES
from tests.cases import for_each
from tests.ptxas import nvrtc

EVIDENCE = sorted((Path(__file__).parents[1] / "layouts" / "evidence").glob("*.json"))


@for_each("name", ["f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "s8", "u8", "s4", "u4", "b1"])
def test_every_type_holds_its_test_values(name: str) -> None:
    values = np.array(fragment_words.list_legal_values(name))
    assert len(set(fragment_words.encode_values(values, name).tolist())) == len(values)


def test_known_codes() -> None:
    assert fragment_words.encode_values(np.array([1, -2]), "e4m3").tolist() == [0x38, 0xC0]
    assert fragment_words.encode_values(np.array([1, -2]), "e2m1").tolist() == [0x2, 0xC]
    assert fragment_words.encode_values(np.array([1, 2]), "bf16").tolist() == [0x3F80, 0x4000]
    assert fragment_words.encode_values(np.array([-1]), "s4").tolist() == [0xF]


def test_unpack_undoes_pack() -> None:
    for text in (
        "mma.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.m8n8k4.row.col.f32.f16.f16.f32",
        "wmma.load.a.row.m16n16k16.f16",
    ):
        for op in find(text).operands.values():
            bits = (
                np.random.default_rng(1)
                .integers(0, 1 << min(op.container_bits, 32), op.pattern.extents)
                .astype(np.uint64)
            )
            back, disagree = fragment_words.unpack(op, fragment_words.pack(op, bits))
            assert np.array_equal(back, bits) and not disagree


def test_a_4_bit_float_takes_the_middle_of_its_8_bit_container() -> None:
    """PTX ISA 9.1, 9.7.14.5.14: e2m1 in bits 2 to 5, 6-bit elements in the low six bits; packed 4-bit elements have no
    padding.
    """
    ones = {"e2m1": 0x2 << 2, "e3m2": 0x0C, "e2m3": 0x08}
    for name, byte in ones.items():
        op = find(f"mma.m16n8k32.row.col.kind::f8f6f4.f32.{name}.{name}.f32").operands["a"]
        bits = fragment_words.encode_values(np.ones(op.pattern.extents), name)
        assert set(fragment_words.pack(op, bits).ravel().tolist()) == {byte * 0x01010101}
        assert np.array_equal(fragment_words.unpack(op, fragment_words.pack(op, bits))[0], bits)
    packed = find("mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0").operands["a"]
    assert set(
        fragment_words.pack(packed, fragment_words.encode_values(np.ones(packed.pattern.extents), "e2m1"))
        .ravel()
        .tolist()
    ) == {0x22222222}


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
@for_each("family", ["mma", "mma_sp", "wmma", "wgmma", "wgmma_sp", "ldmatrix", "stmatrix", "movmatrix", "mma_scaled"])
def test_kernels_compile(family: str) -> None:
    target = "sm_120a" if family == "mma_scaled" else "sm_90a"
    todo = [
        job for job in verification.generate_jobs(target, family) if job.instruction.sizes.get("n", 8) in (8, 16, 32)
    ]
    chosen = todo[:: max(1, len(todo) // 12)]
    sources = list(dict.fromkeys(text for job in chosen for text in job.list_kernels()))
    text = "\n".join(
        f"namespace n{n} {{\n{verification.rename_kernel(source, n)}}}" for n, source in enumerate(sources)
    )
    assert sources and nvrtc.compile_ptx(text, target)[1] == ""


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_timed_accesses_compile() -> None:
    text = "\n".join(kernel_source.render_timing_loop(name, f"k{n}") for n, name in enumerate(ACCESSES))
    assert nvrtc.compile_ptx(text, "sm_90a")[1] == ""


def test_without_a_device_it_says_why() -> None:
    try:
        import cupy  # noqa: F401
    except ImportError:
        with pytest.raises(LayoutError, match="CuPy is not installed"):
            device.list_devices()


@for_each("path", EVIDENCE, ids=lambda p: p.name)
def test_evidence_names_what_the_catalogue_has_and_agrees(path: Path) -> None:
    """A file written by the device run: every variant it names is in the catalogue, and hardware agreed with all of
    them.
    """
    found: dict[str, Any] = json.loads(path.read_text())
    assert {"device", "compute_capability", "driver", "cuda", "date", "method"} <= set(found["meta"])
    known = {i.ptx for i in catalog.instructions()}
    methods = {job.key: set(job.methods) for job in verification.generate_jobs(found["meta"]["target"])}
    for key, result in found["results"].items():
        assert set(result) == methods[key] and methods[key]
        assert key.removesuffix(hardware_runs.SHARED_A) in known
        assert set(result.values()) == {"agrees"}, (key, result)


@for_each("path", EVIDENCE, ids=lambda p: p.name)
def test_evidence_covers_what_its_device_supports(path: Path) -> None:
    """No variant the device's target assembles is missing from its file, so none was left out because it failed."""
    found = json.loads(path.read_text())
    assert {job.key for job in verification.generate_jobs(found["meta"]["target"])} == set(found["results"])


@for_each("path", EVIDENCE, ids=lambda p: p.name)
def test_evidence_of_descriptors_and_banks(path: Path) -> None:
    """Every case ran, all agreed; sparse B, swizzled and not, is among them."""
    found = json.loads(path.read_text())
    assert evidence.list_failures(found) == []
    assert set(found["banks"]) == set(ACCESSES) and found["descriptors"]
    assert sum("wgmma.mma_async.sp" in what and " b " in what for what in found["descriptors"]) >= 4
    least = {
        "descriptors": 3,
        "banks": 3,
        "counters": 3,
        "chains": 1,
        "programs": 1,
        "code": 1,
        "delivery": 1,
        "boxes": 4,
        "maps": 2,
        "captures": 6,
    }
    assert all(
        row["ran"] == row["agreed"] >= least[part] for part in evidence.PARTS for row in found.get(part, {}).values()
    )
    if found["meta"]["device"] == "NVIDIA H200":
        assert sum(row["ran"] for row in found["chains"].values()) > 400 and any(
            "pieces" in key for key in found["chains"]
        )
        assert sum(row["ran"] for row in found["programs"].values()) > 150


def test_a_summary_counts_what_differs() -> None:
    i = find("mma.m16n8k16.row.col.f32.f16.f16.f32")
    other = find("mma.m16n8k8.row.col.f32.f16.f16.f32")
    found = {
        "results": {i.ptx: {"mma": "agrees", "fragment": "differs: a"}, other.ptx: {"mma": "agrees"}},
        "banks": {"x": {"ran": 3, "agreed": 2}},
    }
    assert evidence.summarize(found) == [
        evidence.SummaryRow("mma", 2, 1, {"mma": (2, 2), "fragment": (0, 1)}),
        evidence.SummaryRow("banks", 3, 2, {}),
    ]


def test_failures_names_what_differs() -> None:
    found = {
        "results": {"x": {"mma": "agrees", "fragment": "differs: a 1 of 2"}},
        "banks": {"ld": {"ran": 2, "agreed": 1}},
        "descriptors": {},
    }
    assert evidence.list_failures(found) == ["x: fragment differs: a 1 of 2", "ld: 1 of 2"]


def test_one_part_is_written_into_the_file_of_the_same_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole programs, say, run later than the rest: their rows and date are added, and nothing else of the file
    changes.
    """
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    kept = json.loads(EVIDENCE[0].read_text())
    (tmp_path / EVIDENCE[0].name).write_text(json.dumps(kept))
    rows = {"wgmma": {"ran": 3, "agreed": 3}}
    found = {"meta": kept["meta"] | {"date": "2027-01-02"}, "results": {}, "programs": rows}
    written = json.loads(evidence.write_evidence(found, "programs").read_text())
    assert written["programs"] == rows and written["meta"]["dates"] == kept["meta"]["dates"] | {
        "programs": "2027-01-02"
    }
    assert (
        f"programs: {evidence.METHODS['programs']}" in written["meta"]["method"]
        and kept["meta"]["method"] in written["meta"]["method"]
    )
    assert {key: value for key, value in written.items() if key not in ("meta", "programs")} == {
        k: v for k, v in kept.items() if k not in ("meta", "programs")
    }
    with pytest.raises(LayoutError, match="of another driver"):
        evidence.write_evidence(found | {"meta": found["meta"] | {"driver": "1.0"}}, "programs")
    with pytest.raises(LayoutError, match="No part"):
        verification.verify_device(part="nothing")
    with pytest.raises(LayoutError, match="exclude each other"):
        verification.verify_device("wgmma", part="banks")


def test_pages_claim_a_run_only_where_a_file_has_it() -> None:
    from lanescope.app.instruction.evidence import list_evidence

    stored = [set(json.loads(path.read_text())["results"]) for path in EVIDENCE]
    for i in catalog.instructions():
        claims = [e for e in list_evidence(i) if e.text.startswith("ran on")]
        assert len(claims) == sum(i.ptx in results for results in stored), i.ptx
    newest = find("mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")
    assert [e.kind for e in list_evidence(newest)] == ["assembled", "documented", "not_run"]


def test_kernels_name_no_user_text() -> None:
    source = kernel_source.render_product(find("mma.m16n8k16.row.col.f32.f16.f16.f32"), "k")
    assert "asm volatile" in source and source.count("__global__") == 1
