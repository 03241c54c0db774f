"""The host half of a generated program in C++: random integers, buffers, the launch, the check on the CPU."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from lanescope.product.plan import ProductPlan, ProductSide
from lanescope.ptx import codec
from lanescope.render.kernel_device import NAME, get_unit_type, list_parameters
from lanescope.render.template import Templates, indent_lines

C_RANGE = (-8, 8)
DEFAULT_SHARED = 48 * 1024  # a kernel with more must opt in
_PROGRAMS = Templates(__package__)


def get_test_range(name: str) -> tuple[int, int]:
    """Return the least and greatest integer used as input of a type.

    Products and sums of such values are exact in every accumulator.
    """
    legal = codec.list_legal_values(name)
    return min(legal), max(legal)


def list_element_bits(name: str, low: int, high: int, padding: int) -> list[int]:
    """Return the encodings of the integers low … high, shifted up by the padding of their container."""
    bits = codec.encode_values(np.arange(low, high + 1), name)
    return [int(word) << padding for word in bits]


def render_includes(plan: ProductPlan) -> str:
    """Return the #include lines of the host half."""
    names = (*(("cmath",) if plan.instruction.types["d"] == "f16" else ()), "cstdio", "cstdlib", "vector")
    return "".join(f"#include <{name}>\n" for name in names)


def render_host(plan: ProductPlan) -> str:
    """Return the host half, which follows the kernel: tables, helpers, main."""
    i = plan.instruction
    d_size, d_at = _render_d_index(plan)
    names = [name for name, _ in list_parameters(plan)]
    shared = plan.shared_bytes
    sparse = i.operands["a"].sparsity is not None
    return _PROGRAMS.fill(
        "host.cu",
        tables=_tables(plan),
        value=_PROGRAMS.read_template("host_value_f16.cu" if i.types["d"] == "f16" else "host_value.cu"),
        m=i.sizes["m"],
        n=i.sizes["n"],
        k=plan.k,
        products=f", P = {plan.a.products}" if plan.a.products > 1 else "",
        a_size=_size(plan, "M * K"),
        b_size=_size(plan, "K * N"),
        c_size=_size(plan, "M * N"),
        pick_a=_render_sparse_a(plan) if sparse else f"for (int& x : a) x = pick({_format_range(plan.a)});",
        b_span=_format_range(plan.b),
        pick_c="for (int& x : c) x = pick({}, {});".format(*C_RANGE) if plan.accumulate else "",
        buffers=_render_buffer(plan, plan.a, "stored" if sparse else "a") + _render_buffer(plan, plan.b, "b"),
        accumulators=_accumulators(plan, d_size, d_at) if plan.accumulate else "",
        scales=_render_scales(plan),
        d_kind=_kind(plan, "D"),
        d_size=d_size,
        copies=[f"auto* const device_{name} = to_device({name});" for name in names],
        allow_shared=_allow_shared(shared) if shared > DEFAULT_SHARED else "",
        kernel=NAME,
        threads=i.threads,
        shared_bytes=shared,
        arguments=", ".join(f"device_{name}" for name in names),
        frees=" ".join(f"CHECK(cudaFree(device_{name}));" for name in names),
        check=_render_check(plan, d_at),
    )


def _kind(plan: ProductPlan, name: str) -> str:
    """Return the C type of a parameter's elements."""
    return dict(list_parameters(plan))[name].removeprefix("const ").removesuffix("*")


def _allow_shared(size: int) -> str:
    return f"CHECK(cudaFuncSetAttribute({NAME}, cudaFuncAttributeMaxDynamicSharedMemorySize, {size}));"


def _tables(plan: ProductPlan) -> list[str]:
    """Return the tables of encodings from which the matrices are filled."""
    i = plan.instruction
    tables = [
        _render_table(
            side.letter.upper(),
            side.element.name,
            *get_test_range(side.element.name),
            get_unit_type(side),
            side.padding_below,
        )
        for side in (plan.a, plan.b)
    ]
    if plan.accumulate and i.types["d" if "c" not in i.types else "c"] == "f16":
        tables.append(_render_table("C", "f16", *C_RANGE, "unsigned short"))
    for scale in list(i.scales.values())[:1]:
        codes = codec.list_scale_codes(scale.element.name)
        values = ", ".join(f"{value:g}" for value in codec.decode_bits(np.array(codes, np.uint64), scale.element.name))
        words = ", ".join(map(hex, codes))
        tables.append(f"static const unsigned char S_BITS[] = {{{words}}};  // {values} as {scale.element.name}")
        tables.append(f"static const double S_VALUE[] = {{{values}}};")
    return tables


