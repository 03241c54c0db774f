"""CUDA C++ that converts an accumulator to A's registers: conversion intrinsics, packing, and shuffles where elements
change lanes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lanescope.ptx import codec
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Operand
from lanescope.ptx.pattern import IntArray
from lanescope.tiles.reuse import AccumulatorReuse

# The arguments of CUDA's conversion to a narrow float: type and rounding.
_NARROW = {
    "e4m3": "__NV_SATFINITE, __NV_E4M3",
    "e5m2": "__NV_SATFINITE, __NV_E5M2",
    "e3m2": "__NV_E3M2, cudaRoundNearest",
    "e2m3": "__NV_E2M3, cudaRoundNearest",
    "e2m1": "__NV_E2M1, cudaRoundNearest",
}
_TO_FLOAT = {"f32": "{}", "s32": "__int2float_rn({})", "f16": "__half2float({})", "f64": "__double2float_rn({})"}
_TO_INT = {"f32": "__float2int_rn({})", "f64": "__double2int_rn({})", "f16": "__half2int_rn({})", "s32": "{}"}


@dataclass(frozen=True, slots=True)
class TypeConversion:
    """The conversion of a source type to a target type: a C++ function of `values` elements, result packed from bit 0.

    headers: what to include. body: its statements, arguments x (and y). note: how it rounds, or what CUDA lacks.
    """

    name: str
    headers: tuple[str, ...]
    values: int
    body: str
    note: str

    def render_function(self, source: str, result: str) -> str:
        arguments = ", ".join(f"{get_dtype(source).cpp} {name}" for name in "xy"[: self.values])
        return f"// {self.note}\n__device__ inline {result} {self.name}({arguments}) {{ {self.body} }}"


def find_conversion(source: str, target: Operand) -> TypeConversion:
    """Return the conversion of an accumulator's type to A's container, with CUDA's intrinsics.

    From cuda_fp16.h, cuda_bf16.h, cuda_fp8.h, cuda_fp6.h, cuda_fp4.h.
    """
    name = target.element.name
    half = ("cuda_fp16.h",) if source == "f16" else ()
    if name in _NARROW:
        return _convert_to_narrow(source, target, half)
    if target.element.kind in ("int", "uint"):
        low, high = map(int, codec.get_bounds(name))
        mask = f" & 0x{(1 << target.element.bits) - 1:X}u"
        clamped = f"min(max({_TO_INT[source].format('x')}, {low}), {high})"
        rounded = "" if source == "s32" else "rounds to the nearest integer, "
        return TypeConversion(
            f"to_{name}", half, 1, f"return (unsigned){clamped}{mask};", f"{rounded}saturates to {low} … {high}"
        )
    if name == "b1":
        zero = "__half2float(x) != 0.0f" if source == "f16" else "x != 0"
        note = "CUDA has no conversion to one bit: this uses C++'s rule for bool, 1 if the value is not 0"
        return TypeConversion("to_b1", half, 1, f"return {zero};", note)
    if name == "f64":
        inner = "__half2float(x)" if source == "f16" else "x"
        return TypeConversion("to_f64", half, 1, f"return {inner};", "exact")
    if name == "tf32":
        return _convert_to_tf32(source, half)
    return _convert_to_16_bits(source, name, half)


def _convert_to_narrow(source: str, target: Operand, half: tuple[str, ...]) -> TypeConversion:
    """Return the conversion of pairs to 8-, 6- or 4-bit floats."""
    name, padding = target.element.name, target.padding_below
    bits, how = target.element.bits, _NARROW[name]
    kind, pair = {
        "f64": ("double2", "make_double2(x, y)"),
        "f16": ("halfraw2", "static_cast<__half2_raw>(__halves2half2(x, y))"),
    }.get(source, ("float2", f"make_float2({_TO_FLOAT[source].format('x')}, {_TO_FLOAT[source].format('y')})"))
    body = f"return __nv_cvt_{kind}_to_fp{bits}x2({pair}, {how});"
    if bits == 4 and target.container_bits == 8:
        body = (
            f"const unsigned p = __nv_cvt_{kind}_to_fp4x2({pair}, {how}); return (p & 0xFu) << {padding} | (p >> 4) <<"
            f" {8 + padding};"
        )
    note = "rounds to nearest even, saturates to the largest finite value"
    if target.container_bits > bits:
        note += f"; each element in bits {padding} to {padding + bits - 1} of its byte"
    return TypeConversion(f"to_{name}x2", (*half, f"cuda_fp{bits}.h"), 2, body, note)


def _convert_to_tf32(source: str, half: tuple[str, ...]) -> TypeConversion:
    if source == "f16":
        return TypeConversion(
            "to_tf32",
            half,
            1,
            "return __float_as_uint(__half2float(x));",
            "exact: tf32 has f16's significand and a wider exponent",
        )
    body = f'unsigned r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"({_TO_FLOAT[source].format("x")})); return r;'
    twice = {"s32": "; beyond 2^24 it is rounded to f32 first", "f64": "; rounded to f32 first"}.get(source, "")
    return TypeConversion("to_tf32", half, 1, body, f"rounds to nearest, ties away from zero (sm_80 and later){twice}")


def _convert_to_16_bits(source: str, name: str, half: tuple[str, ...]) -> TypeConversion:
    """Return the conversion to f16 or bf16, whose intrinsics have similar names."""
    header, c_name = {"f16": ("cuda_fp16.h", "half"), "bf16": ("cuda_bf16.h", "bfloat16")}[name]
    conversions = {
        "f32": f"__float2{c_name}_rn(x)",
        "s32": f"__int2{c_name}_rn(x)",
        "f64": f"__double2{c_name}(x)",
        "f16": "x" if name == "f16" else "__float2bfloat16_rn(__half2float(x))",
    }[source]
    note = "exact" if source == name else "rounds to nearest even"
    return TypeConversion(
        f"to_{name}", tuple(dict.fromkeys((*half, header))), 1, f"return __{c_name}_as_ushort({conversions});", note
    )


def render_code(reuse: AccumulatorReuse) -> str:
    """Return a function that makes A's registers of every K step from D's registers.

    It converts and packs where no element changes lanes, and uses shuffles elsewhere. Its argument d is the mma's
    result: one element per entry, for f16 a register of two.
    """
    source, target = reuse.source, reuse.target
    conversion = find_conversion(source.element.name, target)
    result = "double" if target.register_bits == 64 else "unsigned"
    shape = (f"[{reuse.steps}]" if reuse.steps > 1 else "") + f"[{target.registers}]"
    parameter, entries = (
        ("unsigned", source.registers) if source.element.bits < 32 else (source.element.cpp, source.values)
    )
    fill = _render_shuffles(reuse, conversion) if reuse.verdict == "shuffle" else _render_packing(reuse, conversion)
    used = any(conversion.name in line for line in fill)
    return (
        "\n".join(
            [
                *_render_comment(reuse),
                *(f"#include <{name}>" for name in conversion.headers if used),
                *(["", conversion.render_function(source.element.name, result), ""] if used else []),
                f"__device__ inline void d_to_a({result} (&a){shape}, const {parameter}"
                f" (&d)[{reuse.tiles}][{entries}]) {{",
                *("  " + line for line in fill),
                "}",
            ]
        )
        + "\n"
    )


def _render_comment(reuse: AccumulatorReuse) -> list[str]:
    source, target = reuse.source, reuse.target
    counts = [f"{reuse.tiles} tiles of D side by side"] * (reuse.tiles > 1) + [f"{reuse.steps} K steps"] * (
        reuse.steps > 1
    )
    out = [
        f"// A {target.row_count}×{target.col_count} of {target.element.name} from D"
        f" {source.row_count}×{source.col_count} of {source.element.name}{': ' if counts else ''}{', '.join(counts)}."
    ]
    if reuse.verdict == "reordered":
        order, period = reuse.order or (), reuse.period
        every = "" if period == len(order) else f", and so on every {period} rows"
        out.append(
            f"// K is taken in another order. Take B's rows in it, too: {' '.join(map(str, order[:period]))}{every}."
        )
    return out


def _format_register(reuse: AccumulatorReuse, step: int, register: int) -> str:
    return f"a[{step}][{register}]" if reuse.steps > 1 else f"a[{register}]"


def _format_element(source: Operand, tile: int, value: int) -> str:
    """Return one element of D as a C++ expression of its type."""
    if source.element.bits >= 32:
        return f"d[{tile}][{value}]"
    register, upper = divmod(value, 2)
    pair = f"d[{tile}][{register}]"
    half = f"({pair} >> 16)" if upper else pair
    return f"__ushort_as_half((unsigned short){half})"


def _render_packed(conversion: TypeConversion, elements: list[str], container: int) -> str:
    """Return a register with converted elements, packed from bit 0."""
    parts = []
    for at in range(0, len(elements), conversion.values):
        part = f"{conversion.name}({', '.join(elements[at : at + conversion.values])})"
        parts.append(f"{part} << {container * at}" if at else part)
    return " | ".join(parts)


def _render_packing(reuse: AccumulatorReuse, conversion: TypeConversion) -> list[str]:
    """Return code in which every lane packs its own elements, from the same positions in all lanes.

    A register that already has the right contents is used as it is.
    """
    source, target = reuse.source, reuse.target
    tiles, _, values = reuse.taken
    per = target.values // target.registers
    out = []
    for step in range(reuse.steps):
        for register in range(target.registers):
            part = slice(register * per, (register + 1) * per)
            sources = list(zip(tiles[step, 0, part].tolist(), values[step, 0, part].tolist(), strict=True))
            tile, first = sources[0]
            ready = source.element.name == target.element.name and sources == [
                (tile, first // per * per + n) for n in range(per)
            ]
            text = (
                f"d[{tile}][{first // per}]"
                if ready
                else _render_packed(conversion, [_format_element(source, *at) for at in sources], target.container_bits)
            )
            out.append(f"{_format_register(reuse, step, register)} = {text};")
    return out


def _render_shuffles(reuse: AccumulatorReuse, conversion: TypeConversion) -> list[str]:
    """Return code that fetches each element from the lane that holds it.

    Lanes that need different entries of D's registers are served one entry at a time.
    """
    source, target = reuse.source, reuse.target
    per = target.values // target.registers
    kind = source.element.cpp
    froms: dict[tuple[int, ...], str] = {}
    fill = []
    for step in range(reuse.steps):
        for register in range(target.registers):
            fill.append("{" + f" {kind} {', '.join(f'x{n}' for n in range(per))};")
            for inside in range(per):
                tile, lane, value = (
                    array[step, :32, register * per + inside] for array in (reuse.tile, reuse.lane, reuse.value)
                )
                name = froms.setdefault(tuple((lane % 32).tolist()), f"from{len(froms)}")
                fill += [f"  {line}" for line in _render_fetch(source, tile, value, f"x{inside}", name)]
            fill.append(
                f"  {_format_register(reuse, step, register)} ="
                f" {_render_packed(conversion, [f'x{n}' for n in range(per)], target.container_bits)}; }}"
            )
    tables = [
        f"constexpr unsigned char {name}[32] = {{{', '.join(map(str, lanes))}}};" for lanes, name in froms.items()
    ]
    return ["const unsigned lane = threadIdx.x % 32;", *tables, *fill]


def _render_fetch(source: Operand, tile: IntArray, value: IntArray, name: str, lanes: str) -> list[str]:
    """Return statements that assign to `name` the element each lane needs, one entry of D at a time."""
    out = []
    entries = sorted(set(zip(tile.tolist(), value.tolist(), strict=True)))
    for number, (t, v) in enumerate(entries):
        fetch = f"__shfl_sync(0xFFFFFFFFu, {_format_element(source, t, v)}, {lanes}[lane])"
        mask = sum(1 << lane for lane in np.flatnonzero((tile == t) & (value == v)).tolist())
        if not number:
            out.append(f"{name} = {fetch};")
        else:
            out.append(f"{{ const {source.element.cpp} y = {fetch}; if (0x{mask:08X}u >> lane & 1) {name} = y; }}")
    return out
