"""The generated program as a Python script: CuPy launches, NVRTC compiles, NumPy checks."""

from __future__ import annotations

import json
import re

import numpy as np

from lanescope.product.move_plan import MovePlan
from lanescope.product.plan import ProductPlan, ProductSide
from lanescope.ptx import catalog, codec
from lanescope.ptx.targets import list_compiled, strip_suffix
from lanescope.render.kernel_device import NAME, list_parameters, render_device
from lanescope.render.kernel_host import C_RANGE, DEFAULT_SHARED, get_test_range, list_element_bits
from lanescope.render.template import Templates

_PROGRAMS = Templates(__package__)

_NUMPY = {
    "double": "float64",
    "float": "float32",
    "unsigned": "uint32",
    "int": "int32",
    "unsigned short": "uint16",
    "unsigned char": "uint8",
}


def render_script(plan: ProductPlan, head: list[str]) -> str:
    """Return the Python script.

    head: the comment lines at its top.
    """
    i = plan.instruction
    names = [name for name, _ in list_parameters(plan)]
    shared = plan.shared_bytes
    sparse = i.operands["a"].sparsity is not None
    d_shape = _d_shape(plan)
    return _PROGRAMS.fill(
        "script.py.in",
        head="\n".join(head),
        source=render_device(plan, 'extern "C" '),
        constants=_render_constants(plan),
        targets=json.dumps(list_architectures(plan)),
        kernel=NAME,
        pick_a=_render_sparse_a(plan)
        if sparse
        else f"a = rng.integers({_format_bounds(plan.a)}, {_shape(plan, 'M', 'K')})",
        b_bounds=_format_bounds(plan.b),
        b_shape=_shape(plan, "K", "N"),
        c=f"rng.integers({C_RANGE[0]}, {C_RANGE[1] + 1}, {_shape(plan, 'M', 'N')})" if plan.accumulate else "0",
        buffers=_render_buffer(plan, plan.a, "stored" if sparse else "a") + _render_buffer(plan, plan.b, "b"),
        accumulators=_render_accumulator(plan, d_shape) if plan.accumulate else "",
        scales=_render_scales(plan),
        allow_shared=_PROGRAMS.lines("script_allow_shared.py.in", size=shared) if shared > DEFAULT_SHARED else "",
        d_shape=d_shape,
        d_dtype=_get_numpy_type(plan, "D"),
        inputs=", ".join(name for name in names if name != "D"),
        threads=i.threads,
        shared_bytes=shared,
        d_part=_format_d_part(plan),
        expected=_expected(plan),
    )


def _shape(plan: ProductPlan, first: str, second: str) -> str:
    return f"(P, {first}, {second})" if plan.a.products > 1 else f"({first}, {second})"


def _d_shape(plan: ProductPlan) -> str:
    """Return the shape of C and D in memory."""
    if not plan.d_ldm:
        return _shape(plan, "M", "N")
    return f"({'M' if plan.d_layout == 'row' else 'N'}, {plan.d_ldm})"


def _render_constants(plan: ProductPlan) -> list[str]:
    """Return the definitions of the sizes and of the tables of encodings."""
    i = plan.instruction
    out = [f"M, N, K = {i.sizes['m']}, {i.sizes['n']}, {plan.k}"]
    out += [f"P = {plan.a.products}"] if plan.a.products > 1 else []
    for side in (plan.a, plan.b):
        low, high = get_test_range(side.element.name)
        kind = _get_numpy_type(plan, side.letter.upper())
        words = (
            [float(n) for n in range(low, high + 1)]
            if side.element.bits == 64
            else list_element_bits(side.element.name, low, high, side.padding_below)
        )
        shown = ", ".join(f"{word}" if isinstance(word, float) else f"{word:#x}" for word in words)
        out.append(
            f"{side.letter.upper()}_BITS = np.array([{shown}], np.{kind})  # {low} to {high} as {side.element.name}"
        )
    for scale in list(i.scales.values())[:1]:
        codes = codec.list_scale_codes(scale.element.name)
        values = codec.decode_bits(np.array(codes, np.uint64), scale.element.name).tolist()
        out.append(
            f"S_BITS = np.array([{', '.join(map(hex, codes))}], np.uint8)  # {', '.join(f'{v:g}' for v in values)} as"
            f" {scale.element.name}"
        )
        out.append(f"S_VALUE = np.array({values})")
    return out


def _get_numpy_type(plan: ProductPlan, name: str) -> str:
    """Return NumPy's type of a parameter's elements; f16 C and D are NumPy's float16."""
    kind = dict(list_parameters(plan))[name].removeprefix("const ").removesuffix("*")
    return "float16" if name in "CD" and kind == "unsigned short" else _NUMPY[kind]


def list_architectures(plan: ProductPlan | MovePlan) -> dict[str, str]:
    """Return compute capability → compilation target, for every target that has the instruction."""
    names = list_compiled(catalog.get_target_support(plan.instruction).targets)
    return {strip_suffix(name).removeprefix("sm_"): name for name in names}


