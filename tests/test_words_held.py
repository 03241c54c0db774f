"""The words of badges, offers and sources, each from the code that says them, held by golden files."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from lanescope import find
from lanescope.app.instruction import facts as about
from lanescope.app.main import create_app
from lanescope.errors import LayoutError
from lanescope.product.planning import plan
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.render import kernel
from tests.client import Client
from tests.held import held

F16 = "mma.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.m64n8k16.f32.f16.f16"
MXF4 = "mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"  # no stored run has it

# evidence -------------------------------------------------------------------------------------------------------------


def badges(i: Instruction) -> str:
    """A badge a line; a date is that of the stored run, so it is DATE here."""
    text = "".join(f"  {e.kind}: {e.text} | {e.by} | {e.date}\n" for e in about.evidence(i))
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)


def test_every_badge_of_the_catalogue() -> None:
    """Each list of badges that some instruction has, with the first that has it and how many do."""
    seen: dict[str, list[str]] = {}
    for i in catalog.instructions():
        seen.setdefault(badges(i), []).append(i.ptx)
    assert sum(map(len, seen.values())) == len(catalog.instructions())
    held("badges", "".join(f"{names[0]} and {len(names) - 1} more\n{text}" for text, names in seen.items()))


def told(device: str, **results: dict[str, str]) -> dict[str, Any]:
    """An evidence file of two instructions: the mma, and wgmma in both forms."""
    keys = {"mma": find(F16).ptx, "wgmma": find(WGMMA).ptx, "shared": find(WGMMA).ptx + catalog.SHARED_A}
    return {
        "meta": {"device": device, "date": "2027-01-02"},
        "results": {keys[name]: methods for name, methods in results.items()},
    }


AGREES, DIFFERS = {"mma": "agrees", "fragment": "agrees"}, {"mma": "agrees", "fragment": "differs: a 3 of 256"}
FILES: dict[str, tuple[dict[str, Any], ...]] = {
    "no run": (),
    "agrees": (told("NVIDIA H100 80GB HBM3", mma=AGREES, wgmma=AGREES, shared={"mma": "agrees"}),),
    "differs": (told("NVIDIA H100 80GB HBM3", mma=DIFFERS, wgmma=DIFFERS, shared={"mma": "agrees"}),),
    "one form differs": (
        told(
            "NVIDIA H100 80GB HBM3", mma={"mma": "differs: 4 of 128"}, wgmma=AGREES, shared={"mma": "differs: 1 of 512"}
        ),
    ),
    "two devices, one differs": (
        told("NVIDIA H100 80GB HBM3", mma=AGREES, wgmma=AGREES),
        told("NVIDIA H200", mma=DIFFERS, wgmma=DIFFERS),
    ),
    "another instruction differs": (told("NVIDIA H200", wgmma=DIFFERS),),
}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A way to put other evidence files in the place of the stored ones."""

    def put(name: str) -> None:
        monkeypatch.setattr(catalog, "evidence_files", lambda: copy.deepcopy(FILES[name]))

    return put


def test_what_a_run_that_differs_is_called(stored: Any) -> None:
    """Badges, their class on the page, and the head of a generated program, for each state of the evidence."""
    lines = []
    for name in FILES:
        stored(name)
        with Client(create_app()) as client:
            for ptx in (F16, WGMMA):
                page = client.get(f"/i/{ptx}").text
                shown = re.findall(r'<span class="(badge [\w ]+)"[^>]*>([^<]*)</span>', page[: page.index("<section")])
                head = [line for line in kernel.title(plan(find(ptx))) if "hardware" in line]
                lines += [
                    name,
                    f" {ptx}",
                    badges(find(ptx)).rstrip("\n"),
                    *(f"  <{kind}> {text}" for kind, text in shown),
                    *(f"  // {line}" for line in head),
                ]
    held("evidence", "\n".join(lines) + "\n")


def test_a_run_that_differs_is_never_one_that_ran(stored: Any) -> None:
    """On any device, in any form, by any method: it is no evidence, and a program around it does not claim a run."""
    for name, ptx in (("differs", F16), ("differs", WGMMA), ("one form differs", F16), ("one form differs", WGMMA)):
        stored(name)
        i = find(ptx)
        (first, *_), runs = about.evidence(i), catalog.runs(i)
        assert [run.agrees for run in runs] == [False] and first.kind == "differs" and "DIFFERS" in first.text
        assert not any(e.kind == "ran" for e in about.evidence(i))
        assert any("differ" in line for line in kernel.title(plan(i)))
    stored("two devices, one differs")
    assert [e.kind for e in about.evidence(find(F16))][:2] == ["ran", "differs"]


# offers ---------------------------------------------------------------------------------------------------------------

