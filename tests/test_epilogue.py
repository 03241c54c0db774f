"""D from tensor memory to where it goes: what threads hold, and the code executed on the host with its instructions
replaced by what they do.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from lanescope.blackwell import epilogue, idesc, tmem
from lanescope.blackwell.epilogue import ROWS, Epilogue
from lanescope.blackwell.tmem import TmemMma
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.render import epilogue as code
from lanescope.render.tmem import render_statement
from tests import cpp
from tests.cases import for_each
from tests.oracle import tensor as ptx
from tests.ptxas import nvrtc
from tests.sample import take_sample

CASES = (  # form, M, N, load, whether D has 16 bits
    ("cta_group::1", 128, 64, "tcgen05.ld.16x256b.x2", False),
    ("cta_group::1", 64, 32, "tcgen05.ld.16x256b.x4", False),
    ("cta_group::2", 128, 64, "tcgen05.ld.16x256b.x1", False),
    ("cta_group::1", 128, 32, "tcgen05.ld.16x128b.x4.pack::16b", True),
    ("ws", 32, 64, "tcgen05.ld.16x256b.x2", False),
    ("ws", 64, 64, "tcgen05.ld.16x256b.x4", False),
    ("cta_group::1", 128, 64, "tcgen05.ld.32x32b.x16", False),
    ("cta_group::1", 64, 64, "tcgen05.ld.32x32b.x8", False),
    ("cta_group::1", 128, 64, "tcgen05.ld.16x64b.x4", False),
    ("cta_group::1", 128, 64, "tcgen05.ld.16x64b.x4.pack::16b", True),
    ("cta_group::1", 128, 64, "tcgen05.ld.32x32b.x16.pack::16b", True),
    ("cta_group::1", 128, 64, "tcgen05.ld.32x32b.x8", True),
)


def _build_epilogue(case: tuple[str, int, int, str, bool]) -> Epilogue:
    form, m, n, load, halves = case
    return Epilogue(TmemMma(idesc.get_kind("f16"), form, False, m, n), tmem.parse_access(load), halves)


@for_each("case", CASES, ids=str)
def test_the_loads_bring_every_element_once(case: Any) -> None:
    made = _build_epilogue(case)
    held = [made.locate_elements(one) for one in made.loads]
    row, col = (np.concatenate([part[side].ravel() for part in held]) for side in (0, 1))
    kept = row >= 0
    number = row[kept].astype(int) * made.mma.n + col[kept]
    assert np.array_equal(np.sort(number), np.arange(made.mma.place.rows * made.mma.n))


def test_every_epilogue_is_what_the_figures_of_ptx_give() -> None:
    """Loads of every shape and count over D of every layout: PTX's registers of a lane and column, and D there."""
    compared = 0
    for m, form, sparse in (
        (256, "cta_group::2", False),
        (128, "cta_group::2", False),
        (128, "cta_group::2", True),
        (128, "cta_group::1", False),
        (64, "ws", False),
        (64, "cta_group::1", False),
        (32, "ws", False),
    ):
        mma, n = TmemMma(idesc.get_kind("f16"), form, sparse, m, 128), 128
        _, organization, _ = ptx.layout(m, form, sparse)
        row, col = np.arange(m // mma.ctas)[:, None], np.arange(n)[None]
        lane, column = np.broadcast_arrays(*ptx.of_d(organization, n, row, col))
        element = np.full((ptx.LANES, ptx.COLUMNS), -1)
        element[lane, column] = row * n + col
        for text in ptx.move_texts():
            _, verb, what, *_, shape, count = text.split(".")[:6]
            packed = ".pack::16b" in text
            if verb != "ld" or what == "red" or shape == "16x32bx2" or count not in ("x1", "x4", "x16"):
                continue
            found = tmem.parse_access(text)
            if column.max() + 1 < found.columns:
                continue
            made = Epilogue(mma, found, packed)
            thread, value = (
                np.arange(32)[:, None],
                np.arange(int(count[1:]) * ptx.REGISTERS[shape] * (1 + packed))[None],
            )
            at = (
                ptx.moved_packed(shape, thread, value // 2, value % 2, 0)
                if packed
                else ptx.moved(shape, thread, value, 0)
            )
            for one in made.loads:
                told = made.locate_elements(one)
                meant = element[at[0] + one.lane + 32 * one.warp, at[1] + one.column]
                assert np.array_equal(np.where(told[0] < 0, -1, told[0] * n + told[1]), meant), (m, form, text, one)
                compared += 1
    assert compared > 1000


def test_which_registers_stmatrix_takes() -> None:
    """A matrix's thread and pair are those of stmatrix's own fragment."""
    store = catalog.find("stmatrix.sync.aligned.m8n8.x4.shared.b16").operand("data")
    assert [bool(_build_epilogue(case).matrices) for case in CASES] == [True] * 6 + [False] * 6
    for case in CASES[:6]:
        made = _build_epilogue(case)
        row, col = made.locate_elements(made.loads[-1])
        for first in range(0, made.matrices, 4):
            for value in range(2 * min(4, made.matrices - first)):
                one = row[:, 2 * first + value] % 8, col[:, 2 * first + value] % 8
                assert np.array_equal(one, (store.coords["row"][:, value], store.coords["col"][:, value]))
        assert epilogue.choose_load(made.mma, made.halves).packed == made.halves
    assert str(epilogue.choose_load(_build_epilogue(CASES[6]).mma, False).ptx).endswith("16x256b.x4.b32")
    packed = ("cta_group::1", 128, 64, "tcgen05.ld.16x256b.x1.pack::16b", True)
    assert _build_epilogue(packed).matrices == 0, "a thread holds four neighbouring columns, not two"
    with pytest.raises(LayoutError, match="D has 32 bits"):
        _build_epilogue((*packed[:4], False))


def test_wavefronts() -> None:
    made = _build_epilogue(CASES[0])
    assert made.count_wavefronts(made.place_in_shared("128B")) == (32, 128, 128)
    assert made.count_wavefronts(made.place_in_shared(ROWS)) == (
        32,
        1024,
        128,
    )  # 128 bytes a row: all rows in the same banks
    assert made.count_sectors(16) == (4, 4, 8) and _build_epilogue(CASES[6]).count_sectors(32) == (16, 4, 32)


def _convert_to_host(text: str, made: Epilogue) -> str:
    """The code with each instruction as a call."""
    text = text.replace("\n  ", "\n")
    told = "\n".join(line for line in render_statement(made.access).splitlines())
    assert told in text
    text = text.replace(told, f"uint32_t r[{made.access.registers}]; load(r, taddr);")
    value = r'"f"\(__uint_as_float\((.+?)\)\)'
    text = re.sub(rf'asm\("cvt[^"]*" : "=r"\((\S+?)\) : {value}, {value}\);', r"\1 = \2 << 16 | \3;", text)
    text = re.sub(rf'asm\("cvt[^"]*" : "=h"\((\S+?)\) : {value}\);', r"\1 = \2;", text)
    text = re.sub(
        r'asm volatile\("stmatrix[^"]*"\s*:: "r"\(address\), (.+?) : "memory"\);',
        lambda m: f"uint32_t s[] = {{{_format_names(m[1])}}}; store(address, s, sizeof(s) / 4);",
        text,
    )
    return re.sub(
        r'asm volatile\("st\.global[^"]*" :: "l"\(to\), (.+?) : "memory"\);',
        lambda m: f"const auto s = std::to_array({{{_format_names(m[1])}}}); memcpy(to, &s, sizeof s);",
        text,
    )


def _format_names(given: str) -> str:
    return ", ".join(re.findall(r'"[rh]"\((.+?)\)(?:,|$)', given))


@pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
@for_each("case", take_sample(CASES, 4), ids=str)
def test_the_code_puts_every_element_where_it_belongs(case: Any) -> None:
    """Tensor memory holds each element's number; lanes run one after another, so a matrix's row is stored by whoever
    names it, and its values come from the lanes that hold them.
    """
    made = _build_epilogue(case)
    rows, n = made.mma.place.rows, made.mma.n
    number = made.d.coords["row"] * n + made.d.coords["col"]
    if "half" in made.d.axes:
        number = np.where(made.d.coords["half"] == 0, number, 0xFFFF)
    lane, column = made.access.pattern.evaluate()[:2]
    stored = made.place_in_shared("64B" if n < 64 else "128B") if made.matrices else None
    body = code.render_shared_store(made, stored, "bf16") if stored else code.render_global_store(made, 16, "bf16")
    cut = body.index("// tmem: D's address")
    values = lane.shape[1]
    packed = "r[v / 2] |= x << 16 * (v % 2)" if made.access.packed else "r[v] = x"
    source = (
        "#include <cstdint>\n#include <cstdio>\n#include <cstring>\n#include <array>\n#define __device__\n"
        f"static const int number[] = {{{', '.join(map(str, number.ravel()))}}};\n"
        f"static const int at_lane[] = {{{', '.join(map(str, lane.ravel()))}}};\n"
        f"static const int at_column[] = {{{', '.join(map(str, column.ravel()))}}};\n"
        f"static unsigned char out[{rows * n * 2}]; static struct {{ unsigned x; }} threadIdx;\n"
        "static void load(uint32_t* r, unsigned taddr) {\n  const unsigned lane = threadIdx.x % 32;\n"
        f"  for (unsigned v = 0; v < {made.access.registers}; ++v) r[v] = 0;\n"
        f"  for (unsigned v = 0; v < {values}; ++v) {{\n"
        f"    const unsigned l = (taddr >> 16) + at_lane[lane * {values} + v],"
        f" c = (taddr & 0xFFFF) + at_column[lane * {values} + v];\n"
        f"    const uint32_t x = number[l * {number.shape[1]} + c]; {packed};\n  }}\n}}\n"
        # of each matrix the row that lane l names is stored by every lane that holds a part of it: two passes
        "static unsigned named[64][32], turn, pass;\n"
        "static void store(unsigned address, const uint32_t* p, unsigned count) {\n"
        "  const unsigned lane = threadIdx.x % 32;\n  if (!pass) { named[turn++][lane] = address; return; }\n"
        "  for (unsigned m = 0; m < count; ++m)\n"
        "    memcpy(out + named[turn][8 * m + lane / 4] + lane % 4 * 4, &p[m], 4);\n  ++turn;\n}\n"
        f"{body[:cut]}\nint main() {{\n  const unsigned tmem = 0, shared = 0; char* const global = (char*)out;"
        f" const size_t pitch = {2 * n};\n"
        "  for (unsigned w = 0; w < 4; ++w) for (pass = 0; pass < 2; ++pass) for (unsigned l = 0; l < 32; ++l) {\n"
        f"  threadIdx.x = 32 * w + l; turn = 0;\n{_convert_to_host(body[cut:], made)}\n  }}\n"
        "  fwrite(out, 1, sizeof(out), stdout);\n}\n"
    )
    got = np.frombuffer(cpp.build_and_run(source), np.uint16)
    row, col = np.indices((rows, n))
    place = stored.address(row, col) // 2 if stored else row * n + col
    assert np.array_equal(got[place], row * n + col)


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_the_code_compiles() -> None:
    for case, element in (
        (CASES[0], "bf16"),
        (CASES[3], "f16"),
        (CASES[6], "f32"),
        (CASES[8], "bf16"),
        (CASES[11], "f16"),
    ):
        made = _build_epilogue(case)
        bits = 32 if element == "f32" else 16
        shared = code.render_shared_store(made, made.place_in_shared("128B"), element) if made.matrices else ""
        whole = code.render_global_store(made, bits, element)
        cut = shared.index("// tmem: D's address") if shared else 0
        text = (
            f'typedef unsigned uint32_t;\n{shared[:cut]}\nextern "C" __global__ void k(unsigned tmem, unsigned shared,'
            " char* global, size_t pitch) {\n"
            f"  {{ {shared[cut:]} }}\n  {{ {whole} }}\n}}\n"
        )
        ptx, log = nvrtc.compile_ptx(text, "sm_100a")
        assert not log and "tcgen05.ld" in ptx
