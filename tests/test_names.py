"""Names of instructions: every one its own, and the box opens it by that name, by a shorter one and in other words."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from lanescope.app.instruction import wording
from lanescope.app.instruction.state import bind_descriptor
from lanescope.app.read import certain_links, text_meanings
from lanescope.errors import LayoutError
from lanescope.names import forms, lookup, search, vocabulary
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog
from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample

FORMS = catalog.instructions()


def open_text(client: Client, text: str) -> str:
    """Return the page that the box opens for a text, "" where it lists several."""
    return client.get("/read", params={"text": text}, follow_redirects=False).headers.get("location", "")


def test_every_form_has_a_name_of_its_own() -> None:
    repeated = [
        name for name, count in Counter(name_form(bind_descriptor(i, {})).text for i in FORMS).items() if count > 1
    ]
    assert repeated == []


def test_every_name_opens_exactly_its_form() -> None:
    for form in take_sample(FORMS, 120):
        for text in (name_form(bind_descriptor(form, {})).text, name_form(form).text, wording.format_title(form)):
            assert certain_links.find_certain_link(text) in (f"/i/{form.ptx}", _link_unnamed_space(form.ptx)), text


def _link_unnamed_space(ptx: str) -> str:
    """A name without blanks is read as PTX: no state space means generic addresses."""
    return f"/i/{ptx.replace('.shared', '')}"


@for_each(
    ("text", "ptx"),
    [
        ("mma.m16n8k16 f32 += bf16 × bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("mma.m16n8k16 f32 += bf16 x bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("wgmma.m64n256k16 bf16", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
        ("WGMMA 64x256x16 bfloat16", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
        ("ldmatrix x4 trans", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
        ("bf16 k16 n256 wgmma", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
        ("movmatrix m8n8", "movmatrix.sync.aligned.m8n8.trans.b16"),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 A",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ),
    ],
)
def test_a_name_that_fits_one_form_opens_it(client: Client, text: str, ptx: str) -> None:
    assert open_text(client, text) == f"/i/{ptx}"


@for_each(
    ("text", "lacking"),
    [("wgmma m64n64k16 tf32", "sp"), ("mma.m16n8k32 bf16", "sp"), ("mma.sync m16n16k16 f16", "wmma")],
)
def test_a_shape_that_only_another_opcode_has_is_refused(text: str, lacking: str) -> None:
    named = lookup.find_named(text)
    assert named and not named.forms and f"No instruction without {lacking} has" in lookup.explain_refusal(named)
    assert forms.find_forms(f"{lacking} {text}").forms


def test_f8_is_a_name_of_fp8() -> None:
    assert len(forms.find_forms("mma.m16n8k16 f8").forms) == len(forms.find_forms("mma.m16n8k16 fp8").forms) > 0


def test_some_words_of_a_form_find_it_in_any_order_and_with_any_separator() -> None:
    draw = random.Random(7)
    common = {
        name: [c for c, spellings in vocabulary.SYNONYMS.items() if spellings == (name,)]
        for name in ("f16", "bf16", "f32")
    }
    for form in draw.sample(FORMS, 300):
        words = [word for word in form.ptx.split(".") if word not in catalog.SPACES]
        kept = [word for word in words if draw.random() < 0.7] or words
        kept = [draw.choice(common[word]) if word in common and draw.random() < 0.3 else word for word in kept]
        if form.shape in kept and form.shape.count("k") and draw.random() < 0.3:
            kept[kept.index(form.shape)] = "x".join(str(form.sizes[dim]) for dim in "mnk")
        draw.shuffle(kept)
        text = draw.choice((" ", ".", "  ", ", ", " .")).join(kept)
        if set(kept) <= vocabulary.SILENT:
            continue
        found = forms.find_forms(text)
        if found.lacking:  # the words of a dense form: only a sparse one has them all
            assert found.lacking in re.split(r"\.|::", form.syntax.opcode) and found.lacking not in text, text
            continue
        assert form in found.forms, (form.ptx, text)
        keys = search.index_instructions()
        assert all(search.has_word(keys[f.ptx], word) for f in found.forms for word in found.words)


@for_each(
    ("text", "ptx"),
    [
        ("mma.m16n8k16 bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("mma m16n8k16 bfloat16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("mma.m16n8k16 f32 += bf16 × bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("wgmma 64x256x16 bf16", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
        ("wgmma.m64n256k16.f32.bf16.bf16", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
        ("ldmatrix.m8n8.x4 trans", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
    ],
)
def test_a_field_takes_a_name_for_an_instruction(text: str, ptx: str) -> None:
    assert lookup.parse_instruction(text, "instruction").ptx == ptx


@for_each(
    ("text", "why"),
    [
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16",
            "types 'f32.f16.f16.f16' are not legal here (allowed: f16 as the type of D or f32 as the type of C)",
        ),
        (
            "tcgen05.ld.sync.aligned.16x256b.x64.b32",
            "modifier 'x64' is not legal here (allowed: x1, x2, x4, x8, x16, x32)",
        ),
        (
            "tcgen05.mma.cta_group::3.kind::f16",
            "'cta_group::3' is not legal here (allowed: cta_group::1, cta_group::2)",
        ),
        ("tcgen05.cp.cta_group::1.64x128b", "a modifier is missing (allowed: warpx2::02_13, warpx2::01_23)"),
        ("ldmatrix.sync.aligned.m8n8.shared.b16", "a modifier is missing (allowed: x1, x2, x4)"),
        (
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
            "none or scale_vec::2X instead of scale_vec::4X; kind::mxf4nvf4 instead of kind::mxf4",
        ),
    ],
)
def test_a_refusal_names_the_wrong_word_and_what_may_stand_in_its_place(text: str, why: str) -> None:
    with pytest.raises(LayoutError) as refusal:
        catalog.find(text)
    assert why in refusal.value.message


@for_each(
    ("text", "kind"),
    [
        ("tcgen05.ld.sync.aligned.32x32b.x256.b32 {r}, [t];", "unknown"),
        ("tcgen05.cp.cta_group::1.64x128b [t], d;", "unknown"),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a], 512;", "topic"),
    ],
)
def test_a_line_of_tcgen05_that_does_not_exist_is_refused(text: str, kind: str) -> None:
    assert text_meanings.read_text(text).kind == kind


def test_every_name_that_the_site_prints_is_taken_for_its_instruction() -> None:
    for form in take_sample(list(catalog.instructions()), 200):
        assert lookup.find(name_form(form).text).ptx in (form.ptx, form.ptx.replace(".shared", ""))


@for_each(
    ("text", "message", "listed"),
    [
        # D is f32 or f16, and nothing in the name says which.
        ("wgmma 64x128x16 f16", "names 2 instructions", "wgmma.mma_async.sync.aligned.m64n128k16.f16.f16.f16"),
        ("mma.m16n8k17 bf16", "No instruction has 'm16n8k17'", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("mma.m16n8k16 s8 bf16", "No instruction has all of", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("mma.m16n8k16 f19", "No instruction has 'f19'", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ],
)
def test_a_name_that_means_none_or_several_is_refused_with_the_nearest(text: str, message: str, listed: str) -> None:
    with pytest.raises(LayoutError, match=message) as refusal:
        lookup.parse_instruction(text, "mma")
    assert refusal.value.field == "mma" and listed in refusal.value.nearest


def test_a_word_that_no_instruction_has_is_not_dropped() -> None:
    """ldmatrix.m8n8.x4 alone is the plain form, which whoever mistypes trans does not mean."""
    with pytest.raises(LayoutError, match="No instruction has 'transposd'"):
        lookup.find("ldmatrix.m8n8.x4 transposd")
    assert lookup.find("mma.m16n8k16.row.col.f32.f16.f16.f32 acc, ra, rb").family.name == "mma"  # operands


def test_a_name_without_sparsity_means_the_dense_product() -> None:
    assert lookup.find("mma.m16n8k16 bf16").family.name == "mma"
    assert lookup.find("mma.sp.m16n8k16 bf16 sparse ordered_metadata").syntax.opcode == "mma.sp::ordered_metadata"


def test_a_scaled_product_in_tensor_memory_is_named_with_the_type_of_its_factors() -> None:
    """PTX ISA 9.1, Table 57: ue8m0, and ue4m3 with scale_vec::4X."""
    types = {"1X": "ue8m0", "2X": "ue8m0", "4X": "ue4m3"}
    issued = [(form, form.family.issue) for form in FORMS if form.family.issue and form.family.issue.factors in types]
    assert {issue.factors for _, issue in issued} == types.keys()
    for form, issue in take_sample(issued, 60):
        assert name_form(bind_descriptor(form, {})).types.endswith(f", scale {types[issue.factors]}"), form.ptx


@for_each(
    ("text", "types"),
    [
        ("f16 += f16 × f16", {("f16", "f16", "f16")}),
        ("f64 = f64 × f64 + f64", {("f64", "f64", "f64")}),
        ("m16n8k32 s32 += s4|u4 × s4|u4", {("s32", a, b) for a in ("s4", "u4") for b in ("s4", "u4")}),
        ("m16n8k16 f32 += e4m3|e5m2 × e4m3", {("f32", a, "e4m3") for a in ("e4m3", "e5m2")}),
    ],
)
def test_the_types_of_a_product_are_a_name_as_the_catalogue_prints_them(text: str, types: set[tuple[str, ...]]) -> None:
    matches = lookup.find_named(text)
    assert matches is not None and lookup.is_name(matches)
    assert {(i.types["d"], i.types["a"], i.types.get("b", i.types["a"])) for i in matches.forms} == types
