"""Targets: what ptxas says of them, the limits of a block, and answers that depend on the target."""

from __future__ import annotations

import re

import pytest

from lanescope.app.read import text_meanings
from lanescope.blackwell import idesc
from lanescope.blackwell.idesc import IdescWord
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.architectures import (
    ARCHITECTURES,
    STATIC_SHARED_MEMORY,
    explain_missing,
    get_architecture,
    list_targets_of_kind,
)
from lanescope.ptx.table.newer import NEWER_FORMS, NewerForm
from lanescope.ptx.targets import TARGETS
from lanescope.render.idesc import render_constant
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.ptxas import assembler
from tests.ptxas.releases import TargetLimit, measure_limit
from tests.ptxas.sweep import VERSIONS
from tests.sample import take_sample

PTXAS = pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
WGMMA = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"


# the table ------------------------------------------------------------------------------------------------------------


def test_every_target_has_one_architecture() -> None:
    assert sorted(target for row in ARCHITECTURES for target in row.targets) == sorted(TARGETS)
    assert all(get_architecture(target).get_ptx(target) for target in TARGETS)


@PTXAS
@for_each("target", take_sample(TARGETS, 10), sample=4)
def test_ptxas_knows_a_target_since_its_release_and_allows_a_block_as_much_shared_memory(target: str) -> None:
    """Without `a` a block declares 48 KB; with it as much as it may opt in to, and on sm_107a 227 KB."""
    row = get_architecture(target)
    opted = row.oversized_above or row.block_shared_memory or 0
    most = opted if target.endswith("a") else STATIC_SHARED_MEMORY
    assert measure_limit(target) == TargetLimit(row.get_ptx(target), most)


def test_a_block_leaves_one_kilobyte_of_an_sm_to_the_system() -> None:
    """CUDA Programming Guide, compute capabilities; Turing reserves none."""
    for row in ARCHITECTURES:
        if row.block_shared_memory and row.name != "sm_75":
            assert row.sm_shared_memory - row.block_shared_memory == 1024


def test_a_refusal_names_the_target_of_the_same_gpu_first() -> None:
    message, hint = explain_missing("wgmma", ["sm_90a"], "sm_90") or ("", "")
    assert "sm_90." in message and "Compile for sm_90a" in hint
    assert explain_missing("wgmma", ["sm_90a"], "sm_120a") == ("wgmma is not available on sm_120a.", "It needs sm_90a.")
    assert explain_missing("wgmma", ["sm_90a"], "") is None


def test_a_refusal_names_the_release_of_a_form(client: Client) -> None:
    for ptx, target, words in (
        (
            "tcgen05.mma.cta_group::1.kind::f16.collector::b::use",
            "sm_100a",
            "It needs sm_107f. It came with PTX 9.4 (CUDA 13.4).",
        ),
        (WGMMA, "sm_120a", "It needs sm_90a. It came with PTX 8.0."),
    ):
        error = client.get(f"/api/v1/instructions/{ptx}?target={target}").json()["error"]
        assert error["code"] == "not_on_target" and error["hint"] == words


def test_kinds_of_tcgen05_mma() -> None:
    """PTX ISA 9.1, 9.7.16.10.9: kind::i8 is of sm_100a and sm_110a alone; the floats are of the family."""
    assert list_targets_of_kind("i8") == ("sm_100a", "sm_110a")
    assert {"sm_100f", "sm_103a", "sm_107a"} <= set(list_targets_of_kind("f16"))


def test_b_has_a_collector_on_rubin_alone() -> None:
    """PTX ISA 9.4, 9.7.18.10.10.1; kind::i8 has none, and .ws names its buffers b0 to b3."""
    both = catalog.find("tcgen05.mma.cta_group::1.kind::f16.collector::a::fill.collector::b::use")
    support = catalog.get_target_support(both)
    assert (support.targets, support.ptx_version) == (("sm_107f", "sm_107a"), "9.4")
    for wrong in ("cta_group::1.kind::i8.collector::b::use", "ws.cta_group::1.kind::f16.collector::b::use"):
        with pytest.raises(LayoutError):
            catalog.find(f"tcgen05.mma.{wrong}")


