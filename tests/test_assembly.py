"""What asm statements leave in C++'s variables: what their PTX computes, or something unknown.

The expectations are the PTX ISA's words (9.1, integer arithmetic, logic and shift, data movement); lop3, prmt, bfi and
bfe are compared with loops over single bits, written from the ISA's pseudocode.
"""

from __future__ import annotations

import random

from lanescope.cxx.integers import UINT, ULONG
from lanescope.ptx.operations import compute_integers, find_operation
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.ptx.ptx_evaluation import AsmOperand, evaluate_outputs
from lanescope.reader.code.ptx.ptx_opcodes import RULES, get_integer_type
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free
from tests.cases import for_each

FULL = (1 << 32) - 1


def compute_output(code: str, *given: int, wide: bool = False, constraints: str = "") -> int | None:
    """What %0 holds after a statement of which %1, %2, … are given numbers; None where that is unknown."""
    letters = constraints or ("l" if wide else "r") * len(given)
    inputs = [
        AsmOperand(letter, "", SymbolicInt(value, ULONG if letter == "l" else UINT))
        for letter, value in zip(letters, given, strict=True)
    ]
    made = get_integer(evaluate_outputs(code, [AsmOperand("=l" if wide else "=r"), *inputs])[0])
    return None if made is None else made.known


def parse_call_arguments(text: str) -> list[int | None]:
    """What the last call of `desc(…)` of a text is given: known values, None for unknown ones."""
    made = evaluate_text(text)
    assert made is not None
    last = [one for one in made.bodiless_calls if one.term.head == "desc"][-1]
    return [None if (value := get_integer(one)) is None else value.known for one in last.term.arguments]


KNOWN = [  # a statement, its inputs, what %0 is
    ("mov.u32 %0, 0x12;", (), 0x12),
    ("mov.b32 %0, 0b101U;", (), 5),
    ("mov.s32 %0, -1;", (), FULL),
    ("mov.u32 %0, 017;", (), 15),
    ("mov.u32 %0, WARP_SZ;", (), 32),
    ("and.b32 %0, %1, 0xF0;", (0xABCD,), 0xC0),
    ("or.b32 %0, %1, %2;", (0xA0, 0x0B), 0xAB),
    ("xor.b32 %0, %1, %2;", (0xFF, 0x0F), 0xF0),
    ("not.b32 %0, %1;", (0,), FULL),
    ("shl.b32 %0, %1, 4;", (0x12345678,), 0x23456780),
    ("shl.b32 %0, %1, 32;", (1,), 0),  # C leaves this open, PTX clamps the amount
    ("shl.b32 %0, %1, %2;", (1, FULL), 0),
    ("shr.u32 %0, %1, 31;", (1 << 31,), 1),
    ("shr.b32 %0, %1, 32;", (FULL,), 0),
    ("shr.s32 %0, %1, 4;", (0x80000000,), 0xF8000000),
    ("shr.s32 %0, %1, 99;", (0x80000000,), FULL),
    ("add.u32 %0, %1, 1;", (FULL,), 0),
    ("add.s32 %0, %1, -3;", (1,), FULL - 1),
    ("sub.u32 %0, %1, %2;", (3, 5), FULL - 1),
    ("mul.lo.u32 %0, %1, %2;", (1 << 31, 3), 1 << 31),
    ("mul.hi.u32 %0, %1, %2;", (1 << 31, 6), 3),
    ("mul.hi.s32 %0, %1, %2;", (FULL, 5), FULL),
    ("mad.lo.s32 %0, %1, %2, 7;", (FULL, 2), 5),
    ("min.s32 %0, %1, %2;", (FULL, 1), FULL),
    ("min.u32 %0, %1, %2;", (FULL, 1), 1),
    ("max.u32 %0, %1, 2;", (1,), 2),
    ("neg.s32 %0, %1;", (1,), FULL),
    ("popc.b32 %0, %1;", (0xF0F,), 8),
    ("clz.b32 %0, %1;", (1,), 31),
    ("brev.b32 %0, %1;", (1,), 1 << 31),
    ("div.s32 %0, %1, 2;", (FULL - 6,), FULL - 2),  # -7 / 2 is -3
    ("rem.s32 %0, %1, 2;", (FULL - 6,), FULL),
    ("rem.u32 %0, %1, 10;", (FULL,), 5),
    ("prmt.b32 %0, %1, %2, 0x5410;", (0x33221100, 0x77665544), 0x55441100),
    ("prmt.b32 %0, %1, 0, 0x8888;", (0x80,), FULL),
    ("bfe.u32 %0, %1, 4, 8;", (0x12345,), 0x34),
    ("bfe.s32 %0, %1, 4, 4;", (0xF0,), FULL),
    ("bfi.b32 %0, %1, %2, 8, 4;", (0xFF, 0), 0xF00),
    ("lop3.b32 %0, %1, %2, 0, 0x3C;", (0xF0, 0xFF), 0x0F),
    ("add.sat.s32 %0, %1, 1;", (FULL >> 1,), FULL >> 1),
    ("add.u16x2 %0, %1, %2;", (0x1FFFF, 0x10001), 0x20000),
    ("prmt.b32.f4e %0, %1, %2, 1;", (0x33221100, 0x77665544), 0x44332211),
    ("mul24.lo.u32 %0, %1, 3;", (0x1000002,), 6),
    ("dp4a.u32.u32 %0, %1, %2, 5;", (0x04030201, 0x01010101), 15),
    ("shf.l.wrap.b32 %0, %1, %2, 8;", (0xAB000000, 1), 0x1AB),
    ("bfind.u32 %0, %1;", (0x80,), 7),
    ("cvt.u32.u16 %0, %1;", (0x12345,), 0x2345),
    ("cvt.s32.s8 %0, %1;", (0x80,), 0xFFFFFF80),
    ("{ .reg .b32 t; mov.u32 t, %1; add.u32 %0, t, t; }", (21,), 42),
    ("{\n.reg .pred p;\nsetp.ne.b32 p, %1, 0;\nselp.b32 %0, 1, 2, p;\n}", (0,), 2),
    ("{ .reg .pred %%p; setp.lt.s32 %%p, %1, 0; mov.u32 %0, 1; @%%p mov.u32 %0, 2; @!%%p mov.u32 %0, 3; }", (FULL,), 2),
    ("{ .reg .pred p, q; setp.gt.u32 p|q, %1, 3; selp.u32 %0, 7, 8, q; }", (9,), 8),
    ("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, lo}; }", (0x12345678,), 0x56781234),
    ("{ .reg .u32 r<2>; mov.u32 r0, 5; { .reg .u32 r0; mov.u32 r0, 6; } mov.u32 %0, r0; }", (), 5),
    ("// a note; with a semicolon\nmov.u32 %0, /* of; it */ 3;", (), 3),
]


