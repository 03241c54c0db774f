"""The host half of a whole program in C++: random whole numbers, memory as the kernel reads it, the launch, the check
on the CPU.
"""

from __future__ import annotations

import re

import numpy as np

from lanescope.product.plan import Plan, Side
from lanescope.ptx import codec
from lanescope.ptx.instruction import Instruction
from lanescope.render.kernel_device import NAME, parameters, unit

C_RANGE = (-8, 8)
DEFAULT_SHARED = 48 * 1024  # a kernel that takes more must ask first

HELPERS = """#define CHECK(call) check(call, #call, __LINE__)
static void check(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\\n", line, call, cudaGetErrorString(status));
  std::exit(2);
}

template <class T>
static T* to_device(const std::vector<T>& host) {
  T* device = nullptr;
  CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

static unsigned state = 20261121u;
static int pick(int low, int high) {  // random, the same in every run
  state = state * 1664525u + 1013904223u;
  return low + static_cast<int>((state >> 16) % static_cast<unsigned>(high - low + 1));
}
"""

HALF = """static double value(unsigned short half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  return half & 0x8000 ? -size : size;
}
"""


def span(name: str) -> tuple[int, int]:
    """Return the whole numbers a type is tried with, smallest and largest.

    Products and sums of them are exact in every accumulator.
    """
    legal = codec.legal_values(name)
    return min(legal), max(legal)


def table(name: str, low: int, high: int, padding: int = 0) -> list[int]:
    """Return the bits of low … high as elements; padding: bits of their container below them."""
    bits = codec.encode(np.arange(low, high + 1), name)
    return [int(word) << padding for word in bits]


def includes(plan: Plan) -> str:
    """Return the headers the host half needs."""
    names = (*(("cmath",) if plan.instruction.types["d"] == "f16" else ()), "cstdio", "cstdlib", "vector")
    return "".join(f"#include <{name}>\n" for name in names)


def host(plan: Plan) -> str:
    """Return everything after the kernel: tables, helpers, main."""
    i = plan.instruction
    tables = [
        _table(side.letter.upper(), side.element.name, *span(side.element.name), unit(side), side.padding_below)
        for side in (plan.a, plan.b)
    ]
    if plan.accumulate and i.types["d" if "c" not in i.types else "c"] == "f16":
        tables.append(_table("C", "f16", *C_RANGE, "unsigned short"))
    for scale in list(i.scales.values())[:1]:
        codes = codec.scale_codes(scale.element.name)
        values = ", ".join(f"{value:g}" for value in codec.decode(np.array(codes, np.uint64), scale.element.name))
        tables.append(
            f"static const unsigned char S_BITS[] = {{{', '.join(map(hex, codes))}}};  // {values} as"
            f" {scale.element.name}\n"
        )
        tables.append(f"static const double S_VALUE[] = {{{values}}};\n")
    value = (
        HALF
        if i.types["d"] == "f16"
        else "template <class T>\nstatic double value(T number) {\n  return static_cast<double>(number);\n}\n"
    )
    return "".join(tables) + "\n" + HELPERS + "\n" + value + "\n" + _main(plan)


def _table(name: str, element: str, low: int, high: int, kind: str, padding: int = 0) -> str:
    if element == "f64":
        return (
            f"static const double {name}_BITS[] = {{{', '.join(f'{n}.0' for n in range(low, high + 1))}}};  // {low} to"
            f" {high}\n"
        )
    words = ", ".join(f"{word:#x}" for word in table(element, low, high, padding))
    return f"static const {kind} {name}_BITS[] = {{{words}}};  // {low} to {high} as {element}\n"


def _loops(depth: int, *ranges: tuple[str, str]) -> tuple[list[str], str]:
    """Return (`for` lines, the indent of what they hold)."""
    lines = [
        f"{'  ' * (depth + n)}for (int {name} = 0; {name} < {count}; ++{name})"
        for n, (name, count) in enumerate(ranges)
    ]
    return lines, "  " * (depth + len(ranges))


