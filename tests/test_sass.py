"""SASS: the stored table against ptxas and nvdisasm, and every mnemonic read back as disassemblers and profilers print
it.
"""

from __future__ import annotations

import random
import re

import pytest

from lanescope import reader
from lanescope.ptx import catalog
from lanescope.reader.instructions import sass
from lanescope.reader.instructions.tensor_sass import describe_sass
from tests.cases import for_each
from tests.ptxas import assembler, candidates_tcgen05, sass as disassembly
from tests.sample import FULL, choose_count, is_chosen

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
PRINTED = (  # as cuobjdump -sass, nvdisasm, Nsight Compute and a debugger print a line
    "{0}",
    "        /*0a50*/                   {0} R24, R4, R8, R24 ;                 /* 0x000000080404723c */",
    "        /*00c0*/              @!P0 {0} R4, R12.reuse, R16, R4 ;",
    "  7  00007f21 5c5b3d50      {0} R4, R8, R12, R4 \n",
    "0x00007f21a0d1e5a0 <+1440>:\t{0} R24, R4, R8, R24 &req={{0,2}} ?WAIT4_END_GROUP;",
    "[B------:R-:W-:-:S02] {0} R24, R4, R8, R24 ;",
)


def list_candidates(text: str) -> list[str]:
    (found,) = reader.recognise_text(text).found
    return list(found.facts["candidates"])


@pytest.mark.thorough
@pytest.mark.skipif(
    assembler.find_ptxas() is None or disassembly.find_nvdisasm() is None, reason="no ptxas or no nvdisasm"
)
@for_each("target", ["sm_75", "sm_90a", "sm_120a"] if FULL else ["sm_90a"])
def test_a_sample_disassembles_to_what_is_stored(target: str) -> None:
    stored = catalog.load_sass()
    taken = [
        line
        for line in disassembly.list_forms({i.ptx for i in catalog.instructions()})
        if target in catalog._load_targets()[1][disassembly.find_variant(line.ptx)].targets and ".mma" in line.ptx
    ]
    sample = random.Random(5).sample(taken, choose_count(8, 4))
    good = [sample[n] for n in sorted(assembler.find_accepted(sample, target, disassembly.NEWEST))]
    assert good
    for line, names in zip(good, disassembly.disassemble_lines(good, target), strict=True):
        forms = [form.runs for form in stored.get(line.ptx, ()) if target in form.targets]
        assert disassembly.count_runs(names) in forms or (not names and not forms), line.ptx


def test_every_variant_is_found_by_what_it_becomes() -> None:
    """As a lone line in each printed form, and with the target that the disassembly names."""
    seen = 0
    named = {ptx: forms for ptx, forms in catalog.load_sass().items() if is_chosen(ptx, 8)}
    for number, (ptx, forms) in enumerate(named.items()):
        for form in forms:
            if form.total == 1 and not ptx.startswith("wmma."):
                printed = PRINTED[number % len(PRINTED)].format(form.runs[0][0])
                assert ptx in list_candidates(printed), (ptx, printed)
                assert ptx in list_candidates(f"\t.target\t{form.targets[0]}\n{printed}"), ptx
                seen += 1
    assert seen > 120


def test_all_printed_forms_mean_the_same() -> None:
    for form in PRINTED:
        assert list_candidates(form.format("HMMA.16816.F32")) == [M16], form


def test_the_pieces_of_a_wmma_are_found_as_such() -> None:
    two = "HMMA.16816.F32 R4, R8, R10, R4 ;\nHMMA.16816.F32 R16, R8, R12, R16 ;"
    assert list_candidates(two)[0] == M16 and "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32" in list_candidates(two)
    one = reader.recognise_text("HMMA.16816.F32 R4, R8, R10, R4 ;").found[0].facts
    assert one["candidates"] == [M16] and one["several"]["wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"] == 2
    assert not any(ptx.startswith("wmma") for ptx in list_candidates("HMMA.16816.F32 R4, R8, R10, R4 ;\n" * 9))


