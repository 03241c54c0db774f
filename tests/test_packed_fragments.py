"""Fragments whose registers are moved whole, two or four elements in each, or held in variables."""

from __future__ import annotations

from lanescope.reader.formula.fragment_answer import recognise_fragment_code
from lanescope.reader.formula.fragment_formula import spell_registers
from tests.cases import for_each
from tests.test_fragment_code import get_open_reason, list_agreeing

# 16-bit A of m16n8k16, PTX ISA 9.1, 9.7.14.5.8: a register has two adjacent columns
PACKED = "".join(
    f"a[{n}] = ACCESSAs[(lane / 4 + {n % 2 * 8}) * 64 + lane % 4 * 2 + {n // 2 * 8}]CLOSE;\n" for n in range(4)
)


@for_each(
    ("declared", "access", "close"),
    [
        ("", "*(uint32_t*)&", ""),
        ("", "*reinterpret_cast<const unsigned*>(&", ")"),
        ("", "reinterpret_cast<const uint32_t*>(&", ")[0]"),
        ("__shared__ half As[64 * 64];\n", "*(uint32_t*)&", ""),
        ("const __nv_bfloat16* As;\n", "*(const int*)&", ""),
        ("", "*(half2*)&", ""),
    ],
)
def test_a_register_of_two_elements_is_two_values(declared: str, access: str, close: str) -> None:
    text = declared + PACKED.replace("ACCESS", access).replace("CLOSE", close)
    assert next(iter(list_agreeing(text))) == "A of mma.m16n8k16 f16, bf16"
    (meaning,) = recognise_fragment_code(text)
    is_assumed = not declared and "half2" not in access
    assert ("Assumed: elements of 16 bits, 2 in each access." in meaning.notices) == is_assumed


def test_both_sides_may_be_cast() -> None:
    """Registers 0, 2, 4 and 6 of 16-bit elements, in pairs."""
    text = PACKED.replace("ACCESS", "*(uint32_t*)&").replace("CLOSE", "")
    for n in reversed(range(4)):
        text = text.replace(f"a[{n}] =", f"*(uint32_t*)&a[{2 * n}] =")
    assert next(iter(list_agreeing(text))) == "A of mma.m16n8k16 f16, bf16"


def test_four_bytes_in_a_register_are_four_values() -> None:
    """A of the 8-bit m16n8k32, PTX ISA 9.1, 9.7.14.5.10: a register has four adjacent columns."""
    text = "".join(
        f"a[{n}] = *(uint32_t*)&As[lane / 4 + {n % 2 * 8}][lane % 4 * 4 + {n // 2 * 16}];\n" for n in range(4)
    )
    assert next(iter(list_agreeing(text))).startswith("A of mma.m16n8k32")
    (meaning,) = recognise_fragment_code(text)
    assert meaning.notices[0] == "Assumed: elements of 8 bits, 4 in each access."


def test_packed_registers_at_other_places_agree_with_nothing() -> None:
    text = PACKED.replace("ACCESS", "*(uint32_t*)&").replace("CLOSE", "").replace("% 4 * 2", "% 4 * 3")
    assert not list_agreeing(text)


def test_the_width_of_an_unknown_type_leaves_the_loop_open() -> None:
    text = PACKED.replace("ACCESS", "*(packed_t*)&").replace("CLOSE", "")
    assert "the size of 'packed_t' is not known" in get_open_reason(text)


def test_registers_may_be_variables() -> None:
    """a0 to a3 through pointers to rows, and d0 to d3; the lane read by asm."""
    load = """
const int8_t* low = s_Q + (warp_id * 16 + groupID) * pitch;
const int8_t* high = low + 8 * pitch;
const uint32_t a0 = *reinterpret_cast<const uint32_t*>(low + k + threadID_in_group * 4);
const uint32_t a1 = *reinterpret_cast<const uint32_t*>(high + k + threadID_in_group * 4);
const uint32_t a2 = *reinterpret_cast<const uint32_t*>(low + k + threadID_in_group * 4 + 16);
const uint32_t a3 = *reinterpret_cast<const uint32_t*>(high + k + threadID_in_group * 4 + 16);"""
    assert next(iter(list_agreeing(load))).startswith("A of mma.m16n8k32 s8")
    (meaning,) = recognise_fragment_code(load)
    assert meaning.facts["assumed"] == ["pitch", "k"]
    lane = 'asm volatile("mov.u32 %0, %%laneid;" : "=r"(id)); int g = id / 4, t = id % 4;\n'
    store = lane + "".join(f"C[(g + {n // 2 * 8}) * N + t * 2 + {n % 2}] = d{n};\n" for n in range(4))
    assert "C and D of mma.m16n8k16 f32, s32" in list_agreeing(store)


@for_each("text", ["int a0 = lane / 4; int a1 = lane % 4;", "x[lane] = d1;", "a0 = s[lane]; a2 = s[lane + 32];"])
def test_names_with_numbers_are_not_always_registers(text: str) -> None:
    assert spell_registers(text) == text