@for_each(("code", "given", "result"), KNOWN)
def test_a_known_instruction_leaves_its_result(code: str, given: tuple[int, ...], result: int) -> None:
    assert compute_output(code, *given) == result


WIDE = [
    ("mov.b64 %0, {%1, %2};", "rr", (1, 2), 2 << 32 | 1),
    ("mul.wide.u32 %0, %1, %2;", "rr", (FULL, 2), 2 * FULL),
    ("mul.wide.s32 %0, %1, %2;", "rr", (FULL, 2), (1 << 64) - 2),
    ("mad.wide.u32 %0, %1, %2, %3;", "rrl", (FULL, 2, 1 << 40), 2 * FULL + (1 << 40)),
    ("cvt.u64.u32 %0, %1;", "r", (FULL,), FULL),
    ("cvt.s64.s32 %0, %1;", "r", (FULL,), (1 << 64) - 1),
    ("shl.b64 %0, %1, 62;", "l", (3,), 3 << 62 & (1 << 64) - 1),
    ("shr.u64 %0, %1, 64;", "l", ((1 << 64) - 1,), 0),
    ("bfi.b64 %0, %1, %2, 62, 2;", "ll", (1, 5), 1 << 62 | 5),
    ("or.b64 %0, %1, 0x4000000000000000;", "l", (1,), 1 << 62 | 1),
]


@for_each(("code", "constraints", "given", "result"), WIDE)
def test_registers_of_64_bits(code: str, constraints: str, given: tuple[int, ...], result: int) -> None:
    assert compute_output(code, *given, wide=True, constraints=constraints) == result