def _format_bounds(side: ProductSide) -> str:
    low, high = get_test_range(side.element.name)
    return f"{low}, {high + 1}"


def _render_buffer(plan: ProductPlan, side: ProductSide, source: str) -> list[str]:
    """Return the lines that make the buffer of one multiplicand in the kernel's order."""
    upper, low = side.letter.upper(), get_test_range(side.element.name)[0]
    turned = (side.letter == "a") != (side.major == "K")  # a is [m, k], b [k, n]
    bits = f"{upper}_BITS[{source}{f' - {low}' if low > 0 else f' + {-low}' if low else ''}]"
    bits += (".swapaxes(1, 2)" if plan.a.products > 1 else ".T") if turned else ""
    out = [
        f"{upper} = np.ascontiguousarray({bits})  #"
        f" {'lines of ' + ('K' if side.major == 'K' else 'M' if side.letter == 'a' else 'N')}"
    ]
    if side.per_unit > 1:
        shifts = f"np.arange(0, 8, {side.container_bits}, dtype=np.uint8)"
        out.append(
            f"{upper} = np.bitwise_or.reduce({upper}.reshape(len({upper}), -1, {side.per_unit}) << {shifts}, axis=2)  #"
            f" {side.per_unit} to a byte"
        )
    return out


def _render_accumulator(plan: ProductPlan, d_shape: str) -> list[str]:
    kind = _get_numpy_type(plan, "C")
    if not plan.d_ldm:
        return [f"C = c.astype(np.{kind})"]
    part = "C[:, :N] = c" if plan.d_layout == "row" else "C[:, :M] = c.T"
    return [f"C = np.zeros({d_shape}, np.{kind})", part]


def _render_scales(plan: ProductPlan) -> list[str]:
    out = []
    for name, scale in plan.instruction.scales.items():
        letter, count = name[-1], "M" if name == "scale_a" else "N"
        out += [
            f"s{letter} = rng.integers(0, 3, ({count}, {scale.blocks}))  # one factor for each {plan.k // scale.blocks}"
            " of K"
        ]
        out += [f"S{letter.upper()} = S_BITS[s{letter}]"]
    return out


def _format_d_part(plan: ProductPlan) -> str:
    if not plan.d_ldm:
        return ""
    return "[:, :N]" if plan.d_layout == "row" else "[:, :M].T"


def _expected(plan: ProductPlan) -> str:
    """Return the NumPy expression of the expected D."""
    i = plan.instruction
    if i.types["a"] == "b1":
        combined = "a[:, :, None] ^ b" if "xor" in i.modifiers else "a[:, :, None] & b"
        return f"c + ({combined}).sum(axis=1)"
    factors = {"a": "a", "b": "b"}
    for name, scale in i.scales.items():
        spread = f"np.repeat(S_VALUE[s{name[-1]}], {plan.k // scale.blocks}, axis=1)"
        factors[name[-1]] = f"(a * {spread})" if name == "scale_a" else f"(b * {spread}.T)"
    sign = "-" if plan.a.negated != plan.b.negated else "+"
    return f"c {sign} {factors['a']} @ {factors['b']}"


def _render_sparse_a(plan: ProductPlan) -> list[str]:
    """Return the lines that make a sparse A and its metadata, with whole arrays where the C++ half has loops."""
    op = plan.instruction.operands["a"]
    s = op.sparsity
    assert s is not None
    where = op.pattern.forward_formula(("row", "col"), op.words)
    index = s.index.forward_formula(("source", "number"), op.words)
    shift = plan.selector * op.values
    mask = f" & {32 - s.index_bits}" if s.half_nibbles else ""
    return _PROGRAMS.lines(
        "script_sparse_a.py.in",
        kept=s.kept,
        group=s.group,
        bounds=_format_bounds(plan.a),
        stored_k=plan.a.k,
        positions=s.group // s.per_index,
        count=s.kept // s.per_index,
        spread=f"np.repeat(kept, {s.per_index}, axis=2)" if s.per_index > 1 else "kept",
        inside=f" * {s.per_index} + np.arange({s.kept}) % {s.per_index}" if s.per_index > 1 else "",
        threads=plan.instruction.threads,
        values=op.values,
        words=[f"{name} = {format_python(text)}" for name, text in where.items() if name not in ("row", "col")],
        row=format_python(where["row"]),
        col=format_python(where["col"]),
        source=format_python(index["source"], shift),
        bit=f"{s.index_bits} * ({format_python(index['number'], shift)}){mask}",
        steps=plan.steps,
        step_columns=op.col_count,
        code="np.where(position > 0, 0x{1:X}, 0x{0:X})".format(*s.half_nibbles) if s.half_nibbles else "position",
    )


def format_python(expression: str, shift: int = 0) -> str:
    """Return a formula in `thread` and `i` as Python, the value index increased by `shift`."""
    text = expression.replace("%laneid", "(thread % 32)").replace("%warpid", "(thread // 32)").replace(" / ", " // ")
    return re.sub(r"\bi\b", f"(i + {shift})", text) if shift else text
