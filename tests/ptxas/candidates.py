"""PTX lines worth asking ptxas about: every combination of qualifiers a family could take, far more than exist.

Written from PTX's syntax alone; it never looks at the tables it is used to judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.ptxas.assembler import Line

BITS = {
    "f64": 64,
    "f32": 32,
    "s32": 32,
    "tf32": 32,
    "f16": 16,
    "bf16": 16,
    "e4m3": 8,
    "e5m2": 8,
    "e3m2": 6,
    "e2m3": 6,
    "e2m1": 4,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}
MULTIPLICANDS = ("f16", "bf16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
ACCUMULATORS = ("f16", "f32", "f64", "s32")


class RegisterPool:
    """Hands out fresh register names, so that no operand overlaps another."""

    def __init__(self) -> None:
        self.next = {"r": 0, "f": 0, "d": 0}

    def vector(self, count: int, bits: int, kind: str) -> list[str]:
        letter = "d" if bits == 64 else "f" if kind == "f32" else "r"
        first = self.next[letter]
        self.next[letter] += count
        return [f"{letter}{n}" for n in range(first, first + count)]


def _count_registers(elements: int, bits: int, threads: int = 32) -> int:
    """Registers a thread needs, 0 where they do not come out whole."""
    total, width = elements * bits, (64 if bits == 64 else 32) * threads
    return total // width if total % width == 0 else 0


def format_braces(names: list[str]) -> str:
    return "{" + ",".join(names) + "}"


def format_mma_line(
    ptx: str,
    m: int,
    n: int,
    k: int,
    *,
    types: tuple[str, str, str, str],
    container: int = 0,
    tail: str = "",
    halve: int = 1,
) -> Line | None:
    """A dense or sparse mma line with its operand list, None where no whole number of registers holds an operand."""
    d, a, b, c = types
    products = 4 if (m, n, k) == (8, 8, 4) and a != "f64" else 1
    sizes = (
        (d, m * n, BITS[d]),
        (a, m * k // halve, max(container, BITS[a])),
        (b, k * n, max(container, BITS[b])),
        (c, m * n, BITS[c]),
    )
    pool = RegisterPool()
    vectors = []
    for kind, elements, bits in sizes:
        count = _count_registers(elements * products, bits)
        if not count:
            return None
        vectors.append(pool.vector(count, bits, kind))
    operands = ", ".join(format_braces(v) for v in vectors) + tail
    reads = (
        tuple(r for v in vectors[1:] for r in v)
        + (("r500",) if "r500" in tail else ())
        + (("r501", "r502") if "r501" in tail else ())
    )
    return Line(ptx, operands, reads, tuple(vectors[0]))


MMA_SHAPES = [(8, 8, k) for k in (4, 8, 16, 32, 64, 128)] + [(16, 8, k) for k in (4, 8, 16, 32, 64, 128, 256)]


def generate_mma() -> Iterator[Line]:
    """Every shape, type and kind of dense mma with row.col; then the layouts, rounding, saturation and bit
    operations.
    """
    for (m, n, k), d, a, b, c in product(MMA_SHAPES, ACCUMULATORS, MULTIPLICANDS, MULTIPLICANDS, ACCUMULATORS):
        if abs(BITS[a] - BITS[b]) > 4:  # operands of other register widths: nothing has ever taken these
            continue
        types, name = (d, a, b, c), f"mma.sync.aligned.m{m}n{n}k{k}"
        tail = f"{d}.{a}.{b}.{c}"
        forms: list[tuple[str, int]] = [(f"{name}.row.col.{tail}", 0)]
        if d == c:
            forms += [(f"{name}.row.col.kind::f8f6f4.{tail}", 8)]
            forms += [(f"{name}.row.col{r}.{tail}", 0) for r in (".rn", ".rz", ".rm", ".rp", ".satfinite")]
            forms += [(f"{name}.row.col.{tail}.{op}.popc", 0) for op in ("xor", "and", "or")]
        forms += [(f"{name}.{layout}.{tail}", 0) for layout in ("row.row", "col.col", "col.row")]
        for ptx, container in forms:
            line = format_mma_line(ptx, m, n, k, types=types, container=container)
            if line:
                yield line


def generate_wgmma(sparse: bool = False) -> Iterator[Line]:
    """wgmma.mma_async for every N to 256 in steps of 8, every k, types that could multiply, A by descriptor and
    register.
    """
    floats = [(d, a, b) for d in ("f16", "f32") for a, b in product(("f16", "bf16", "tf32", "e4m3", "e5m2"), repeat=2)]
    integers = [("s32", a, b) for a, b in product(("s8", "u8", "s4", "u4", "b1"), repeat=2)]
    step = 2 if sparse else 1
    for n, (d, a, b) in product(range(8, 265, 8), floats + integers):
        for k in {8 * step, 16 * step, 32 * step, 256 * step}:
            if BITS[a] * k != 256 * step or BITS[a] != BITS[b]:
                continue
            for from_registers in (False, True):
                for modifier in ("", ".satfinite", ".and.popc", ".xor.popc"):
                    yield format_wgmma_line(
                        n, k, (d, a, b), from_registers=from_registers, modifier=modifier, sparse=sparse
                    )


def format_wgmma_line(
    n: int,
    k: int,
    types: tuple[str, str, str],
    *,
    from_registers: bool,
    modifier: str = "",
    sparse: bool = False,
    selector: int = 0,
) -> Line:
    d, a, b = types
    pool = RegisterPool()
    out = pool.vector(_count_registers(64 * n, BITS[d], 128), BITS[d], d)
    left = pool.vector(4, 32, "b32") if from_registers else ["q0"]
    sp = ".sp" if sparse else ""
    ptx = f"wgmma.mma_async{sp}.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{modifier}"
    operands = [format_braces(out), format_braces(left) if from_registers else "q0", "q1"]
    operands += ["r500", str(selector)] if sparse else []
    operands += ["1"]
    if d != "s32":
        operands += ["1", "1"]
        if a in ("f16", "bf16"):
            operands += ["0"] if from_registers else ["0", "0"]
    return Line(ptx, ", ".join(operands), (*left, "q1", *out, *(("r500",) if sparse else ())), tuple(out))


def generate_mma_sp() -> Iterator[Line]:
    """Every shape and type of mma.sp, plain and ordered, with and without .satfinite and kind::f8f6f4; selector 0."""
    for m, n, k in [(16, 8, k) for k in (4, 8, 16, 32, 64, 128, 256)]:
        for d, a, b, c in product(ACCUMULATORS, MULTIPLICANDS, MULTIPLICANDS, ACCUMULATORS):
            if abs(BITS[a] - BITS[b]) > 4:
                continue
            for ordered in ("", "::ordered_metadata"):
                name = f"mma.sp{ordered}.sync.aligned.m{m}n{n}k{k}.row.col"
                forms = [(f"{name}.{d}.{a}.{b}.{c}", 0)]
                if d == c:
                    forms += [(f"{name}.satfinite.{d}.{a}.{b}.{c}", 0), (f"{name}.kind::f8f6f4.{d}.{a}.{b}.{c}", 8)]
                for ptx, container in forms:
                    line = format_mma_line(
                        ptx, m, n, k, types=(d, a, b, c), container=container, tail=", r500, 0", halve=2
                    )
                    if line:
                        yield line


def generate_mma_scaled() -> Iterator[Line]:
    """Block scaling: every kind, vector size, scale type and narrow type, dense and sparse."""
    narrow = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
    for k, kind, size, d, a, b, scale in product(
        (32, 64, 128),
        ("mxf8f6f4", "mxf4", "mxf4nvf4"),
        ("", ".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X"),
        ("f16", "f32"),
        narrow,
        narrow,
        ("ue8m0", "ue4m3"),
    ):
        for opcode, halve in (("mma", 1), ("mma.sp", 2), ("mma.sp::ordered_metadata", 2)):
            ptx = f"{opcode}.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale{size}.{d}.{a}.{b}.{d}.{scale}"
            metadata = ", r500, 0" if halve == 2 else ""
            tail = metadata + ", r501, {0, 0}, r502, {0, 0}"
            line = format_mma_line(
                ptx, 16, 8, k, types=(d, a, b, d), container=8 if kind == "mxf8f6f4" else 0, tail=tail, halve=halve
            )
            if line:
                yield line


def generate_wgmma_sp() -> Iterator[Line]:
    return generate_wgmma(sparse=True)


WMMA_SHAPES = ((16, 16, 16), (8, 32, 16), (32, 8, 16), (16, 16, 8), (8, 8, 4), (8, 8, 32), (8, 8, 128))


def _count_wmma_registers(elements: int, kind: str) -> int:
    return 8 if kind == "f16" else _count_registers(elements, BITS[kind])


def generate_wmma() -> Iterator[Line]:
    """load, store and mma of every wmma shape and type; a brace's size is PTX's: f16 a and b always eight registers."""
    for m, n, k in WMMA_SHAPES:
        shape = f"m{m}n{n}k{k}"
        for kind, layout in product(BITS, ("row", "col")):
            for letter, elements in (("a", m * k), ("b", k * n), ("c", m * n), ("d", m * n)):
                count = (
                    _count_wmma_registers(elements, kind) if letter in "ab" else _count_registers(elements, BITS[kind])
                )
                if count:
                    vector = RegisterPool().vector(count, BITS[kind], kind)
                    if letter == "d":
                        yield Line(
                            f"wmma.store.d.sync.aligned.{layout}.{shape}.{kind}",
                            f"[q0], {format_braces(vector)}, r500",
                            ("q0", "r500", *vector),
                        )
                    else:
                        yield Line(
                            f"wmma.load.{letter}.sync.aligned.{layout}.{shape}.{kind}",
                            f"{format_braces(vector)}, [q0], r500",
                            ("q0", "r500"),
                            tuple(vector),
                        )
        for la, lb in product(("row", "col"), repeat=2):
            head = f"sync.aligned.{la}.{lb}.{shape}"
            for d, c in product(("f16", "f32"), repeat=2):
                yield from _format_wmma_mma(f"wmma.mma.{head}.{d}.{c}", (m, n, k), (d, "f16", "f16", c))
            for a, b in product(("bf16", "tf32", "f16"), repeat=2):
                yield from _format_wmma_mma(f"wmma.mma.{head}.f32.{a}.{b}.f32", (m, n, k), ("f32", a, b, "f32"))
            for rounding in ("", ".rn", ".rz", ".rm", ".rp"):
                yield from _format_wmma_mma(
                    f"wmma.mma.{head}{rounding}.f64.f64.f64.f64", (m, n, k), ("f64", "f64", "f64", "f64")
                )
            for a, b in product(("s8", "u8", "s4", "u4"), repeat=2):
                for sat in ("", ".satfinite"):
                    yield from _format_wmma_mma(
                        f"wmma.mma.{head}.s32.{a}.{b}.s32{sat}", (m, n, k), ("s32", a, b, "s32")
                    )
            for op in ("xor", "and", "or"):
                yield from _format_wmma_mma(
                    f"wmma.mma.{op}.popc.{head}.s32.b1.b1.s32", (m, n, k), ("s32", "b1", "b1", "s32")
                )


def _format_wmma_mma(ptx: str, shape: tuple[int, int, int], types: tuple[str, str, str, str]) -> Iterator[Line]:
    (m, n, k), (d, a, b, c) = shape, types
    pool, vectors = RegisterPool(), []
    for kind, count in (
        (d, _count_registers(m * n, BITS[d])),
        (a, _count_wmma_registers(m * k, a)),
        (b, _count_wmma_registers(k * n, b)),
        (c, _count_registers(m * n, BITS[c])),
    ):
        if not count:
            return
        vectors.append(pool.vector(count, BITS[kind], kind))
    yield Line(
        ptx, ", ".join(format_braces(v) for v in vectors), tuple(r for v in vectors[1:] for r in v), tuple(vectors[0])
    )


MATRIX_TYPES = ("b16", "b8", "s8", "u8", "b4")
WIDENED = ("b8x16", "b8", "s8", "u8", "s16")
PACKED = ("b6x16_p32", "b4x16_p64", "b4", "s4", "u4")


def generate_movement() -> Iterator[Line]:
    """ldmatrix, stmatrix, movmatrix: every shape, count, .trans and format, through .shared."""
    for shape, (x, registers), trans in product(
        ("m8n8", "m16n16", "m8n16", "m16n8"), (("x1", 1), ("x2", 2), ("x4", 4)), ("", ".trans")
    ):
        for ending in (*MATRIX_TYPES, *(f"{wide}.{packed}" for wide, packed in product(WIDENED, PACKED))):
            for count in (registers, 2 * registers):
                vector = RegisterPool().vector(count, 32, "b32")
                ptx = f"ldmatrix.sync.aligned.{shape}.{x}{trans}.shared.{ending}"
                yield Line(ptx, f"{format_braces(vector)}, [r500]", ("r500",), tuple(vector))
                yield Line(ptx.replace("ldmatrix", "stmatrix"), f"[r500], {format_braces(vector)}", ("r500", *vector))
    for shape, trans, kind in product(("m8n8", "m16n16"), ("", ".trans"), ("b16", "b8")):
        yield Line(f"movmatrix.sync.aligned.{shape}{trans}.{kind}", "r0, r1", ("r1",), ("r0",))