def write_sample(row: NewerForm) -> assembler.Line:
    """The sample of a row as a line of the assembler's texts, whose registers of 64 bits are called q."""
    assert row.pattern.search(row.sample)
    return assembler.Line(*re.sub(r"\bd(?=\d)", "q", row.sample).removesuffix(";").split(" ", 1))


@PTXAS
def test_newer_forms_are_assembled_where_their_rows_say_and_since_their_release() -> None:
    lines = [write_sample(row) for row in NEWER_FORMS]
    for target in TARGETS:
        expected = {n for n, row in enumerate(NEWER_FORMS) if target in row.targets}
        assert assembler.find_accepted(lines, target, VERSIONS[-1]) == expected, target
    for target, version in {(row.targets[-1], row.ptx) for row in NEWER_FORMS}:
        pairs = zip(NEWER_FORMS, lines, strict=True)
        own = [line for row, line in pairs if (row.targets[-1], row.ptx) == (target, version)]
        before = VERSIONS[VERSIONS.index(version) - 1]
        assert len(assembler.find_accepted(own, target, version)) == len(own)
        assert assembler.find_accepted(own, target, before) == set()


def test_a_newer_form_is_told_apart_from_a_wrong_one() -> None:
    told = text_meanings.read_text("tcgen05.mma.cta_group::1.kind::ti16.collector::b::fill [r1], d1, d2, r2, p;")
    assert "new in PTX 9.4 (CUDA 13.4) and exists on sm_107f, sm_107a only" in " ".join(told.notices)
    for text in (
        "tcgen05.mma.cta_group::2.kind::ti16",
        "tcgen05.ld.spcompress.sync.aligned.32x32b.x8.max.sp::2:4.f32.b2",
        "applypriority.async.bulk.global.bulk_group.L2::evict_normal [d1], r1;",
        "spcompress.b8.b2.sp::2:4.x1 {r0}, {r1}, {r2, r3}, r4;",
    ):
        with pytest.raises(LayoutError, match=r"new in PTX 9.4 \(CUDA 13.4\)"):
            catalog.find(text)
    copy = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.override::global_address"
    told = text_meanings.read_text(f"{copy} [r1], [d1, d2, {{r2, r3}}], [r4];")
    assert ".override::global_address of cp.async.bulk.tensor is new in PTX 9.4" in " ".join(told.notices)
    older = text_meanings.read_text("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 512;")
    assert "new in PTX" not in " ".join(older.notices)


# answers --------------------------------------------------------------------------------------------------------------


def test_the_page_opens_a_target_if_the_address_has_an_empty_one(client: Client) -> None:
    assert client.get("/targets?target=").text.count("sm_90a") == client.get("/targets").text.count("sm_90a")


def test_the_api_lists_every_target_with_its_limits(client: Client) -> None:
    rows = {row["target"]: row for row in client.get("/api/v1/targets").json()}
    assert list(rows) == list(TARGETS)
    assert rows["sm_90a"]["shared_memory_bytes"] == 232448 and rows["sm_120a"]["shared_memory_bytes"] == 101376
    assert rows["sm_107a"]["shared_memory_bytes"] == 334848 and rows["sm_107a"]["oversized_above_bytes"] == 232448
    assert (rows["sm_107a"]["exclusive_columns"], rows["sm_103a"]["exclusive_columns"]) == (576, 512)
    assert rows["sm_107a"]["ptx"] == "9.4"
    assert rows["sm_100a"]["tensor_memory_columns"] == 512 and rows["sm_121a"]["tensor_memory_columns"] == 0
    assert rows["sm_90"]["max_cluster"] == 16 and rows["sm_89"]["max_cluster"] == 1


