"""Disassemblies: the uniform registers that gdesc names hold the descriptors of the PTX that was assembled."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lanescope.reader.code.evaluation import evaluate_text
from tests.cases import for_each
from tests.checked import check_text
from tests.found_in_code import find_builders
from tests.ptxas import assembler, nvrtc
from tests.test_ptx_module import WGMMA, list_fields

UPPER = "0x40000040"
GMMA = "HGMMA.64x8x16.F32.BF16 R24, gdesc[UR8].tnspB, R24 ;"


def write_listing(*lines: str) -> str:
    """Return lines as cuobjdump -sass prints them, 16 bytes apart."""
    spelled = (
        line if line.startswith(".L") else f"        /*{16 * n:04x}*/                   {line}"
        for n, line in enumerate(lines)
    )
    return "\t\tFunction : gemm\n" + "\n".join(spelled) + "\n"


def read_words(*lines: str) -> list[str]:
    evaluation = evaluate_text(write_listing(*lines))
    assert evaluation is not None and evaluation.asm_runs
    values = [value for _, value, _ in evaluation.asm_runs[-1].inputs if value is not None]
    return [f"{v.known:#x}" if v.known is not None else str(v) for v in values]


def test_arithmetic_of_uniform_registers_is_followed() -> None:
    words = read_words(
        "UMOV UR4, 0x2000 ;",
        "UIADD3 UR5, UR4, 0x60, URZ ;",
        "ULOP3.LUT UR5, UR5, 0x3ffe0, URZ, 0xc0, !UPT ;",
        "USHF.R.U32.HI UR5, URZ, 0x4, UR5 ;",
        "ULOP3.LUT UR8, UR5, 0x10000, URZ, 0xfc, !UPT ;",
        f"UMOV UR9, {UPPER} ;",
        "UMOV UR10, UR8 ;",
        f"UMOV UR11, {UPPER} ;",
        GMMA,
    )
    assert words == ["0x4000004000010206"] * 2


def test_of_a_product_with_registers_the_descriptor_is_in_the_upper_pair() -> None:
    evaluation = evaluate_text(
        write_listing("UMOV UR10, 0x10002 ;", f"UMOV UR11, {UPPER} ;", GMMA.replace("gdesc[UR8]", "R64, gdesc[UR8]"))
    )
    assert evaluation is not None
    ((_, value, _),) = evaluation.asm_runs[0].inputs
    assert value is not None and value.known == 0x4000004000010002
    assert [one.name for one in evaluation.descriptors] == ["UR10"]


@for_each(
    "line",
    [
        "@UP0 UMOV UR8, 0x3 ;",
        "@!P1 UIADD3 UR8, UR8, 0x2, URZ ;",
        "R2UR UR8, R3 ;",
        "ULDC.64 UR8, c[0x0][0x210] ;",
        "R2UR.FILL UR7, R3 ;",  # may write more than it names
        "ELECT P0, UR8, PT ;",
        "UIADD3 UR8, UP0, UR8, 0x2, URZ ;",
        "UIMAD.WIDE UR8, UR4, 0x3, UR6 ;",
    ],
)
def test_what_is_not_evaluated_leaves_its_registers_open(line: str) -> None:
    known = read_words("UMOV UR8, 0x10002 ;", f"UMOV UR9, {UPPER} ;", GMMA)[0]
    assert known == "0x4000004000010002"
    assert read_words("UMOV UR8, 0x10002 ;", f"UMOV UR9, {UPPER} ;", line, GMMA)[0] != known


@for_each("reached", [".L_x_1:", "@P0 BRA 0x20 ;"])
def test_nothing_is_known_where_a_branch_arrives(reached: str) -> None:
    lines = ["UMOV UR8, 0x10002 ;", f"UMOV UR9, {UPPER} ;", GMMA]
    arrived = [*lines[:2], reached, GMMA] if reached.startswith(".L") else [*lines, reached]
    assert "UR8" in read_words(*arrived)[0]


@pytest.mark.skipif(nvrtc.find_library() is None or assembler.find_ptxas() is None, reason="no compiler")
def test_a_disassembled_kernel_has_the_descriptors_of_its_source(tmp_path: Path) -> None:
    ptxas = assembler.find_ptxas()
    assert ptxas is not None
    disassembler = Path(str(ptxas)).with_name("nvdisasm")
    if not disassembler.exists():
        pytest.skip("no nvdisasm")
    text, log = nvrtc.compile_ptx(WGMMA, "sm_90a", optimized=True)
    assert text, log
    source, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(text)
    subprocess.run([str(ptxas), "-arch", "sm_90a", str(source), "-o", str(cubin)], check=True)
    listing = subprocess.run([str(disassembler), "-c", str(cubin)], check=True, capture_output=True, text=True).stdout
    at = 1024  # where ptxas has the first byte of a block's own shared memory
    right = {(f"smem + {at + 32 * k}", 16, 1024, "128B", "wgmma") for k in range(4)}
    right |= {(f"smem + {at + 8192 + 2048 * k}", 4096, 512, "64B", "wgmma") for k in range(4)}
    assert list_fields(find_builders(listing)) == right
    assert check_text(listing).multiplier == "wgmma"
