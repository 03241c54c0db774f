"""The same program as a Python script: CuPy launches, NVRTC compiles, NumPy checks."""

from __future__ import annotations

import json
import re

import numpy as np

from lanescope.product.plan import Plan, Side
from lanescope.ptx import catalog, codec
from lanescope.render.kernel_device import NAME, device, parameters
from lanescope.render.kernel_host import C_RANGE, DEFAULT_SHARED, span, table

_NUMPY = {
    "double": "float64",
    "float": "float32",
    "unsigned": "uint32",
    "int": "int32",
    "unsigned short": "uint16",
    "unsigned char": "uint8",
}


def script(plan: Plan, head: list[str]) -> str:
    """Return the .py file; head: lines that describe it."""
    kernel = device(plan, 'extern "C" ')
    parts = [
        '"""' + "\n".join(head) + '\n"""\n',
        "import sys\n\nimport cupy\nimport numpy as np\nfrom cupy_backends.cuda.libs import nvrtc\n",
        f'SOURCE = r"""\n{kernel}"""\n',
        _constants(plan),
        f'{_compile(plan)}\n\ndef run():\n    """(D as it should be, D as the device computed it), both [m, n]."""\n'
        + _indented(_run(plan)),
        MAIN,
    ]
    return "\n".join(parts)


MAIN = """
def main():
    wanted, got = run()
    wrong = np.argwhere(wanted != got)
    for at in wrong[:10].tolist():
        print(f"D{at} = {got[tuple(at)]:g}, expected {wanted[tuple(at)]:g}")
    print(f"{'FAILED' if len(wrong) else 'OK'}: {len(wrong)} of {wanted.size} elements of D differ")
    return int(len(wrong) > 0)


if __name__ == "__main__":
    sys.exit(main())
"""


def _indented(lines: list[str]) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in lines)


def _constants(plan: Plan) -> str:
    i = plan.instruction
    several = f"\nP = {plan.a.products}" if plan.a.products > 1 else ""
    out = [f"M, N, K = {i.sizes['m']}, {i.sizes['n']}, {plan.k}{several}"]
    for side in (plan.a, plan.b):
        low, high = span(side.element.name)
        kind = _dtype(plan, side.letter.upper())
        words = (
            [float(n) for n in range(low, high + 1)]
            if side.element.bits == 64
            else table(side.element.name, low, high, side.padding_below)
        )
        shown = ", ".join(f"{word}" if isinstance(word, float) else f"{word:#x}" for word in words)
        out.append(
            f"{side.letter.upper()}_BITS = np.array([{shown}], np.{kind})  # {low} to {high} as {side.element.name}"
        )
    for scale in list(i.scales.values())[:1]:
        codes = codec.scale_codes(scale.element.name)
        values = codec.decode(np.array(codes, np.uint64), scale.element.name).tolist()
        out.append(
            f"S_BITS = np.array([{', '.join(map(hex, codes))}], np.uint8)  # {', '.join(f'{v:g}' for v in values)} as"
            f" {scale.element.name}"
        )
        out.append(f"S_VALUE = np.array({values})")
    return "\n".join(out) + "\n"


def _dtype(plan: Plan, name: str) -> str:
    """Return NumPy's name of a parameter's elements; C and D of f16 are NumPy's own halves."""
    kind = dict(parameters(plan))[name].removeprefix("const ").removesuffix("*")
    return "float16" if name in "CD" and kind == "unsigned short" else _NUMPY[kind]


def architectures(plan: Plan) -> dict[str, str]:
    """Return compute capability → target to compile for, of every target that has the instruction."""
    out: dict[str, str] = {}
    for name in catalog.assembled(plan.instruction).targets:
        out.setdefault(name.removeprefix("sm_").rstrip("a"), name)
    return out