@for_each(
    ("kind", "target", "k", "legal", "reserved"),
    [
        ("f8f6f4", "", 32, False, 1 << 29),
        ("f8f6f4", "sm_100a", 32, False, 1 << 29),
        ("f8f6f4", "sm_107a", 64, True, 0),
        ("f8f6f4", "sm_107f", 64, True, 0),
        ("f16", "sm_107a", None, False, 0),
        ("tf32", "sm_107a", None, False, 0),
    ],
)
def test_bit_29_is_k_on_rubin_alone(
    client: Client, kind: str, target: str, k: int | None, legal: bool, reserved: int
) -> None:
    """PTX ISA 9.4, Table 51: 1 is K = 64 of kind::f8f6f4; kinds f16 and tf32 have 0 alone, as in cuDNN."""
    word = {"f8f6f4": 0x28400010, "f16": 0x28400490, "tf32": 0x28400910}[kind]
    told = client.get(f"/api/v1/instruction-descriptors/{word:#x}?kind={kind}&target={target}").json()
    assert (told["k"], told["legal"], int(told["reserved"], 16)) == (k, legal, reserved)


@for_each(
    ("kind", "sparse", "bits", "k"),
    [
        ("mxf8f6f4", 0, 0, 32),
        ("mxf8f6f4", 0, 1 << 31, 64),
        ("mxf8f6f4", 1, 1 << 31, 128),
        ("mxf4", 0, 0, 64),
        ("mxf4", 0, 1 << 31, 96),
        ("mxf4nvf4", 0, 1 << 3, 128),
        ("mxf4nvf4", 1, 1 << 31, 192),
    ],
)
def test_k_of_block_scaled_kinds_on_rubin(kind: str, sparse: int, bits: int, k: int) -> None:
    """PTX ISA 9.4, Tables 52 and 53: bit 31, and for 4 bits an element bit 3 above it."""
    row = idesc.get_kind(kind, "sm_107a")
    word = IdescWord(
        idesc.encode(row, {"m": 256, "n": 128, "sparse": sparse}, target="sm_107a").word | bits, row, "sm_107a"
    )
    assert word.k == k and not word.reserved and idesc.find_legal_forms(word)
    if not sparse:
        assert idesc.encode(row, {"m": 256, "n": 128, "k": k}, target="sm_107a") == word


def test_what_rubin_forbids_in_its_own_fields() -> None:
    """PTX ISA 9.4, Tables 48, 53 and 62."""

    def list_codes(kind: str, **wish: object) -> set[str]:
        row = idesc.get_kind(kind, "sm_107a")
        word = 0
        for part in row.parts:
            word = part.field.put(word, part.codes.get(str(wish.get(part.name)), next(iter(part.codes.values()), 0)))
        return {one.code for one in idesc.find_problems(IdescWord(word, row, "sm_107a"))}

    assert list_codes("f8f6f4", k=64, a="e2m1") == {"k64_type"} and not list_codes("f8f6f4", k=32, a="e2m1")
    assert list_codes("mxf8f6f4", k=64, b="e2m3", transpose_b="MN") == {"bad_major"}
    assert list_codes("mxf4", k=96, k_high="yes") == {"reserved_code"}
    assert list_codes("mxf4", k_high="yes", sparse="yes") == {"k128_sparse"}
    assert list_codes("mxf4", sparsity_version="v0", sparse="yes") == {"sparsity_version"}
    assert not list_codes("mxf4nvf4", scale_type="ue5m3", sfa_layout=128)


def test_fields_of_rubin_are_named_where_no_target_is_given() -> None:
    word = IdescWord(0x28400010, idesc.get_kind("f8f6f4"))
    assert "On sm_107 these bits belong to fields: K 64" in idesc.find_problems(word)[0].message


def test_bit_31_of_a_4_bit_kind_says_k_96_on_one_target(client: Client) -> None:
    """PTX ISA 9.1, Table 39, and 9.4, Table 48: K = 96 is of sm_103a and sm_107a."""
    word = client.post(
        "/api/v1/instruction-descriptors/encode", json={"kind": "mxf4", "m": 256, "n": 128, "k": 96}
    ).json()["word"]
    answers = {
        target: client.get(f"/api/v1/instruction-descriptors/{word}?kind=mxf4&target={target}").json()
        for target in ("sm_103a", "sm_100a", "sm_107a")
    }
    assert [answers[target]["k"] for target in answers] == [96, 96, 96]
    assert [answers[target]["legal"] for target in answers] == [True, False, True]