def _at(several: bool, first: str, rows: str, second: str, cols: str) -> str:
    """Return the index of (p, first, second) of matrices stored one after another, row by row."""
    return f"(p * {rows} + {first}) * {cols} + {second}" if several else f"{first} * {cols} + {second}"


def _main(plan: Plan) -> str:
    i = plan.instruction
    several = plan.a.products > 1
    m, n = i.sizes["m"], i.sizes["n"]
    lines = [f"const int M = {m}, N = {n}, K = {plan.k}{f', P = {plan.a.products}' if several else ''};"]
    size = "P * " if several else ""
    sparsity = i.operands["a"].sparsity
    outer = (("p", "P"),) if several else ()
    lines += [
        "// Small whole numbers: every product and every sum is exact, so the check is for equality.",
        f"std::vector<int> a({size}M * K), b({size}K * N), c({size}M * N);",
    ]
    lines += _sparse_a(plan) if sparsity else [f"for (int& x : a) x = pick({_span(plan.a)});"]
    lines += [f"for (int& x : b) x = pick({_span(plan.b)});"]
    lines += [f"for (int& x : c) x = pick({C_RANGE[0]}, {C_RANGE[1]});"] if plan.accumulate else []
    lines.append("")
    lines += _buffer(plan, plan.a, "stored" if sparsity else "a", several) + _buffer(plan, plan.b, "b", several)
    d_size, d_at = _d_index(plan, several)
    kinds = dict(parameters(plan))
    if plan.accumulate:
        kind = kinds["C"].removeprefix("const ").removesuffix("*")
        held = f"c[{_at(several, 'm', 'M', 'n', 'N')}]"
        each = f"C_BITS[{held} - {C_RANGE[0]}]" if kind == "unsigned short" else f"static_cast<{kind}>({held})"
        heads, indent = _loops(0, *outer, ("m", "M"), ("n", "N"))
        lines += [f"std::vector<{kind}> C({d_size});", *heads, f"{indent}C[{d_at}] = {each.replace('- -', '+ ')};"]
    lines += _scales(plan)
    lines.append("")
    lines += _launch(plan, d_size)
    lines += _check(plan, several, d_at)
    return "int main() {\n" + "".join(f"  {line}\n" if line else "\n" for line in lines) + "}\n"


def _span(side: Side) -> str:
    low, high = span(side.element.name)
    return f"{low}, {high}"


def _buffer(plan: Plan, side: Side, source: str, several: bool) -> list[str]:
    """Return code for one multiplicand in the order in which the kernel reads it."""
    upper, letter = side.letter.upper(), side.letter
    mn, count = ("m", "M") if letter == "a" else ("n", "N")
    depth = "KS" if source == "stored" else "K"
    read = _at(several, "m", "M", "k", depth) if letter == "a" else _at(several, "k", "K", "n", "N")
    to = _at(several, mn, count, "k", depth) if side.major == "K" else _at(several, "k", depth, mn, count)
    low, _ = span(side.element.name)
    bits = f"{upper}_BITS[{source}[{read}]{f' - {low}' if low > 0 else f' + {-low}' if low else ''}]"
    kind = unit(side)
    way = (
        f"{count}-major, {'its elements side by side along ' + count}"
        if side.major == "MN"
        else "K-major, its elements side by side along K"
    )
    size = f"{'P * ' if several else ''}{count} * {depth}"
    outer = (("p", "P"),) if several else ()
    heads, indent = _loops(0, *outer, (mn, count), ("k", depth))
    out = [
        f"// {upper} in memory:"
        f" {way}{f', {side.per_unit} to a byte, the first in the low bits' if side.per_unit > 1 else ''}."
    ]
    if side.per_unit == 1:
        return [*out, f"std::vector<{kind}> {upper}({size});", *heads, f"{indent}{upper}[{to}] = {bits};"]
    shift = f"{side.container_bits} * (k % {side.per_unit})"
    return [
        *out,
        f"std::vector<{kind}> {upper}({size} / {side.per_unit});",
        *heads,
        f"{indent}{upper}[({to}) / {side.per_unit}] |= static_cast<{kind}>({bits} << ({shift}));",
    ]