OPEN = [  # statements of which the text does not say what they leave
    "ld.shared.u32 %0, [%1];",
    "elect.sync %0|p, %1;",
    "shfl.sync.up.b32 %0, %1, 1, 0, -1;",
    "mov.u32 %0, %clock;",
    "mov.u32 %0, a_variable;",
    "add.cc.u32 %0, %1, 1;",
    "add.f32 %0, %1, %1;",
    "cvt.sat.u8.u32 %0, %1;",
    "cvt.rn.f32.u32 %0, %1;",
    "div.u32 %0, %1, 0;",
    "{ .reg .b32 t; mov.u32 %0, t; }",
    "{ .reg .pred p; elect.sync _|p, -1; selp.u32 %0, 1, 0, p; }",
    "{ .reg .pred p; elect.sync _|p, -1; mov.u32 %0, 0; @p mov.u32 %0, 1; }",
    "mov.u32 %0, 1; bra there; mov.u32 %0, 2; there: mov.u32 %0, 3;",
    "mov.u32 %0, 1; } mov.u32 %0, 2;",
    "mov.u32 %0, 1; something that is no PTX",
    "mov.u32 %0, 1; ld.shared.v2.u32 {%0, %1}, [%1];",
    "mov.u32 %0, (1 << 4);",
]


@for_each("code", OPEN)
def test_what_the_text_does_not_say_is_unknown(code: str) -> None:
    assert compute_output(code, 5) is None


def test_another_register_keeps_its_value_beside_an_unknown_instruction() -> None:
    made = evaluate_outputs(
        "mov.u32 %0, 7; ld.shared.u32 %1, [%2];",
        [AsmOperand("=r"), AsmOperand("=r"), AsmOperand("r", "", SymbolicInt(0))],
    )
    assert [str(one) for one in made] == ["7", "None", "0"]


def test_operands_by_name_by_number_and_tied_to_an_output() -> None:
    made = evaluate_outputs(
        "add.u32 %[out], %[in], %0;",
        [AsmOperand("=r", "out"), AsmOperand("r", "in", SymbolicInt(4)), AsmOperand("0", "", SymbolicInt(3))],
    )
    assert str(made[0]) == "7"


def test_a_symbol_stays_in_the_bits_it_is_put_into() -> None:
    address = make_free("smem", UINT, 18)
    code = "{ .reg .b32 t; and.b32 t, %1, 0x3FFFF; shr.u32 t, t, 4; mov.b64 %0, {t, 0x40000040}; }"
    made = evaluate_outputs(code, [AsmOperand("=l"), AsmOperand("r", "", address)])[0]
    assert (hex(made.const), made.pieces[0].width, made.pieces[0].shift) == ("0x4000004000000000", 14, 4)


def test_a_symbol_that_may_be_negative_is_not_sign_extended() -> None:
    assert (
        evaluate_outputs("cvt.s64.s32 %0, %1;", [AsmOperand("=l"), AsmOperand("r", "", make_free("n", UINT))])[0]
        is None
    )
    assert (
        str(evaluate_outputs("cvt.u64.u32 %0, %1;", [AsmOperand("=l"), AsmOperand("r", "", make_free("n", UINT))])[0])
        == "n"
    )


# loops over bits, from the ISA's pseudocode ---------------------------------------------------------------------------


def get_bit(value: int, at: int) -> int:
    return value >> at & 1


def compute_bfe(signed: bool, bits: int, a: int, b: int, c: int) -> int:
    msb, pos, length = bits - 1, b & 0xFF, c & 0xFF
    sign = 0 if not signed or length == 0 else get_bit(a, min(pos + length - 1, msb))
    return sum((get_bit(a, pos + i) if i < length and pos + i <= msb else sign) << i for i in range(bits))


def compute_bfi(bits: int, a: int, b: int, c: int, d: int) -> int:
    msb, pos, length = bits - 1, c & 0xFF, d & 0xFF
    out = [get_bit(b, i) for i in range(bits)]
    for i in range(length):
        if pos + i <= msb:
            out[pos + i] = get_bit(a, i)
    return sum(one << i for i, one in enumerate(out))


def compute_prmt(a: int, b: int, c: int) -> int:
    out = 0
    for n in range(4):
        selector = c >> 4 * n & 0xF
        source = selector & 7
        for i in range(8):
            at = 7 if selector & 8 else i
            out |= get_bit(a if source < 4 else b, source % 4 * 8 + at) << 8 * n + i
    return out


def compute_lop3(a: int, b: int, c: int, table: int) -> int:
    return sum(get_bit(table, get_bit(a, i) << 2 | get_bit(b, i) << 1 | get_bit(c, i)) << i for i in range(32))