def _render_table(name: str, element: str, low: int, high: int, kind: str, padding: int = 0) -> str:
    if element == "f64":
        words = ", ".join(f"{n}.0" for n in range(low, high + 1))
        return f"static const double {name}_BITS[] = {{{words}}};  // {low} to {high}"
    words = ", ".join(f"{word:#x}" for word in list_element_bits(element, low, high, padding))
    return f"static const {kind} {name}_BITS[] = {{{words}}};  // {low} to {high} as {element}"


def _nest(plan: ProductPlan, ranges: Sequence[tuple[str, str]], body: Sequence[str]) -> list[str]:
    """Return `for` loops over the products (if there are several) and over `ranges`, around `body`."""
    ranges = [("p", "P"), *ranges] if plan.a.products > 1 else ranges
    heads = [f"{'  ' * n}for (int {name} = 0; {name} < {count}; ++{name})" for n, (name, count) in enumerate(ranges)]
    inside = indent_lines(body, "  " * len(ranges))
    if len(body) == 1:
        return [*heads, *inside]
    return [*heads[:-1], f"{heads[-1]} {{", *inside, f"{'  ' * (len(ranges) - 1)}}}"]


def _size(plan: ProductPlan, elements: str) -> str:
    """Return the number of elements of a matrix, all products together, as a C++ expression."""
    return f"P * {elements}" if plan.a.products > 1 else elements


def _index(plan: ProductPlan, first: str, rows: str, second: str, cols: str) -> str:
    """Return the C++ index of element (p, first, second) of row-major matrices stored one after another."""
    line = f"(p * {rows} + {first})" if plan.a.products > 1 else first
    return f"{line} * {cols} + {second}"


def _format_range(side: ProductSide) -> str:
    low, high = get_test_range(side.element.name)
    return f"{low}, {high}"


def _accumulators(plan: ProductPlan, size: str, at: str) -> list[str]:
    """Return the lines that fill C in the kernel's order."""
    kind = _kind(plan, "C")
    value = f"c[{_index(plan, 'm', 'M', 'n', 'N')}]"
    code = f"C_BITS[{value} + {-C_RANGE[0]}]" if kind == "unsigned short" else f"static_cast<{kind}>({value})"
    return [f"std::vector<{kind}> C({size});", *_nest(plan, (("m", "M"), ("n", "N")), [f"C[{at}] = {code};"])]


def _render_buffer(plan: ProductPlan, side: ProductSide, source: str) -> list[str]:
    """Return the lines that fill the buffer of one multiplicand in the kernel's order."""
    upper, letter = side.letter.upper(), side.letter
    mn, count = ("m", "M") if letter == "a" else ("n", "N")
    depth = "KS" if source == "stored" else "K"
    read = _index(plan, "m", "M", "k", depth) if letter == "a" else _index(plan, "k", "K", "n", "N")
    to = _index(plan, mn, count, "k", depth) if side.major == "K" else _index(plan, "k", depth, mn, count)
    low, _ = get_test_range(side.element.name)
    bits = f"{upper}_BITS[{source}[{read}]{f' - {low}' if low > 0 else f' + {-low}' if low else ''}]"
    kind, size, per = get_unit_type(side), _size(plan, f"{count} * {depth}"), side.per_unit
    along = count if side.major == "MN" else "K"
    way = f"// {upper} in memory: {along}-major, its elements side by side along {along}"
    if per == 1:
        head = [f"{way}.", f"std::vector<{kind}> {upper}({size});"]
        put = f"{upper}[{to}] = {bits};"
    else:
        head = [f"{way}, {per} to a byte, the first in the low bits.", f"std::vector<{kind}> {upper}({size} / {per});"]
        shift = f"{side.container_bits} * (k % {per})"
        put = f"{upper}[({to}) / {per}] |= static_cast<{kind}>({bits} << ({shift}));"
    return [*head, *_nest(plan, ((mn, count), ("k", depth)), [put])]


