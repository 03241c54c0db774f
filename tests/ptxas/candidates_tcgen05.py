"""PTX lines of tcgen05 worth asking ptxas about: every combination of qualifiers, far more than exist.

Written from PTX's syntax alone; it never looks at the tables it is used to judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.ptxas.assembler import Line
from tests.ptxas.candidates import format_braces

PLAIN_KINDS = ("f16", "tf32", "f8f6f4", "i8", "ti16")
KINDS = (*PLAIN_KINDS, "mxf8f6f4", "mxf4", "mxf4nvf4")
USES = ("fill", "use", "lastuse", "discard")
VECTORS = ("", *(f".{name}" for name in ("scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32")))
OF_A, OF_B = (("", *(f".collector::{side}::{use}" for use in USES)) for side in "ab")
OF_WS = tuple(f".collector::b{buffer}::{use}" for buffer in range(4) for use in USES)

MOVED = {
    "32x32b": 1,
    "16x64b": 1,
    "16x128b": 2,
    "16x256b": 4,
    "16x32bx2": 1,
}  # registers a repetition, Tables 49 and 50


def generate_tcgen05_moves() -> Iterator[Line]:
    """tcgen05.ld, .ld.red, .st, .cp and .shift: every shape, count, packing, reduction, multicast and format."""
    for (shape, each), x, packed in product(MOVED.items(), (1, 2, 3, 4, 8, 16, 32, 64, 128, 256), (False, True)):
        registers = [f"r{n}" for n in range(each * x)]
        if len(registers) > 256:
            continue
        half = ", 16" if shape.endswith("x2") else ""
        pack, unpack = (".pack::16b", ".unpack::16b") if packed else ("", "")
        held, taddr = format_braces(registers), "[r599]"
        yield Line(
            f"tcgen05.ld.sync.aligned.{shape}.x{x}{pack}.b32", f"{held}, {taddr}{half}", ("r599",), (*registers,)
        )
        yield Line(f"tcgen05.st.sync.aligned.{shape}.x{x}{unpack}.b32", f"{taddr}{half}, {held}", ("r599", *registers))
        if packed:
            continue
        for op, abs_, nan, kind in product(("min", "max"), ("", ".abs"), ("", ".NaN"), ("f32", "u32", "s32", "b32")):
            result = "f299" if kind == "f32" else "r598"
            values = [f"f{n}" for n in range(each * x)] if kind == "f32" else registers
            yield Line(
                f"tcgen05.ld.red.sync.aligned.{shape}.x{x}.{op}{abs_}{nan}.{kind}",
                f"{format_braces(values)}, {result}, {taddr}{half}",
                ("r599",),
                (*values, result),
            )
    yield from _generate_compressing_loads()
    shapes = ("128x256b", "4x256b", "128x128b", "64x128b", "32x128b")
    casts = ("", ".warpx2::02_13", ".warpx2::01_23", ".warpx4")
    formats = ("", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64")
    for group, shape, cast, kind in product((1, 2), shapes, casts, formats):
        yield Line(f"tcgen05.cp.cta_group::{group}.{shape}{cast}{kind}", "[r599], q0", ("r599", "q0"))
    for group, way in product((1, 2), ("down", "up")):
        yield Line(f"tcgen05.shift.cta_group::{group}.{way}", "[r599]", ("r599",))


def _generate_compressing_loads() -> Iterator[Line]:
    """tcgen05.ld.spcompress and .ld.red.spcompress: every shape, count, choice, factor, type and size of an index."""
    for red, shape, x in product((False, True), MOVED, (1, 2, 4, 8, 16, 32, 64, 128)):
        for op, factor, abs_, nan, kind, bits in product(
            ("min", "max"), ("1:2", "2:4", "4:8"), ("", ".abs"), ("", ".NaN"), ("f32", "u32", "b32"), (2, 4)
        ):
            indices = [f"r{n}" for n in range(-(-x * bits // 64))]
            letter = "f" if kind == "f32" else "r"
            values = [f"{letter}{n}" for n in range(100, 100 + max(x // 2, 1))]
            result = [f"{letter}299"] if red else []
            operands = ", ".join((format_braces(indices), format_braces(values), *result, "[r599]"))
            name = f"tcgen05.ld{'.red' * red}.spcompress.sync.aligned.{shape}.x{x}.{op}.sp::{factor}"
            yield Line(f"{name}{abs_}{nan}.{kind}.b{bits}", operands, ("r599",), (*indices, *values, *result))


def generate_tcgen05_mma() -> Iterator[Line]:
    """tcgen05.mma, .sp, .ws and .ws.sp: every kind, group, scale vector and collector of A and of B, A by descriptor
    and in tensor memory, with and without .ashift.
    """
    collectors = (*(a + b for a, b in product(OF_A, OF_B)), *OF_WS)
    for ws, sp, group, kind, shift, collector in product(
        (False, True), (False, True), (1, 2), KINDS, ("", ".ashift"), collectors
    ):
        name = f"tcgen05.mma{'.ws' * ws}{'.sp' * sp}.cta_group::{group}.kind::{kind}"
        for scaled in _list_scalings(kind):
            yield from _format_products(f"{name}{scaled}{shift}{collector}", "r597" if sp else "")


def generate_tcgen05_lut() -> Iterator[Line]:
    """tcgen05.mma with a table from which B's elements are taken: every kind, group, scale vector and collector."""
    for sp, group, kind, a, b in product((False, True), (1, 2), KINDS, OF_A, OF_B):
        for scaled in _list_scalings(kind):
            for ending in dict.fromkeys((f"{scaled}.decompress::lut::b", _put_first(scaled))):
                name = f"tcgen05.mma{'.sp' * sp}.cta_group::{group}.kind::{kind}{ending}{a}{b}"
                yield from _format_products(name, "r597")


def _list_scalings(kind: str) -> tuple[str, ...]:
    return tuple(f".block_scale{vector}" for vector in VECTORS) if kind.startswith("mx") else ("",)


def _put_first(scaled: str) -> str:
    """.block_scale.block32 → .block_scale.decompress::lut::b.block32, as PTX writes it."""
    head = ".block_scale" if scaled else ""
    return f"{head}.decompress::lut::b{scaled.removeprefix(head)}"


def _format_products(name: str, beside: str) -> Iterator[Line]:
    """The line with A by a descriptor, and in tensor memory; beside: the register of metadata or of a table."""
    factors = ", [r595], [r594]" if ".block_scale" in name else ""
    extra = f", [{beside}]" if beside else ""
    for a, register in (("q0", "q0"), ("[r598]", "r598")):
        reads = ("r599", register, "q1", "r596", *filter(None, (beside,)), *(("r595", "r594") if factors else ()))
        yield Line(name, f"[r599], {a}, q1{extra}, r596{factors}, p", reads)