def _d_index(plan: Plan, several: bool) -> tuple[str, str]:
    """Return (elements of C and D, the index of (m, n))."""
    if plan.d_ldm:
        rows, at = ("M", f"m * {plan.d_ldm} + n") if plan.d_layout == "row" else ("N", f"n * {plan.d_ldm} + m")
        return f"{rows} * {plan.d_ldm}", at
    return f"{'P * ' if several else ''}M * N", _at(several, "m", "M", "n", "N")


def _sparse_a(plan: Plan) -> list[str]:
    """Return code for A with whole groups of zeros left out.

    stored, place (the position in its group of each stored element), a, and E.
    """
    i = plan.instruction
    op = i.operands["a"]
    s = op.sparsity
    assert s is not None
    positions, count = s.group // s.per_index, s.kept // s.per_index
    step = op.col_count
    picks = (
        ["const int first = pick(0, 1);"]
        if count == 1
        else [f"const int first = pick(0, {positions - 2}), second = pick(first + 1, {positions - 1});"]
    )
    chosen = "first" if count == 1 else f"x {'< ' + str(s.per_index) if s.per_index > 1 else '== 0'} ? first : second"
    inside = f" + x % {s.per_index}" if s.per_index > 1 else ""
    scaled = f" * {s.per_index}" if s.per_index > 1 else ""
    return [
        (
            f"// A keeps {s.kept} of every {s.group} columns: stored has them, place says which position of the group"
            " each had."
        ),
        f"const int KS = {plan.a.k};",
        "std::vector<int> stored(M * KS), place(M * KS);",
        "for (int m = 0; m < M; ++m)",
        f"  for (int g = 0; g < K / {s.group}; ++g) {{",
        *(f"    {line}" for line in picks),
        f"    for (int x = 0; x < {s.kept}; ++x) {{",
        f"      const int at = m * KS + g * {s.kept} + x;",
        f"      place[at] = {chosen};",
        f"      stored[at] = pick({_span(plan.a)});",
        f"      a[m * K + g * {s.group} + place[at]{scaled}{inside}] = stored[at];",
        "    }",
        "  }",
        *_metadata(i, plan, step),
    ]


def _metadata(i: Instruction, plan: Plan, step: int) -> list[str]:
    op = i.operands["a"]
    s = op.sparsity
    assert s is not None
    where = op.pattern.forward_formula(("row", "col"), op.words)
    index = s.index.forward_formula(("from", "number"), op.words)
    words = {name: _cpp(text) for name, text in where.items() if name not in ("row", "col")}
    number = _cpp(index["number"], plan.selector * op.values)
    code = "(position ? 0x{1:X}u : 0x{0:X}u)".format(*s.whole) if s.whole else "position"
    bit = f"{s.index_bits} * ({number})" + (f" & {32 - s.index_bits}" if s.whole else "")
    return [
        (
            "// Metadata: the thread that names an element's position, and the bits of its e that"
            f" do{f', selector {plan.selector}' if s.selectors > 1 else ''}."
        ),
        f"std::vector<unsigned> E({plan.steps} * {i.threads});",
        f"for (int step = 0; step < {plan.steps}; ++step)",
        f"  for (int thread = 0; thread < {i.threads}; ++thread)",
        f"    for (int i = 0; i < {op.values}; ++i) {{",
        *(f"      const int {name} = {text};" for name, text in words.items()),
        f"      const int row = {_cpp(where['row'])}, col = {_cpp(where['col'])};",
        f"      const unsigned position = static_cast<unsigned>(place[row * KS + step * {step} + col]);",
        f"      E[step * {i.threads} + {_cpp(index['from'], plan.selector * op.values)}] |= {code} << ({bit});",
        "    }",
    ]


