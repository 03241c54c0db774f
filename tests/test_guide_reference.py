"""The parts of guide pages that come from tables: complete, computed, and refused by name where there is none."""

from __future__ import annotations

import re

import pytest

from lanescope import find
from lanescope.app.guide import index as guide_index, reference as guide_reference
from lanescope.ptx import overview, wmma
from lanescope.ptx.differences import list_document_slips as differences
from tests.ptxas import assembler


def parse_cells(text: str) -> list[list[str]]:
    """The cells of a Markdown table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()[2:]]


def test_the_page_of_shapes_has_the_whole_overview() -> None:
    text = guide_index.read_source("shapes")
    assert {match[1] for match in re.finditer(r"^@part overview (.+)$", text, re.M)} == set(overview.SECTIONS)
    for section in overview.SECTIONS:
        lines = parse_cells(guide_reference.render_part("overview", section))
        rows = [row for row in overview.list_overview_rows() if row.section == section]
        assert len(lines) == len(rows)
        for line, row in zip(lines, rows, strict=True):
            assert line[0] == row.multiplicands and line[-2] == row.ptx_version and line[-1].startswith(row.target_text)
            linked = [find(address) for address in re.findall(r"\(/i/([^)]*)\)", " ".join(line))]
            assert linked and all(i in row.found for i in linked)


def test_the_table_of_ldm_is_the_rules() -> None:
    lines = parse_cells(guide_reference.render_part("memory", ""))
    for f in wmma.list_fragments():
        (line,) = (
            line
            for line in lines
            if f"`{f.element_cpp}`" in line[0]
            and line[2] == f"{wmma.count_fragment_bytes(f.operand)} B"
            and ("C and D" in line[1]) == (f.use == "accumulator")
        )
        cpp, asked = wmma.get_requirements(f.operand)
        assert f.instruction.shape in line[1] and line[3:5] == [str(cpp.ldm_elements), str(asked.ldm_elements)]
        assert int(line[5].split()[0]) == wmma.combine_requirements(f.operand).ldm_elements
    half = next(line for line in lines if line[0] == "`__half`" and "A and B" in line[1])
    assert half[3:] == ["8", "16", "16 (PTX)"] and lines[0][5].endswith("(PTX)")


def test_x_of_a_lane() -> None:
    text = guide_reference.render_part("elements", "wmma.load.a.row.m16n16k16.f16 0 13")
    lines = parse_cells(text.split("\n\n")[1])
    op = find("wmma.load.a.row.m16n16k16.f16").operand("a")
    assert [line[2] for line in lines] == [
        f"({int(r)}, {int(c)})" for r, c in zip(op.rows[13], op.cols[13], strict=True)
    ]
    packed = parse_cells(guide_reference.render_part("elements", "wmma.load.a.row.m8n8k32.s4 5").split("\n\n")[1])
    assert packed == [["x[0]", "(1, 8) … (1, 15)"]]


def test_every_difference_stands_on_its_page_with_its_proofs() -> None:
    text = guide_reference.render_part("differences", "")
    for row in differences():
        part = text.split(f"{{#{row.key}}}")[1].split("\n## ")[0]
        assert row.says in part and row.really in part
        assert ("ran on H100 and H200" in part) == bool(row.ran) and (" refuses `" in part) == bool(row.refused)
        assert row.test in part and row.message in part and all(f"`{name}`" in part for name in row.refused)


def test_generations_are_the_catalogue() -> None:
    lines = {line[0]: line[1:] for line in parse_cells(guide_reference.render_part("generations", ""))}
    assert (
        lines["sparse A"] == ["no", "yes", "yes"]
        and lines["block scale"] == ["no", "yes", "no"]
        and lines["targets"][2] == "sm_90a"
    )
    assert lines["fragment layout"] == ["left to the architecture", "specified", "specified"]


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
def test_ptx_in_the_page_on_reading_assembles() -> None:
    blocks = re.findall(r"^```ptx\n((?:.*\n)*?)```$", guide_index.read_source("read-ptx"), re.M)
    declared = ".reg .pred p, q; .reg .b32 v, hi, lo, lane, tile, k, depth, sum, step; .reg .f32 f; .reg .b16 h;"
    source = f".version 9.0\n.target sm_90\n.address_size 64\n.entry k() {{ {declared}\n{''.join(blocks)}\nret; }}"
    code, said = assembler._run_ptxas(source, "sm_90")
    assert len(blocks) == 4 and code == 0, said
