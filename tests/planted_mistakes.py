"""Mistakes of one number, planted in right kernels of our own: how many does check find at the line that has it?

The kernels are those of tests/kernels and examples; tests/check_corpus.py prints the table. Each row is a mistake that
makes the product wrong: the amount that belongs there follows from the tile that the kernel stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lanescope.workbench.check import check_text
from tests import test_check_tcgen05

HERE = Path(__file__).parent
INCLUDED = {"accumulators.h": HERE / "kernels", "hopper.cuh": HERE.parent / "examples"}


@dataclass(frozen=True)
class PlantedMistake:
    """One number of a kernel: what it is, what stands there and what is written instead."""

    kernel: str
    what: str
    old: str
    new: str


@dataclass(frozen=True)
class PlantedResult:
    """What check says. named: whether a finding stands at the mistake's line; elsewhere: whether others do."""

    mistake: PlantedMistake
    named: bool
    elsewhere: bool
    codes: tuple[str, ...]
    fixed: bool  # whether an edit of a finding puts the right number back


MISTAKES = tuple(
    PlantedMistake(*row)
    for row in (
        ("ring_of_stages", "mask of the address, four bits short", "& 0x3FFFF) >> 4", "& 0x3FFF) >> 4"),
        ("ring_of_stages", "shift of the address", "& 0x3FFFF) >> 4", "& 0x3FFFF) >> 3"),
        ("one_stage", "shift in a helper of all fields", "(x & 0x3FFFF) >> 4", "(x & 0x3FFFF) >> 5"),
        ("words_in_ptx", "shift of the address in PTX", "shr.u32 lo, lo, 4", "shr.u32 lo, lo, 3"),
        ("two_consumers", "SBO", "uint64_t(1024 >> 4) << 32", "uint64_t(512 >> 4) << 32"),
        ("one_stage", "bit of SBO", "(uint64_t)1024) << 32", "(uint64_t)1024) << 30"),
        ("ring_of_stages", "shift of SBO", "(1024 >> 4) << 32", "(1024 >> 3) << 32"),
        ("tf32_short_rows", "rows of SBO", "8 * kSwizzleBytes / 16", "4 * kSwizzleBytes / 16"),
        ("mn_major_b", "LBO of an MN-major tile", "lbo = TILE_K * PANEL", "lbo = 16 * PANEL"),
        ("mn_major_b", "SBO of an MN-major tile", "sbo = 8 * PANEL", "sbo = 4 * PANEL"),
        ("wgmma_core_matrices", "LBO of core matrices", "N / 8 * CORE, CORE, 0)", "N / 4 * CORE, CORE, 0)"),
        ("wgmma_core_matrices", "SBO of core matrices", "N / 8 * CORE, CORE, 0)", "N / 8 * CORE, 64, 0)"),
        ("one_stage", "swizzle mode", "1llu << 62", "3llu << 62"),
        ("tile_types", "bit of the swizzle mode", "(1llu << 62)", "(1llu << 61)"),
        ("narrow_swizzle", "swizzle mode in an enum", "B64 = 2", "B64 = 3"),
        (
            "gmma_descriptor",
            "start in a bit field",
            "cast_smem_ptr_to_uint(tile) >> 4",
            "cast_smem_ptr_to_uint(tile) >> 2",
        ),
        ("two_consumers", "start of B, inside A", "shared + BM * BK;", "shared + 64 * BK;"),
        ("ring_of_stages", "distance of B's stages", "&s.B[stage * BN * BK", "&s.B[stage * 64 * BK"),
        ("two_consumers", "K step of a word", "b += 2)", "b += 4)"),
        ("wide_depth", "K step of an address", "k % 64 * 2", "k % 64 * 4"),
        ("mn_major_b", "K step of an MN-major tile", "k * 16 * PANEL", "k * 8 * PANEL"),
        ("attention", "transpose immediate", "%36, 1, 1, 1, 1;", "%36, 1, 1, 1, 0;"),
        ("mn_major_b", "transpose in a template argument", "wgmma<1>(d", "wgmma<0>(d"),
        ("tcgen05", "swizzle mode of tcgen05", "2ull << 61", "4ull << 61"),
        ("tcgen05", "version, bits 46 to 48", "1ull << 46", "1ull << 47"),
        ("tcgen05", "N >> 3 of the instruction descriptor", "(64u >> 3) << 17", "(64u >> 4) << 17"),
        ("one_stage", "bytes that the barrier expects", "1, sizeof(sA) + sizeof(sB)", "1, 8192"),
        ("two_consumers", "end of the K loop", "k < BK / 16", "k < BK / 32"),
        (
            "ldmatrix_padded",
            ".trans of ldmatrix",
            'm8n8.x2.shared.b16 {%0, %1}, [%2];"',
            'm8n8.x2.trans.shared.b16 {%0, %1}, [%2];"',
        ),
        ("ldmatrix_padded", "pitch", "? K * 2 : PITCH)", "? K * 2 : 128)"),
        ("ring_of_stages", "distance of B's stages in the copy", "&s.B[stage * BN * BK],", "&s.B[stage * BM * BK],"),
        ("ring_of_stages", "rows of B's box", "encode, b, N, K, BN)", "encode, b, N, K, BM)"),
        ("ring_of_stages", "tensor map of a copy", "BK], &map_b", "BK], &map_a"),
        ("ring_of_stages", "swizzle of the tensor map", "TENSOR_MAP_SWIZZLE_128B", "TENSOR_MAP_SWIZZLE_64B"),
        ("ring_of_stages", "K step of B left out", "BN * BK + k * 16]", "BN * BK]"),
        ("ring_of_stages", "last slice of the K loop", "k < BK / 16", "k < BK / 16 - 1"),
        ("tcgen05", "version left out", "  d |= 1ull << 46;\n", ""),
        ("tcgen05", "swizzle code of wgmma", "2ull << 61", "1ull << 61"),
        ("tcgen05", "unit of M", "(128u >> 4) << 24", "(128u >> 3) << 24"),
        (
            "ldmatrix_padded",
            "order of A's registers",
            '"r"(a[0]), "r"(a[1]), "r"(a[2])',
            '"r"(a[0]), "r"(a[2]), "r"(a[1])',
        ),
        ("ldmatrix_padded", "K step of ldmatrix", "K_STEP_IN_ELEMENTS ? 1 : 2)", "K_STEP_IN_ELEMENTS ? 1 : 1)"),
        ("ldmatrix_padded", "rows of B's lanes", "A_BYTES + place(lane % 8,", "A_BYTES + place(lane % 4,"),
    )
)