def test_selections_of_bits_are_those_of_the_pseudocode() -> None:
    rng = random.Random(29)
    for _ in range(300):
        a, b, c = (rng.getrandbits(32) for _ in range(3))
        at, count = (rng.choice((0, 1, 7, 31, 32, 33, 255, 256, rng.getrandbits(9))) for _ in range(2))
        long, more = rng.getrandbits(64), rng.getrandbits(64)
        table = rng.getrandbits(8)
        at64, count64 = min(at, 255), min(count, 255)  # of registers of 64 bits, sm_90 reads all bits of the amounts
        assert compute_output("bfe.u32 %0, %1, %2, %3;", a, at, count) == compute_bfe(False, 32, a, at, count)
        assert compute_output("bfe.s32 %0, %1, %2, %3;", a, at, count) == compute_bfe(True, 32, a, at, count)
        for signed, letter in ((False, "u"), (True, "s")):
            got = compute_output(f"bfe.{letter}64 %0, %1, %2, %3;", long, at, count, wide=True, constraints="lrr")
            assert got == compute_bfe(signed, 64, long, at64, count64)
        got = compute_output("bfi.b64 %0, %1, %2, %3, %4;", long, more, at, count, wide=True, constraints="llrr")
        assert got == compute_bfi(64, long, more, at64, count64)
        assert compute_output("bfi.b32 %0, %1, %2, %3, %4;", a, b, at, count) == compute_bfi(32, a, b, at, count)
        assert compute_output("prmt.b32 %0, %1, %2, %3;", a, b, c) == compute_prmt(a, b, c)
        assert compute_output(f"lop3.b32 %0, %1, %2, %3, {table:#x};", a, b, c) == compute_lop3(a, b, c, table)


def test_what_is_told_of_symbols_holds_for_their_values() -> None:
    """Put numbers in for the symbols of a result: it is what the instruction gives for those numbers."""
    rng = random.Random(30)
    codes = [
        "and.b32 %0, %1, {m};",
        "or.b32 %0, %1, %2;",
        "xor.b32 %0, %1, %2;",
        "shl.b32 %0, %1, {s};",
        "shr.u32 %0, %1, {s};",
        "bfi.b32 %0, %1, %2, {s}, {t};",
        "bfe.u32 %0, %1, {s}, {t};",
        "prmt.b32 %0, %1, %2, {p};",
        "lop3.b32 %0, %1, %2, {m}, {l};",
        "mov.b32 %0, {{%3, %4}};",
        "{{ .reg .b16 lo, hi; mov.b32 {{lo, hi}}, %1; cvt.u32.u16 %0, hi; }}",
        "mul.lo.u32 %0, %1, 8;",
    ]
    told = 0
    for n in range(600):
        code = codes[n % len(codes)].format(
            m=hex(rng.choice((0x3FFFF, 0xFFFF, 0xFF00FF, rng.getrandbits(32)))),
            s=rng.choice((0, 4, 16, 31, 40)),
            t=rng.choice((0, 1, 8, 14, 40)),
            p=hex(rng.choice((0x5410, 0x7632, 0x0123, 0x8888))),
            l=hex(rng.choice((0xC0, 0xFC, 0x80, 0xFE, 0xEA, 0xF8, 0xA8, 0x96))),
        )
        values = {
            "a": rng.getrandbits(32),
            "b": rng.getrandbits(32),
            "c": rng.getrandbits(16),
            "d": rng.getrandbits(16),
        }
        kinds = [AsmOperand("r"), AsmOperand("r"), AsmOperand("h"), AsmOperand("h")]
        symbols = [
            AsmOperand(k.constraint, "", make_free(name, UINT, k.bits)) for k, name in zip(kinds, values, strict=True)
        ]
        known = [
            AsmOperand(k.constraint, "", SymbolicInt(v, UINT)) for k, v in zip(kinds, values.values(), strict=True)
        ]
        of_symbols = get_integer(evaluate_outputs(code, [AsmOperand("=r"), *symbols])[0])
        of_known = get_integer(evaluate_outputs(code, [AsmOperand("=r"), *known])[0])
        if of_symbols is None:
            continue
        told += 1
        total = of_symbols.const
        for piece in of_symbols.pieces:
            line = piece.source.const + sum(
                values[name] * factor for name, factor in piece.source.terms if name in values
            )
            if any(name not in values for name, _ in piece.source.terms):
                break
            total |= (line >> piece.shift & (1 << piece.width) - 1) << piece.low
        else:
            assert of_known is not None and total & FULL == of_known.known, code
    assert told > 400