def _render_d_index(plan: ProductPlan) -> tuple[str, str]:
    """Return (number of elements of C and D, index of (m, n)), both C++ expressions."""
    if plan.d_ldm:
        rows, at = ("M", f"m * {plan.d_ldm} + n") if plan.d_layout == "row" else ("N", f"n * {plan.d_ldm} + m")
        return f"{rows} * {plan.d_ldm}", at
    return _size(plan, "M * N"), _index(plan, "m", "M", "n", "N")


def _render_sparse_a(plan: ProductPlan) -> list[str]:
    """Return the lines that make a sparse A.

    They define `stored`, `place` (the position in its group of each stored element), the dense `a`, and the metadata E.
    """
    i = plan.instruction
    op = i.operands["a"]
    s = op.sparsity
    assert s is not None
    last, two = s.group // s.per_index - 1, s.kept > s.per_index
    second = f"x {'< ' + str(s.per_index) if s.per_index > 1 else '== 0'} ? first : second"
    shift = plan.selector * op.values
    where = op.pattern.forward_formula(("row", "col"), op.words)
    index = s.index.forward_formula(("from", "number"), op.words)
    return _PROGRAMS.lines(
        "host_sparse_a.cu",
        kept=s.kept,
        group=s.group,
        stored_k=plan.a.k,
        picks=f"const int first = pick(0, {last - 1}), second = pick(first + 1, {last});"
        if two
        else "const int first = pick(0, 1);",
        chosen=second if two else "first",
        span=_format_range(plan.a),
        scaled=f" * {s.per_index}" if s.per_index > 1 else "",
        inside=f" + x % {s.per_index}" if s.per_index > 1 else "",
        selector=f", selector {plan.selector}" if s.selectors > 1 else "",
        steps=plan.steps,
        threads=i.threads,
        values=op.values,
        words=[
            f"const int {name} = {_format_cpp(text)};" for name, text in where.items() if name not in ("row", "col")
        ],
        row=_format_cpp(where["row"]),
        col=_format_cpp(where["col"]),
        step_columns=op.col_count,
        source=_format_cpp(index["from"], shift),
        code="(position ? 0x{1:X}u : 0x{0:X}u)".format(*s.half_nibbles) if s.half_nibbles else "position",
        bit=f"{s.index_bits} * ({_format_cpp(index['number'], shift)})"
        + (f" & {32 - s.index_bits}" if s.half_nibbles else ""),
    )


def _format_cpp(expression: str, shift: int = 0) -> str:
    """Return a formula in `thread` and `i` as C++, the value index increased by `shift`."""
    text = expression.replace("%laneid", "(thread % 32)").replace("%warpid", "(thread / 32)")
    return re.sub(r"\bi\b", f"(i + {shift})", text) if shift else text


_SCALED = {"a": ("row of A", "M"), "b": ("column of B", "N")}  # which lines have factors, and how many lines


def _render_scales(plan: ProductPlan) -> list[str]:
    out = []
    for name, scale in plan.instruction.scales.items():
        letter = name[-1]
        line, count = _SCALED[letter]
        out += _PROGRAMS.lines(
            "host_scale.cu",
            line=line,
            elements=plan.k // scale.blocks,
            letter=letter,
            upper=letter.upper(),
            size=f"{count} * {scale.blocks}",
        )
    return out


def _render_check(plan: ProductPlan, d_at: str) -> list[str]:
    """Return the loops that compare each element of D with the sum of its products."""
    i = plan.instruction
    a, b = f"a[{_index(plan, 'm', 'M', 'k', 'K')}]", f"b[{_index(plan, 'k', 'K', 'n', 'N')}]"
    bitwise = "^" if "xor" in i.modifiers else "&"
    term = f"({a} {bitwise} {b})" if i.types["a"] == "b1" else f"{a} * {b}"
    for name, scale in i.scales.items():
        line = "m" if name == "scale_a" else "n"
        term += f" * S_VALUE[s{name[-1]}[{line} * {scale.blocks} + k / {plan.k // scale.blocks}]]"
    place, indices = ("D of product %d [%d][%d]", "p, m, n") if plan.a.products > 1 else ("D[%d][%d]", "m, n")
    body = _PROGRAMS.lines(
        "host_check.cu",
        first=f"c[{_index(plan, 'm', 'M', 'n', 'N')}]" if plan.accumulate else "0",
        sign="-" if plan.a.negated != plan.b.negated else "+",
        term=term,
        at=d_at,
        place=place,
        indices=indices,
    )
    return _nest(plan, (("m", "M"), ("n", "N")), body)