WRONG = (
    "mma", "wmma", "wgmma", "wmma.load", "wgmma.sp", "wgmma.satfinite", "wgmma.both.foo", "mma.mma_async", "mma.sp",
    "ldmatrix", "mna.m16n8k16.row.col.f32.f16.f16.f32", "add.f32", "", "hello",
    "mma.m16n8k12.row.col.f32.f16.f16.f32", "mma.m16n16k16.row.col.f32.f16.f16.f32",
    "mma.m16n8k16.col.col.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k16.row.col.f32.f16.bf16.f32", "mma.m16n8k16.row.col.f16.bf16.bf16.f16",
    "mma.m16n8k8.row.col.f32.f32.f32.f32", "mma.m16n8k32.row.col.f32.e4m3.e3m2.f32",
    "mma.m16n8k32.row.col.s32.s8.s8.f32", "mma.m16n8k32.row.col.satfinite.f32.f16.f16.f32",
    "mma.m8n8k128.row.col.s32.b1.b1.s32", "mma.m8n8k4.row.col.f64.f64.f64",
    "mma.sync.m16n8k16.row.col.f32.f16.f16.f32.f32", "mma.sp.m16n8k16.row.col.f32.e4m3.e4m3.f32",
    "mma.sp.m16n8k32.row.col.f32.bf16.f16.f32", "mma.sp.m8n8k16.row.col.s32.s8.s8.s32",
    "mma.m16n8k64.row.col.kind::mxf4.f32.e2m1.e2m1.f32.ue8m0",
    "mma.m16n8k32.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
    "mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::8X.f32.e2m1.e2m1.f32.ue4m3",
    "mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.s8.f32",
    "wgmma.mma_async.m64n12k16.f32.f16.f16", "wgmma.mma_async.m64n264k16.f32.f16.f16",
    "wgmma.mma_async.m128n64k16.f32.f16.f16", "wgmma.mma_async.m64n64k32.f32.f16.f16",
    "wgmma.mma_async.m64n64k16.f32.f16.bf16", "wgmma.mma_async.m64n64k16.f16.bf16.bf16",
    "wgmma.mma_async.m64n24k32.s32.s8.s8.satfinite.relu", "wgmma.m64n64k16.f32.f16.f16",
    "wgmma.mma_async.m64n40k32.s32.s8.u8", "wgmma.mma_async.sp.m64n64k16.f32.f16.f16",
    "wgmma.mma_async.m64n8k256.s32.b1.b1.xor.popc",
    "wmma.mma.row.col.m16n16k32.f32.f32", "wmma.mma.m16n16k16.f32.f32", "wmma.mma.row.col.m16n16k16.f32.f64",
    "wmma.load.a.m16n16k16.f16", "wmma.load.b.row.m8n8k4.f16",
    "wmma.load.e.row.m16n16k16.f16", "wmma.store.c.row.m16n16k16.f32", "wmma.store.d.row.m16n16k16.s8",
    "wmma.mma.row.col.m8n8k32.s32.s4.u4.s32",
    "ldmatrix.m8n8.x3.shared.b16", "ldmatrix.m16n16.x4.trans.shared.b8", "ldmatrix.m8n8.x4.global.b16",
    "ldmatrix.m8n8.x4.shared.b8", "ldmatrix.m8n16.x2.trans.shared.b8x16.b6x16_p32",
    "stmatrix.m8n8.x4.shared.b32", "stmatrix.m16n8.x4.shared.b8", "movmatrix.m8n8.b16", "movmatrix.m16n8.trans.b16",
    "tcgen05.mma.cta_group::3.kind::f16",
    "mma." + "m16n8k16." * 40,
)  # fmt: skip


@cache
def refused(text: str) -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        find(text)
    return caught.value


def offers() -> Iterator[str]:
    for text in WRONG:
        error = refused(text)
        yield f"{text[:90]}\n  {error.code} {error.field}: {error.message}\n  {error.hint}\n"


def test_what_is_offered_in_place_of_a_wrong_instruction() -> None:
    """Which part is wrong, what is allowed there, and the nearest legal instructions, nearest first."""
    held("nearest", "".join(offers()))


@pytest.mark.parametrize(
    ("text", "opcodes", "missing"),
    [
        ("wmma.load", ("wmma.load.a", "wmma.load.b", "wmma.load.c"), "layouts, shape and types"),
    ],
)
def test_an_opcode_that_ends_early_is_offered_its_own_endings(
    text: str, opcodes: tuple[str, ...], missing: str
) -> None:
    """The opcodes that begin so, or have its first word; an instruction of each; and what else a text must say."""
    error = refused(text)
    assert f"(allowed: {', '.join(opcodes)}); {missing} are missing." in error.message
    assert tuple(find(ptx).family.opcode.text for ptx in error.nearest) == opcodes


@pytest.mark.parametrize("text", ["wgmma", "wgmma.sp"])
def test_a_short_opcode_is_understood(text: str) -> None:
    """As people say it; only what is missing is named, and what is offered is of that opcode."""
    error = refused(text)
    assert error.message == f"No instruction '{text}': shape and types are missing."
    assert {find(ptx).family.opcode.short for ptx in error.nearest} == {text}


def test_what_is_offered_is_legal() -> None:
    for text in WRONG:
        near = refused(text).nearest
        assert all(find(ptx).ptx == ptx for ptx in near), text
        assert all(ptx in refused(text).hint for ptx in near) or not near or "Allowed" in refused(text).hint


# sources --------------------------------------------------------------------------------------------------------------


def test_every_row_names_its_source() -> None:
    """Source, note, deprecation and why an operand has no map; rows that say the same stand together under
    the first.
    """
    seen: dict[str, list[str]] = {}
    for family in catalog.families():
        first = next(iter(family.instructions()))
        lines = [f"source {family.source}", *[f"note {family.note}"] * bool(family.note)]
        lines += [f"deprecated {family.deprecated}"] * bool(family.deprecated) + [f"measured {family.measured}"] * bool(
            family.measured
        )
        lines += [f"{name} {why}" for name, why in family.elsewhere.items()]
        lines += [f"operand {op.name} {op.source}" for op in first.operands.values() if op.source != family.source]
        seen.setdefault("".join(f"  {line}\n" for line in lines), []).append(first.ptx)
    held("sources", "".join("\n".join(names) + f"\n{text}" for text, names in seen.items()))