@for_each(
    ("path", "body", "target", "other"),
    [
        ("tiles/mma", {"atom": "SM90_64x128x16_F32F16F16_SS"}, "sm_90a", "sm_100a"),
        ("tiles/mma", {"atom": "SM80_16x8x16_F32F16F16F32_TN"}, "sm_80", "sm_75"),
        ("instruction-descriptors/encode", {"kind": "i8", "m": 128, "n": 64}, "sm_110a", "sm_103a"),
        (
            "descriptors/verify",
            {"descriptor": "0x4000004000010100", "instruction": WGMMA, "operand": "a"},
            "sm_90a",
            "sm_120a",
        ),
    ],
)
def test_a_question_for_a_target_that_lacks_it_is_refused(
    client: Client, path: str, body: dict[str, object], target: str, other: str
) -> None:
    assert client.post(f"/api/v1/{path}", json=body | {"target": target}).status_code == 200
    error = client.post(f"/api/v1/{path}", json=body | {"target": other}).json()["error"]
    assert error["code"] == "not_on_target" and other in error["message"]


def test_an_instruction_is_asked_of_a_target(client: Client) -> None:
    fp8 = "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"
    for path in (f"/api/v1/instructions/{fp8}", f"/api/v1/instructions/{fp8}/operands/a"):
        assert client.get(f"{path}?target=sm_89").status_code == 200
        refused = client.get(f"{path}?target=sm_80")
        assert refused.json()["error"]["code"] == "not_on_target" and "sm_89" in refused.json()["error"]["hint"]
    assert "is not available on sm_80" in client.get(f"/i/{fp8}?target=sm_80").text
    assert "is not available on" not in client.get(f"/i/{fp8}?target=sm_89").text
    assert "sm_90a" in client.get(f"/i/{fp8}?target=sm_90b").text


def test_tensor_memory_is_of_targets_that_have_it(client: Client) -> None:
    for path in ("tmem/layout?", "tmem/epilogue?", "scale-factors?kind=mxf4&", "tmem/access?"):
        query = f"/api/v1/{path}target="
        assert client.get(query + "sm_103f").status_code == 200
        assert client.get(query + "sm_120a").json()["error"]["code"] == "not_on_target"


def test_a_product_that_exceeds_a_block_s_shared_memory_is_noted(client: Client) -> None:
    body = {"atom": "SM90_64x128x16_F32F16F16_SS", "tile": [128, 128, 512], "target": "sm_90a"}
    assert "A and B take 262144 bytes" in client.post("/api/v1/tiles/mma", json=body).json()["notes"][0]
    fits = client.post("/api/v1/tiles/mma", json=body | {"tile": [128, 128, 256]}).json()["notes"]
    assert not any("bytes of shared memory" in note for note in fits)


def test_an_unknown_target_is_refused_by_name() -> None:
    with pytest.raises(LayoutError, match="sm_99"):
        get_architecture("sm_99")


@for_each(("kind", "k"), [("f8f6f4", 64), ("mxf4", 96), ("mxf4", 128)])
def test_the_constant_of_a_word_of_rubin_is_that_word(kind: str, k: int) -> None:
    word = idesc.encode(idesc.get_kind(kind), {"m": 128, "n": 128, "k": k}, target="sm_107a")
    code = render_constant(word)
    terms = re.findall(r"(\d+)u << (\d+)", code)
    assert sum(int(value) << int(shift) for value, shift in terms) == word.word
    assert f"static_assert(idesc == {word}u)" in code


def test_the_command_takes_a_target_with_and_without_its_option() -> None:
    plain, option = (run_lanescope("targets", *words).stdout for words in (["sm_121a"], ["--target", "sm_121a"]))
    assert plain == option and "no tensor memory" in plain
    assert "Did you mean sm_90a?" in run_lanescope("targets", "sm_90b").stderr
    assert "Two targets" in run_lanescope("targets", "sm_90", "--target", "sm_80").stderr