# statements in a kernel -----------------------------------------------------------------------------------------------

LVALUES = [  # a declaration that gives a value, the lvalue that the statement writes, what is read afterwards
    ("unsigned x = 3;", "x", "x"),
    ("unsigned x[2] = {3, 3};", "x[0]", "x[0]"),
    ("unsigned x[2] = {3, 3};", "x[threadIdx.x]", "x[1]"),
    ("unsigned x[2] = {3, 3}; int n = threadIdx.x;", "x[n]", "x[0]"),
    ("unsigned y = 3; unsigned* x = &y;", "*x", "y"),
    ("unsigned y = 3; unsigned& x = y;", "x", "y"),
    ("struct S { unsigned a, b; }; S s; s.a = 3;", "s.a", "s.a"),
    ("struct S { unsigned a; float b; }; S s; s.a = 3; S* p = &s;", "p->a", "s.a"),
    ("union U { unsigned long long whole; unsigned half[2]; }; U u; u.whole = 3;", "u.half[0]", "u.whole"),
    ("unsigned long long x = 3;", "*(unsigned*)&x", "x"),
    ("unsigned long long x = 3;", "reinterpret_cast<unsigned&>(x)", "x"),
]


@for_each("constraint", ["=r", "+r", "=&r"])
@for_each(("declared", "written", "read"), LVALUES)
def test_an_output_is_unknown_whatever_it_names(declared: str, written: str, read: str, constraint: str) -> None:
    statement = f'asm volatile("ld.shared.u32 %0, [0];" : "{constraint}"({written}));'
    text = f"__global__ void k() {{ {declared} {statement} desc({read}); }}"
    assert parse_call_arguments(text) == [None]
    assert parse_call_arguments(text.replace(statement, "")) == [3]


@for_each(
    ("constraint", "kind"), [("=h", "unsigned short"), ("=l", "unsigned long long"), ("=f", "float"), ("+d", "double")]
)
def test_an_output_of_every_width_is_unknown(constraint: str, kind: str) -> None:
    assert parse_call_arguments(
        f'__global__ void k() {{ {kind} x = 3; asm("? %0;" : "{constraint}"(x)); desc(x); }}'
    ) == [None]


def test_a_known_output_is_put_into_what_it_names() -> None:
    text = """__global__ void k() {
      union U { unsigned long long whole; unsigned half[2]; }; U u; u.whole = 3; unsigned x[2] = {1, 2}; int y;
      asm("mov.u32 %0, 9;" : "=r"(u.half[1])); asm("add.u32 %[to], %[to], 40;" : [to] "+r"(x[1]));
      asm("{ .reg .b64 t; mov.b64 t, {%1, %2}; shr.u64 t, t, 16; cvt.u32.u64 %0, t; }" : "=r"(y) : "r"(x[0]), "r"(7));
      desc(u.whole, x[0], x[1], y);
    }"""
    assert parse_call_arguments(text) == [9 << 32 | 3, 1, 42, 7 << 16]


def test_a_known_word_goes_into_its_half_of_a_variable() -> None:
    text = """__global__ void k() { unsigned long long x = 3ull << 32 | 5;
      asm("mov.u32 %0, 9;" : "=r"(*(unsigned*)&x)); desc(x); }"""
    assert parse_call_arguments(text) == [3 << 32 | 9]


def test_two_unknown_outputs_are_two_values() -> None:
    text = """__device__ unsigned lane() { unsigned n; asm volatile("elect.sync %0|_, -1;" : "=r"(n)); return n; }
    __global__ void k(unsigned x) { unsigned y = x; asm volatile("ld.shared.u32 %0, [0];" : "=r"(x));
      desc(lane() - lane(), y - x); }"""
    assert parse_call_arguments(text) == [None, None]


def test_a_statement_of_its_inputs_alone_gives_one_value_twice() -> None:
    text = """__device__ unsigned there(unsigned n) {
      unsigned x; asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(x) : "r"(n)); return x; }
    __global__ void k(unsigned a, unsigned b) { desc(there(a) - there(a), there(a) - there(b)); }"""
    assert parse_call_arguments(text) == [0, None]