@cache
def read_kernel(name: str) -> str:
    """Return a kernel's text with our own headers put in."""
    if name == "tcgen05":
        return test_check_tcgen05.RIGHT
    path = next(p for p in (HERE / "kernels" / f"{name}.cu", HERE.parent / "examples" / f"{name}.cu") if p.exists())
    text = path.read_text("utf-8")
    for header, folder in INCLUDED.items():
        text = text.replace(f'#include "{header}"\n', (folder / header).read_text("utf-8"))
    return text


def plant_mistake(mistake: PlantedMistake) -> PlantedResult:
    """Plant one mistake and check the kernel."""
    right = read_kernel(mistake.kernel)
    at = right.rindex(mistake.old) if mistake.kernel == "ldmatrix_padded" else right.index(mistake.old)
    text = right[:at] + mistake.new + right[at + len(mistake.old) :]
    line = text.count("\n", 0, at)
    findings = check_text(text).findings
    lines = [text.count("\n", 0, finding.span[0]) for finding in findings]
    fixed = any(text.count("\n", 0, edit.span[0]) == line for finding in findings for edit in finding.edits)
    named = line in lines
    return PlantedResult(mistake, named, bool(findings) and not named, tuple(f.code for f in findings), fixed)


def plant_all() -> list[PlantedResult]:
    return [plant_mistake(mistake) for mistake in MISTAKES]


def list_lines(results: Sequence[PlantedResult]) -> Iterator[str]:
    """List the table of what was found."""
    named, elsewhere = sum(one.named for one in results), sum(one.elsewhere for one in results)
    fixed = sum(one.fixed for one in results)
    yield (
        f"{named} of {len(results)} mistakes are found at their line, {elsewhere} elsewhere, and"
        f" {len(results) - named - elsewhere} not; {fixed} come with the repair."
    )
    yield ""
    yield "| Mistake | Written | Right | Found |"
    yield "|---|---|---|---|"
    for one in results:
        said = "at its line" if one.named else f"elsewhere: {', '.join(one.codes)}" if one.elsewhere else "no"
        written, right = (format_cell(text) for text in (one.mistake.new, one.mistake.old))
        yield f"| {one.mistake.what} | {written} | {right} | {said} |"


def format_cell(code: str) -> str:
    """Return code as a cell of a Markdown table."""
    return "`{}`".format(code.strip().replace("|", r"\|")) if code else "(nothing)"


def find_codes(text: str) -> set[str]:
    """Return the codes of the findings in a text."""
    return {finding.code for finding in check_text(text).findings}
