"""SASS of tcgen05: lines assembled here, with collectors that the stored table does not have, are read back."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from lanescope import reader
from lanescope.ptx import catalog
from lanescope.reader.instructions.tensor_sass import MmaOperands, parse_mma_operands
from lanescope.reader.meaning import TextMeaning
from tests.ptxas import assembler, candidates_tcgen05
from tests.ptxas.assembler import Line
from tests.ptxas.sass import find_nvdisasm
from tests.ptxas.sweep import NEWEST
from tests.sample import FULL

TOOLS = pytest.mark.skipif(assembler.find_ptxas() is None or find_nvdisasm() is None, reason="no ptxas or no nvdisasm")
KERNEL = re.compile(r"^\.text\.k(\d+):", re.M)
F16 = "tcgen05.mma.cta_group::1.kind::f16"


def read_sass(text: str) -> TextMeaning:
    (found,) = (one for one in reader.recognise_text(text).found if "sass" in one.facts or one.kind == "topic")
    return found


def disassemble(lines: list[Line], target: str, folder: Path) -> list[str]:
    """The listing of a kernel with each line, as nvdisasm prints it, under the line that names the target."""
    cubin = folder / "out.cubin"
    assembler.assemble([(f"k{n}", line) for n, line in enumerate(lines)], target, NEWEST, cubin)
    told = subprocess.run([str(find_nvdisasm()), "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    pieces = KERNEL.split(told)
    bodies = dict(zip(map(int, pieces[1::2]), pieces[2::2], strict=True))
    return [f"\t.target\t{target}\n{bodies[n]}" for n in range(len(lines))]


def choose_lines(every: Iterable[Line], target: str, count: int) -> list[Line]:
    """Lines of the catalogue at random, of those that the target takes."""
    known = {i.ptx for i in catalog.instructions()}
    lines = random.Random(target).sample([line for line in every if line.ptx in known], 5 * count)
    return [lines[n] for n in sorted(assembler.find_accepted(lines, target, NEWEST))][:count]


def simplify(ptx: str) -> str:
    """Without what a text means where it is left out, and with one spelling of the block size."""
    return (
        ptx.replace(".collector::a::discard", "")
        .replace(".collector::b::discard", "")
        .replace(".collector::b0::discard", "")
    )


@TOOLS
@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_107a"] if FULL else ["sm_107a"])
def test_a_listing_of_a_product_names_the_product(target: str, tmp_path: Path) -> None:
    """Twelve products at random, collectors included, each pasted as a whole listing with its target."""
    taken = choose_lines(candidates_tcgen05.generate_tcgen05_mma(), target, 12)
    assert any("collector" in line.ptx for line in taken) and len(taken) > 6
    for line, listing in zip(taken, disassemble(taken, target, tmp_path), strict=True):
        told = read_sass(listing)
        assert simplify(line.ptx) in told.facts["candidates"], (line.ptx, told.facts["candidates"])
        assert "instruction descriptor, idesc[UR" in " ".join(told.notices)
        inside = "A is in tensor memory" in " ".join(told.notices)
        assert inside == ("[r598]" in line.operands), line


def test_operands_say_where_a_lies_and_what_is_kept() -> None:
    text = " gdesc[UR8].A_REUSE.A_KEEP, gdesc[UR10].B_KEEP, tmem[UR6], tmem[UR4], idesc[UR5], UP0 "
    assert parse_mma_operands(text) == MmaOperands("gdesc", "use", "fill", 0, scaled=False, idesc="UR5")
    ws = " tmem[UR7], gdesc[UR8].B_REUSE.BUFFER2, tmem[UR6], tmem[UR4], idesc[UR5], UP0 "
    assert (parse_mma_operands(ws) or pytest.fail()).collector_of_ws == ".collector::b2::lastuse"
    assert parse_mma_operands(" R24, R4, R8, R24 ") is None and parse_mma_operands(" gdesc[UR8], gde") is None


def test_scale_factors_tell_one_opcode_from_another() -> None:
    """UTCQMMA is kind::f8f6f4, and kind::mxf8f6f4 where a column of factors follows the descriptor."""
    plain = "UTCQMMA gdesc[UR8], gdesc[UR10], tmem[UR6], tmem[UR4], idesc[UR5], UP0 ;"
    kinds = [
        {ptx.partition("kind::")[2].partition(".")[0] for ptx in read_sass(text).facts["candidates"]}
        for text in (plain, plain.replace("idesc[UR5]", "idesc[UR5], tmem[UR12]"), "UTCQMMA")
    ]
    assert kinds == [{"f8f6f4"}, {"mxf8f6f4"}, {"f8f6f4", "mxf8f6f4"}]


def test_the_target_of_a_listing_leaves_out_what_it_lacks() -> None:
    line = "UTCHMMA gdesc[UR8], gdesc[UR10], tmem[UR6], tmem[UR4], idesc[UR5], UP0 ;"
    older, rubin = (read_sass(f".target {target}\n{line}") for target in ("sm_100a", "sm_107a"))
    assert F16 in older.facts["candidates"] and F16 in rubin.facts["candidates"]
    assert "kind::ti16" not in " ".join(older.notices) and "kind::ti16" in " ".join(rubin.notices)


def test_a_form_without_a_map_is_named_with_its_release() -> None:
    told = read_sass("LDTM.SPARSIFY.U2.2TO4.x8.MAX.F32 R4, R8, tmem[UR4] ;")
    assert told.kind == "topic" and "new in PTX 9.4 (CUDA 13.4)" in " ".join(told.notices)
    wrong = reader.recognise_text("LDTM.16dp512bit.x2 R4, tmem[UR4]")
    assert wrong.refused[0].code == "unknown_sass"