def test_memory_that_a_statement_may_write_is_unknown() -> None:
    clobbered = """__global__ void k() {{ unsigned x = 3, y = 4, z[2] = {{5, 5}}; __shared__ unsigned s; s = 6;
      asm volatile("{code}" :: "l"(&x), "l"(z), "r"((unsigned)__cvta_generic_to_shared(&s)) : {clobber});
      desc(x, y, z[1], s); }}"""
    assert parse_call_arguments(clobbered.format(code="atom.add.u32 _, [%0], 1;", clobber='"memory"')) == [
        None,
        4,
        None,
        None,
    ]
    assert parse_call_arguments(clobbered.format(code="fence.proxy.async;", clobber='"memory"')) == [3, 4, 5, 6]
    assert parse_call_arguments(clobbered.format(code="prefetch.global.L2 [%0];", clobber='"cc"')) == [3, 4, 5, 6]


ELECT = """
__device__ unsigned elect_one_sync() {
  unsigned pred = 0, laneid = 0;
  asm volatile("{ .reg .b32 %%rx; .reg .pred %%px; elect.sync %%rx|%%px, %2; @%%px mov.s32 %1, 1; mov.s32 %0, %%rx; }"
               : "+r"(laneid), "+r"(pred) : "r"(0xFFFFFFFF));
  return pred;
}
"""


@for_each(
    "head",
    [
        "if (elect_one_sync())",
        "if (threadIdx.x == 0)",
        "if (cute::elect_one_sync())",
        "if (!elect_one_sync()) {} else",
        "int warp = threadIdx.x / 32; unsigned lane = elect_one_sync(); if (warp == 0 && lane)",
        "if (elect_one_sync() != 0)",
        'unsigned done = 0; asm volatile("ld.shared.u32 %0, [0];" : "+r"(done)); while (!done)',
        "if (elect_one_sync() == 0) return;",
        "bool p = elect_one_sync(); if (p)",
        "const bool leader = threadIdx.x < 32 && elect_one_sync(); if (leader)",
        "if (auto p = elect_one_sync(); p)",
        'for (unsigned done = 0; !done; asm volatile("ld.shared.u32 %0, [0];" : "=r"(done)))',
    ],
)
def test_what_an_unknown_predicate_guards_is_run(head: str) -> None:
    text = f"{ELECT} __global__ void k() {{ {head} {{ unsigned long long x = 5; desc(x); }} }}"
    assert parse_call_arguments(text) == [5]


def test_a_variable_of_a_branch_keeps_what_the_branch_gave_it() -> None:
    text = f"""{ELECT} __global__ void k(char* smem) {{ if (elect_one_sync()) {{
      uint64_t desc = 0; desc |= (uint64_t)((__cvta_generic_to_shared(smem) & 0x3FFFF) >> 4); desc |= 1ull << 16;
      desc |= 64ull << 32; desc |= 1ull << 62; }} }}"""
    made = evaluate_text(text)
    assert made is not None and [hex(one.value.const) for one in made.descriptors] == ["0x4000004000010000"]


RULED = "and.b32 or.b64 xor.b32 shl.b32 shr.u32 shr.s64 add.s32 sub.u64 mul.lo.s32 mul.wide.s32 mad.lo.u32 mad.wide.u32"
RULED += " div.s32 rem.u32 prmt.b32 bfi.b32 bfe.u32 lop3.b32"


@for_each("opcode", RULED.split())
def test_rules_for_symbols_are_those_of_known_integers(opcode: str) -> None:
    """What the emulator computes from known integers, the rules for symbols compute, too, if they have a result."""
    rng = random.Random(opcode)
    operation = find_operation(opcode)
    assert operation is not None
    kind = get_integer_type(operation.to.bits)
    for _ in range(40):
        numbers = [rng.choice((0, 1, 5, 31, 0x5410, -3, rng.getrandbits(31))) for _ in operation.sources]
        sources = [
            SymbolicInt((one := get_integer_type(row.bits, row.kind == "s")).wrap(number), one)
            for number, row in zip(numbers, operation.sources, strict=True)
        ]
        ruled = RULES[opcode.rpartition(".")[0]](kind, *sources)
        known = compute_integers(operation, numbers)
        assert ruled is None or (ruled.known is not None and kind.wrap(ruled.known) == kind.wrap(known)), numbers