def test_the_target_leaves_out_what_it_does_not_make() -> None:
    """fp8 is HMMA on sm_90 and QMMA on sm_89; a wmma of sm_75 is four HMMA.1688."""
    fp8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
    facts = {t: reader.recognise_text(f"code for {t}\nHMMA.16816.F32 R4").found[0].facts for t in ("sm_80", "sm_90")}
    assert fp8 not in facts["sm_80"]["several"] and facts["sm_90"]["several"][fp8] == 2


@for_each(
    ("text", "majors"),
    [
        ("HGMMA.64x8x16.F32 R24, gdesc[UR4].tnspA.tnspB, R24 ;", {"a": "MN", "b": "MN"}),
        ("HGMMA.64x8x16.F32 R24, gdesc[UR4].tnspB, R24, gsb0 ;", {"a": "K", "b": "MN"}),
        ("HGMMA.64x8x16.F32 R24, R28, gdesc[UR4].tnspB, R24 ;", {"b": "MN"}),
        ("HGMMA.64x8x16.F32 R24, gdesc[UR4], R24 ;", {"a": "K", "b": "K"}),
    ],
)
def test_transposed_operands_of_a_warpgroup_instruction(text: str, majors: dict[str, str]) -> None:
    assert reader.recognise_text(text).found[0].facts["majors"] == majors


@for_each(
    "text",
    [
        "QGMMA.64x64x32.F32.E4M3.E4M3 R24, gdesc[UR4].tnspB, R24 ;",
        "IGMMA.64x64x32.S8.S8 R24, gdesc[UR4].tnspA, R24 ;",
        "HGMMA.64x64x8.F32.TF32 R24, R28, gdesc[UR4].tnspB, R24 ;",
    ],
)
def test_only_16_bit_operands_are_transposed(text: str) -> None:
    """PTX ISA 9.1, 9.7.15.5.2: imm-trans-a and imm-trans-b belong to .f16 and .bf16."""
    read = reader.recognise_text(text)
    assert not read.found and read.refused[0].code == "bad_major"
    assert reader.recognise_text(re.sub(r"\.tnsp[AB]", "", text)).found


def test_what_is_left_out_leaves_candidates_and_what_is_strange_is_told() -> None:
    assert (
        len(list_candidates("HMMA")) > 8 and M16 in list_candidates("HMMA") and M16 in list_candidates("HMMA.F32.16816")
    )
    (found,) = reader.recognise_text("HMMA.16816.F32.FROZEN R4").found
    assert found.facts["candidates"] == [M16] and any("FROZEN" in notice for notice in found.notices)
    for wrong in ("HMMA.99999.F32", "HGMMA.64x12x16.F32", "LDSM.16.M99"):
        told = reader.recognise_text(wrong)
        assert not told.found and told.refused[0].code == "unknown_sass", wrong


@for_each("text", ["FFMA R4, R8, R10, R4 ;", "LDG.E.128 R4, [R2.64]", "STS.128 [R2], R4", "XHMMA.16816"])
def test_other_sass_is_none_of_these(text: str) -> None:
    assert sass.recognise_sass(text) == ()


KINDS = {  # a text of tcgen05.mma and what its SASS says beside the kind
    "tcgen05.mma.cta_group::2.kind::tf32": {"cta_group::2"},
    "tcgen05.mma.ws.cta_group::1.kind::f8f6f4": {".ws"},
    "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X": {"4X"},
}


@pytest.mark.thorough
@pytest.mark.skipif(
    assembler.find_ptxas() is None or disassembly.find_nvdisasm() is None, reason="no ptxas or no nvdisasm"
)
def test_the_sass_of_tcgen05_mma_names_its_kind() -> None:
    first = {line.ptx: line for line in reversed(list(candidates_tcgen05.generate_tcgen05_mma()))}
    for target in ("sm_100a", "sm_107a")[0 if FULL else 1 :]:
        names = disassembly.disassemble_lines([first[ptx] for ptx in KINDS], target)
        for (ptx, words), (name,) in zip(KINDS.items(), names, strict=True):
            told = describe_sass(name)
            assert f"kind::{ptx.partition('kind::')[2].partition('.')[0]}" in told
            assert {word for word in ("cta_group::2", ".ws", "4X") if word in told} == words, ptx