def _cpp(expression: str, shift: int = 0) -> str:
    """Return a formula in `thread` and `i`, the value index moved up by `shift`."""
    text = expression.replace("%laneid", "(thread % 32)").replace("%warpid", "(thread / 32)")
    return re.sub(r"\bi\b", f"(i + {shift})", text) if shift else text


def _scales(plan: Plan) -> list[str]:
    out = []
    for name, scale in plan.instruction.scales.items():
        letter, count = name[-1], "M" if name == "scale_a" else "N"
        out += [
            (
                f"// One factor for each {'row of A' if letter == 'a' else 'column of B'} and {plan.k // scale.blocks}"
                " of K."
            ),
            f"std::vector<int> s{letter}({count} * {scale.blocks});",
            f"std::vector<unsigned char> S{letter.upper()}({count} * {scale.blocks});",
            (
                f"for (int at = 0; at < {count} * {scale.blocks}; ++at) S{letter.upper()}[at] = S_BITS[s{letter}[at] ="
                " pick(0, 2)];"
            ),
        ]
    return out


def _launch(plan: Plan, d_size: str) -> list[str]:
    given = parameters(plan)
    kind = dict(given)["D"].removesuffix("*")
    out = [f"std::vector<{kind}> D({d_size});"]
    out += [f"auto* const device_{name} = to_device({name});" for name, _ in given]
    shared = plan.shared_bytes
    if shared > DEFAULT_SHARED:
        out.append(f"CHECK(cudaFuncSetAttribute({NAME}, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared}));")
    arguments = ", ".join(f"device_{name}" for name, _ in given)
    out += [
        f"{NAME}<<<1, {plan.instruction.threads}, {shared}>>>({arguments});",
        "CHECK(cudaGetLastError());",
        "CHECK(cudaDeviceSynchronize());",
        "CHECK(cudaMemcpy(D.data(), device_D, D.size() * sizeof(D[0]), cudaMemcpyDeviceToHost));",
        " ".join(f"CHECK(cudaFree(device_{name}));" for name, _ in given),
        "",
    ]
    return out


def _check(plan: Plan, several: bool, d_at: str) -> list[str]:
    i = plan.instruction
    a, b = f"a[{_at(several, 'm', 'M', 'k', 'K')}]", f"b[{_at(several, 'k', 'K', 'n', 'N')}]"
    bitwise = "^" if "xor" in i.modifiers else "&"
    term = f"({a} {bitwise} {b})" if i.types["a"] == "b1" else f"{a} * {b}"
    for name, scale in i.scales.items():
        line = "m" if name == "scale_a" else "n"
        term += f" * S_VALUE[s{name[-1]}[{line} * {scale.blocks} + k / {plan.k // scale.blocks}]]"
    sign = "-" if plan.a.negated != plan.b.negated else "+"
    outer = (("p", "P"),) if several else ()
    heads, indent = _loops(0, *outer, ("m", "M"), ("n", "N"))
    begin = f"c[{_at(several, 'm', 'M', 'n', 'N')}]" if plan.accumulate else "0"
    where = ("D of product %d [%d][%d]", "p, m, n") if several else ("D[%d][%d]", "m, n")
    total = f"{'P * ' if several else ''}M * N"
    return [
        "int wrong = 0;",
        *heads[:-1],
        f"{heads[-1]} {{",
        f"{indent}double sum = {begin};",
        f"{indent}for (int k = 0; k < K; ++k) sum {sign}= {term};",
        f"{indent}const double got = value(D[{d_at}]);",
        (
            f'{indent}if (got != sum && wrong++ < 10) std::printf("{where[0]} = %g, expected %g\\n", {where[1]}, got,'
            " sum);"
        ),
        f"{indent[:-2]}}}",
        f'std::printf("%s: %d of %d elements of D differ\\n", wrong ? "FAILED" : "OK", wrong, {total});',
        "return wrong != 0;",
    ]