def _compile(plan: Plan) -> str:
    known = json.dumps(architectures(plan))
    lines = [
        "",
        "def compiled():",
        '    """The kernel, by NVRTC."""',
        "    capability = cupy.cuda.Device().compute_capability",
        f'    target = {known}.get(capability, f"sm_{{capability}}")',
        f'    program = nvrtc.createProgram(SOURCE, "{NAME}.cu", [], [])',
        "    try:",
        '        nvrtc.compileProgram(program, [f"--gpu-architecture={target}", "--std=c++17"])',
        "    except nvrtc.NVRTCError:",
        "        sys.exit(nvrtc.getProgramLog(program))",
        "    module = cupy.cuda.function.Module()",
        "    module.load(nvrtc.getCUBIN(program))",
        f'    return module.get_function("{NAME}")',
        "",
    ]
    return "\n".join(lines)


def _run(plan: Plan) -> list[str]:
    i = plan.instruction
    several = plan.a.products > 1
    sparse = i.operands["a"].sparsity is not None

    def shape(first: str, second: str) -> str:
        return f"(P, {first}, {second})" if several else f"({first}, {second})"

    lines = [
        "# Small whole numbers: every product and every sum is exact, so the check is for equality.",
        "rng = np.random.default_rng(20261121)",
    ]
    lines += _sparse_a(plan) if sparse else [f"a = rng.integers({_bounds(plan.a)}, {shape('M', 'K')})"]
    lines += [f"b = rng.integers({_bounds(plan.b)}, {shape('K', 'N')})"]
    lines += [f"c = rng.integers({C_RANGE[0]}, {C_RANGE[1] + 1}, {shape('M', 'N')})" if plan.accumulate else "c = 0"]
    lines += _buffer(plan.a, "stored" if sparse else "a", several) + _buffer(plan.b, "b", several)
    d_shape = shape("M", "N")
    if plan.d_ldm:
        d_shape = f"(M, {plan.d_ldm})" if plan.d_layout == "row" else f"(N, {plan.d_ldm})"
    if plan.accumulate:
        lines += _accumulator(plan, d_shape)
    lines += _scales(plan)
    lines += _launch(plan, d_shape)
    return [*lines, *_wanted(plan)]


def _bounds(side: Side) -> str:
    low, high = span(side.element.name)
    return f"{low}, {high + 1}"


def _buffer(side: Side, source: str, several: bool) -> list[str]:
    """Return code for one multiplicand in the order in which the kernel reads it."""
    upper, low = side.letter.upper(), span(side.element.name)[0]
    turned = (side.letter == "a") != (side.major == "K")  # a is [m, k], b [k, n]
    bits = f"{upper}_BITS[{source}{f' - {low}' if low > 0 else f' + {-low}' if low else ''}]"
    bits += (".swapaxes(1, 2)" if several else ".T") if turned else ""
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


def _accumulator(plan: Plan, d_shape: str) -> list[str]:
    kind = _dtype(plan, "C")
    if not plan.d_ldm:
        return [f"C = c.astype(np.{kind})"]
    part = "C[:, :N] = c" if plan.d_layout == "row" else "C[:, :M] = c.T"
    return [f"C = np.zeros({d_shape}, np.{kind})", part]


def _scales(plan: Plan) -> list[str]:
    out = []
    for name, scale in plan.instruction.scales.items():
        letter, count = name[-1], "M" if name == "scale_a" else "N"
        out += [
            f"s{letter} = rng.integers(0, 3, ({count}, {scale.blocks}))  # one factor for each {plan.k // scale.blocks}"
            " of K"
        ]
        out += [f"S{letter.upper()} = S_BITS[s{letter}]"]
    return out


def _launch(plan: Plan, d_shape: str) -> list[str]:
    names = [name for name, _ in parameters(plan)]
    shared = plan.shared_bytes
    out = ["", "kernel = compiled()"]
    if shared > DEFAULT_SHARED:
        out += [
            "driver = cupy.cuda.driver",
            f"driver.funcSetAttribute(kernel.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, {shared})",
        ]
    out += [
        f"D = cupy.zeros({d_shape}, np.{_dtype(plan, 'D')})",
        f"given = [cupy.asarray(array) for array in ({', '.join(name for name in names if name != 'D')})]",
        f"kernel((1,), ({plan.instruction.threads},), (*given, D), shared_mem={shared})",
        f"got = cupy.asnumpy(D).astype(float){_d_part(plan)}",
    ]
    return out


