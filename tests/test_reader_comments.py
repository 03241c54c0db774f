"""Comments that are compared with what their line of a descriptor builder sets."""

from __future__ import annotations

from tests.cases import for_each
from tests.found_in_code import find_builders


def test_the_type_of_a_ptx_opcode_names_no_swizzle() -> None:
    halves = 'asm("mov.b64 %0, {%1, %2};" : "=l"(desc) : "r"((a & 0x3FFFF) >> 4), "r"(64 | 1 << 30));'
    (found,) = find_builders(f"uint64_t desc; {halves}")
    assert (found.swizzle, found.doubts) == ("128B", ())
    (found,) = find_builders(f"uint64_t desc; {halves} // the B64 swizzle")
    assert [doubt.code for doubt in found.doubts] == ["comment_contradicts"]


@for_each(
    ("mode", "doubted"),
    [("broken ? 1 : 0;  // 128B", False), ("0;  // 128B", True), ("0;  // 128B?", True), ("0;  // none", False)],
)
def test_the_comment_on_a_choice_may_be_about_either_value(mode: str, doubted: bool) -> None:
    code = (
        f"uint64_t make(uint32_t a) {{\n  constexpr bool broken = false;\n  const uint64_t swizzle = {mode}\n"
        "  return (a & 0x3FFFF) >> 4 | 8ull << 16 | 64ull << 32 | swizzle << 62;\n}\n"
    )
    (found,) = find_builders(code)
    assert found.swizzle == "none"
    assert [doubt.code for doubt in found.doubts] == ["comment_contradicts"] * doubted


@for_each(
    ("first", "doubted"),
    [("p, 1, sbo", False), ("p, 1 /* SBO */, 64", False), ("p, 1, 64", False), ("p, kSBO", True)],
)
def test_a_line_with_several_arguments_names_each_of_them(first: str, doubted: bool) -> None:
    """The 1 of LBO is not called SBO by the next argument."""
    code = (
        "__device__ uint64_t make(const half* p, uint64_t lbo, uint64_t sbo = 64) {\n"
        "  return ((uint64_t)__cvta_generic_to_shared(p) & 0x3FFFF) >> 4 | lbo << 16 | sbo << 32 | 1ull << 62;\n}\n"
        "__global__ void k() {\n  __shared__ half p[64 * 64];\n  const int sbo = 64, kSBO = 1;\n"
        f"  use(make({first}));\n}}\n"
    )
    doubts = [doubt.code for one in find_builders(code) for doubt in one.doubts]
    assert ("comment_contradicts" in doubts) == doubted
