"""What is unusual in the code of a descriptor: a doubt, which a verified read clears."""

from lanescope.workbench.check import check_text
from tests.cases import for_each

BUILDER = """__device__ uint64_t describe(uint64_t address) {
  return ((address & 0x3FFFF) >> 4) | (uint64_t(16 >> 4) << 16) | (uint64_t(1024 >> 4) << 32) | (1ull << 62);
}
"""
MASKED = "((address & 0x3FFFF) >> 4)"


@for_each(
    ("old", "new", "code", "line"),
    [
        (MASKED, "((address & 0x3FFF) >> 4)", "mask_cuts_address", 2),  # 14 bits of the address are left
        (MASKED, "((address >> 4) & 0x3FFFF)", "mask_too_wide", 2),  # the field has 14
        ("16 >> 4) << 16) | (uint64_t(1024", "1024 >> 4) << 16) | (uint64_t(16", "strides_unusual", 2),
        ("1024 >> 4", "512 >> 4", "sbo_unusual", 2),  # eight rows of 64 bytes
        ("16 >> 4", "2048 >> 4", "lbo_unusual", 2),  # no K-major operand reads it under this swizzle
        ("| (1ull << 62)", "", "core_matrices_overlap", 2),  # LBO 16 is less than 128 bytes
    ],
)
def test_a_doubtful_field_stands_at_its_line(old: str, new: str, code: str, line: int) -> None:
    assert BUILDER.count(old) == 1
    (doubt,) = check_text(BUILDER.replace(old, new)).doubts
    assert (doubt.code, BUILDER.count("\n", 0, doubt.span[0]) + 1) == (code, line)


def test_the_usual_fields_raise_no_doubt() -> None:
    for right in (BUILDER, BUILDER.replace(MASKED, "((address >> 4) & 0x3FFF)")):
        report = check_text(right)
        assert (report.doubts, report.findings, report.descriptors) == ((), (), 1)


@for_each(("value", "code"), [("1ull << 64", "shift_too_far"), ("1 << 62", "shifts_of_32_bits")])
def test_a_shift_is_below_the_width_of_its_type(value: str, code: str) -> None:
    """Source: ISO C++20, [expr.shift]."""
    assert code in {finding.code for finding in check_text(BUILDER.replace("1ull << 62", value)).findings}