def _d_part(plan: Plan) -> str:
    if not plan.d_ldm:
        return ""
    return "[:, :N]" if plan.d_layout == "row" else "[:, :M].T"


def _wanted(plan: Plan) -> list[str]:
    i = plan.instruction
    if i.types["a"] == "b1":
        combined = "a[:, :, None] ^ b" if "xor" in i.modifiers else "a[:, :, None] & b"
        return [f"return c + ({combined}).sum(axis=1), got"]
    factors = {"a": "a", "b": "b"}
    for name, scale in i.scales.items():
        spread = f"np.repeat(S_VALUE[s{name[-1]}], {plan.k // scale.blocks}, axis=1)"
        factors[name[-1]] = f"(a * {spread})" if name == "scale_a" else f"(b * {spread}.T)"
    sign = "-" if plan.a.negated != plan.b.negated else "+"
    return [f"return c {sign} {factors['a']} @ {factors['b']}, got"]


def _sparse_a(plan: Plan) -> list[str]:
    """Return code for A with whole groups of zeros left out, and the metadata, as the C++ half does it."""
    i = plan.instruction
    op = i.operands["a"]
    s = op.sparsity
    assert s is not None
    positions, count = s.group // s.per_index, s.kept // s.per_index
    where = op.pattern.forward_formula(("row", "col"), op.words)
    index = s.index.forward_formula(("source", "number"), op.words)
    shift = plan.selector * op.values
    words = [f"{name} = {spelled(text)}" for name, text in where.items() if name not in ("row", "col")]
    bit = f"{s.index_bits} * ({spelled(index['number'], shift)})" + (f" & {32 - s.index_bits}" if s.whole else "")
    code = "np.where(position > 0, 0x{1:X}, 0x{0:X})".format(*s.whole) if s.whole else "position"
    spread = f"np.repeat(kept, {s.per_index}, axis=2)" if s.per_index > 1 else "kept"
    inside = f" * {s.per_index} + np.arange({s.kept}) % {s.per_index}" if s.per_index > 1 else ""
    return [
        (
            f"# A keeps {s.kept} of every {s.group} columns: stored has them, place says which position of the group"
            " each had."
        ),
        f"stored = rng.integers({_bounds(plan.a)}, (M, {plan.a.k}))",
        (
            f"kept = np.sort(rng.permuted(np.tile(np.arange({positions}), (M, K // {s.group}, 1)), axis=2)[:, :,"
            f" :{count}], axis=2)"
        ),
        f"place = {spread}.reshape(M, -1)",
        f"a = np.zeros((M, K // {s.group}, {s.group}), int)",
        f"np.put_along_axis(a, place.reshape(M, -1, {s.kept}){inside}, stored.reshape(M, -1, {s.kept}), axis=2)",
        "a = a.reshape(M, K)",
        "# Metadata: the thread that names an element's position, and the bits of its e that do.",
        f"thread, i = np.arange({i.threads})[:, None], np.arange({op.values})[None, :]",
        *words,
        f"row, col = np.broadcast_arrays({spelled(where['row'])}, {spelled(where['col'])})",
        f"source, bit = np.broadcast_arrays({spelled(index['source'], shift)}, {bit})",
        f"E = np.zeros(({plan.steps}, {i.threads}), np.uint32)",
        f"for step in range({plan.steps}):",
        f"    position = place[row, step * {op.col_count} + col]",
        f"    np.bitwise_or.at(E[step], source, ({code} << bit).astype(np.uint32))",
    ]


def spelled(expression: str, shift: int = 0) -> str:
    """Return a formula in `thread` and `i` as Python spells it, the value index moved up by `shift`."""
    text = expression.replace("%laneid", "(thread % 32)").replace("%warpid", "(thread // 32)").replace(" / ", " // ")
    return re.sub(r"\bi\b", f"(i + {shift})", text) if shift else text
