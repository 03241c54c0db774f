"""Whole texts for the workbench, right ones and ones with a planted mistake: golden/benches holds them with what must
come of them, per operand a sign a step, . right, x wrong, ? without a verdict.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lanescope.workbench import Workbench

GOLDEN = Path(__file__).parent / "golden" / "benches"
SIGNS = {"match": ".", "mismatch": "x", "unknown": "?"}


@dataclass(frozen=True)
class WorkbenchCase:
    title: str
    head: dict[str, str]
    text: str

    def __str__(self) -> str:
        return self.title


def load_cases() -> list[WorkbenchCase]:
    """Return the cases of all files; the text of one with `of: TITLE` is that case's with its changes."""
    out = []
    for path in sorted(GOLDEN.glob("*.txt")):
        cases: dict[str, WorkbenchCase] = {}
        for section in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
            before, _, text = section.partition("\n---\n")
            title, *lines = before.split("\n")
            head = {k: v.strip() for k, _, v in (line.partition(":") for line in lines)}
            if base := head.pop("of", ""):
                text = apply_changes(cases[base].text, text)
            assert title not in cases, title
            cases[title] = WorkbenchCase(title, head, text)
        out += cases.values()
    return out


def apply_changes(text: str, changes: str) -> str:
    """Apply changes, separated by blank lines: lines with `-` become those with `+`; others show where that is."""
    for change in changes.strip("\n").split("\n\n"):
        lines = change.split("\n")
        old, new = ("".join(f"{line[1:]}\n" for line in lines if line[0] in signs) for signs in (" -", " +"))
        assert f"\n{text}".count(f"\n{old}") == 1, change
        text = f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:]
    return text


CASES = load_cases()


def format_verdicts(made: Workbench, name: str) -> str:
    return "".join(SIGNS[step.verdict] for one in made.operands if one.name == name for step in one.steps)


BOTH = """uint32_t box[2] = {64, 64};
cuTensorMapEncodeTiled(&map_a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, A, dims, strides, box, ones,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
cuTensorMapEncodeTiled(&map_b, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, B, dims, strides, box, ones,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
__device__ uint64_t make(uint32_t p) {
  return (uint64_t)((p & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62;
}
for (int k = 0; k < 4; ++k) {
  uint64_t da = make(sA + k * 32), db = make(sB + k * 32);
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %31}, %32, %33, 1, 1, 1, 0, 0;"
      : "+f"(d[0]) : "l"(da), "l"(db));
}
"""


def replace_all(*pairs: tuple[str, str], text: str = BOTH) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


MAPS = "".join(
    f"cuuint32_t box_{n}[2] = {{64, {rows}}}; cuTensorMapEncodeTiled(&map_{n}, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, g,"
    f" dims, strides, box_{n}, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,"
    " CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);\n"
    for n, rows in (("A", 64), ("B", 128))
)
