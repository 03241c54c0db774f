"""The parser of PTX: what texts mean, and that one which is cut off or damaged is refused with its line."""

from __future__ import annotations

import random
import re
import struct

import pytest

from lanescope.app.emulate.examples import build_example
from lanescope.emulate.text.parser import parse_module
from lanescope.emulate.text.program import AddressOperand, Immediate, Register
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.emulated_kernels import run_text

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
BODY = HEAD + ".entry k(.param .u64 p) {\n.reg .f32 %f; .reg .b64 %d; .reg .b32 %r;\n"


def refuse(text: str) -> str:
    with pytest.raises(LayoutError) as refused:
        parse_module(text)
    assert refused.value.code == "not_ptx" and refused.value.field == "ptx"
    return refused.value.message


@for_each(
    "end",
    [
        "add.f32 %f, %f,\n\n",
        "add.f32 %f, %f",
        "add",
        "@",
        "ld.global.f32 %f, [%d",
        "ld.global.f32 %f, [%d+",
        "mov.b64 {%r, %r",
        ".shared .align 16 .b8 x[",
        ".reg .b32 %x<",
        "ld.global.f32 %fo",
    ],
)
def test_a_text_that_ends_in_a_statement_is_refused_as_that_with_the_last_line(end: str) -> None:
    assert refuse(BODY + "ret;\n" + end) == "Line 7: The text ends in the middle of a statement."


@for_each("end", ["", "ret;", "{ ret; }"])
def test_a_body_without_its_brace_is_refused_as_that(end: str) -> None:
    line = 6 if end else 5
    assert refuse(BODY + end) == f"Line {line}: The text ends inside k: '}}' is missing."


def test_every_text_is_parsed_or_refused_with_a_line() -> None:
    """Cut anywhere, or with a word lost, doubled or exchanged, a kernel of nvcc ends in nothing but a refusal."""
    text, draw = build_example("right")[0][:6000], random.Random(7)
    words = re.split(r"(\s+)", text)
    marks = ["{", "}", ";", "(", ")", "[", "]", "<", ">", "@", ":", "-", "x", "%r1", "09", "1.5e3", '"a"', ".loc", ""]
    for number in range(100):
        damaged = list(words)
        place = draw.randrange(len(words))
        damaged[place] = draw.choice(marks) if number % 2 else draw.choice(words)
        for candidate in (
            ("".join(damaged), text[: draw.randrange(len(text))]) if number % 3 == 0 else ["".join(damaged)]
        ):
            try:
                parse_module(candidate)
            except LayoutError as error:
                assert error.code == "not_ptx" and re.match(r"Line \d+: ", error.message)


def test_deep_nesting_is_refused() -> None:
    assert "Blocks are nested more than 100 deep" in refuse(BODY + "{" * 101 + "ret;" + "}" * 101)
    with pytest.raises(LayoutError) as refused:
        parse_module(BODY + "mov.b32 %r, " + "{" * 2000)
    assert refused.value.code == "too_deep"


@for_each(("text", "offset"), [("[%d]", 0), ("[%d+8]", 8), ("[%d+-8]", -8), ("[%d-0x10]", -16), ("[%d+4+010]", 12)])
def test_offsets_of_an_address_are_added(text: str, offset: int) -> None:
    (statement,) = parse_module(BODY + f"ld.global.f32 %f, {text}; }}").functions["k"].statements
    address = statement.operands[1]
    assert isinstance(address, AddressOperand) and isinstance(address.base, Register)
    assert (address.base.name, address.offset) == ("%d", offset)


@for_each(
    ("text", "value"),
    [("-1.5", -1.5), ("1.5", 1.5), ("-0f40000000", -2.0), ("0fC0000000", -2.0), ("-0d3FF8000000000000", -1.5)],
)
def test_a_sign_changes_the_sign_bit_of_a_float(text: str, value: float) -> None:
    (statement,) = parse_module(BODY + f"mov.f32 %f, {text}; }}").functions["k"].statements
    number = statement.operands[1]
    assert isinstance(number, Immediate)
    form, size = ("<f", 4) if number.bits == 32 else ("<d", 8)
    assert struct.unpack(form, int(number.value).to_bytes(size, "little"))[0] == value


@for_each(("text", "value"), [("-7", -7), ("0x1FU", 31), ("017", 15), ("0b101", 5), ("WARP_SZ", 32)])
def test_integers_have_their_base(text: str, value: int) -> None:
    (statement,) = parse_module(BODY + f"mov.b32 %r, {text}; }}").functions["k"].statements
    assert statement.operands[1] == Immediate(value)


# operands that an instruction does not take ---------------------------------------------------------------------------

KERNEL = (
    ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {{\n.reg .b32 %r<8>; .reg .b64 %d<4>;"
    " .reg .pred %p<4>;\n{statement}\nret;\n}}\n"
)


@for_each(
    ("statement", "reason"),
    [
        ("add.s32 %r0, %r1;", "operands"),
        ("add.s32 %r0, %r1, [%d0];", "[%d0] is not a value"),
        ("add.s32 3, %r1, %r2;", "3 is not a register"),
        ("add.s32 %p0, %r1, %r2;", "is a predicate"),
        ("mov.b32 %r0, {%r1, %r2, %r3};", "3 parts of 32 bits"),
        ("ld.global.u32 %r0, %d0;", "is not an address"),
        ("st.shared.u32 %r0, %r1;", "is not an address"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, %r1;", "is not an address"),
        ("tex.1d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [%d0, {%r0}];", "tex.1d.v4.s32.s32 is not emulated"),
        ("ad.s32 %r0, %r1, %r2;", "PTX has no instruction ad.s32. Nearest: "),
        (
            "ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r0, %r1, %r2}, [%r3];",
            "Nearest: ldmatrix.sync.aligned.m8n8.x",
        ),
        ("atom.global.add.u32 %r0, [%d0];", "is not emulated"),
        ("cp.async.ca.shared.global [%r0], [%d0];", "an operand is missing"),
        ("bar.red.popc.u32 %r0, 0;", "operands"),
        ("min.s32 %r0, %r1, %r2, %r3;", "operands"),
        ("mov.u32 %r0, nothing;", "is not declared"),
        ("mov.b64 {%r0, %r1}, {%r0, %r1, %r2};", "different lengths"),
    ],
)
def test_other_operands_are_refused_with_the_reason(statement: str, reason: str) -> None:
    machine = run_text(KERNEL.format(statement=statement), [])
    assert machine.status == "unknown_instruction"
    (finding,) = machine.findings
    assert reason in finding.message, finding.message
