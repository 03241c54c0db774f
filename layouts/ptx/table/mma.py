"""Dense mma.sync, warp level. One row a PTX fragment page; PTX ISA 9.1, sections 9.7.14.5.1 to 9.7.14.5.14.

v is the number of elements in one register (f64: one in a 64-bit register), so the same three strings serve every type.
"""

from __future__ import annotations

from lanescope.ptx.instruction import Family, OpcodeWords, cite_ptx, cross_types

A = "(g:8 t:4) (j:k/4/v i:m/8 e:v) -> (i g) (j t e)"
B = "(g:8 t:4) (j:k/4/v e:v) -> (j t e) (g)"
D = "(g:8 t:4) (i:m/8 e:2) -> (i g) (t e)"
ABCD = {"a": A, "b": B, "c": D, "d": D}

OPCODE = OpcodeWords("mma", "multiply and accumulate, D = A·B + C, by one warp", cite_ptx("9.7.14.5.14"))
ROUNDING = {"rnd": ("", ".rn", ".rz", ".rm", ".rp")}
SATFINITE = {"sat": ("", ".satfinite")}
INTEGERS = "mma.sync.aligned.{shape}.row.col{sat}.{d}.{a}.{b}.{c}"
FLOATS = "mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{c}"
F8 = "e4m3 e5m2"
F8F6F4 = "e4m3 e5m2 e3m2 e2m3 e2m1"

# The four products of a Volta quad pair: lanes 4q…4q+3 (h = 0) and 16+4q…16+4q+3 (h = 1) work on product q.
_QUAD_A = {"row": "(h:2 q:4 t:4) (e:4) -> (h t) (e) (q)", "col": "(h:2 q:4 t:4) (e:4) -> (h e) (t) (q)"}
_QUAD_B = {"row": "(h:2 q:4 t:4) (e:4) -> (t) (h e) (q)", "col": "(h:2 q:4 t:4) (e:4) -> (e) (h t) (q)"}
_QUAD_D = {
    "f16": "(h:2 q:4 t:4) (e:8) -> (h t) (e) (q)",
    "f32": "(h:2 q:4 y:2 x:2) (k:2 j:2 e:2) -> (h j x) (k y e) (q)",
}

QUAD_PAIR = [
    Family(
        "mma",
        OPCODE,
        f"mma.sync.aligned.{{shape}}.{la}.{lb}.{{d}}.{{a}}.{{b}}.{{c}}",
        ("m8n8k4",),
        (f"{d} f16 f16 {c}",),
        {"a": _QUAD_A[la], "b": _QUAD_B[lb], "c": _QUAD_D[c], "d": _QUAD_D[d]},
        source=cite_ptx("9.7.14.5.1"),
        axes=dict.fromkeys("abcd", ("row", "col", "product")),
        note="Four 8×8×4 products per warp, one per quad pair. Optimized for sm_70: HMMA up to sm_75, emulated from"
        " sm_80 on.",
    )
    for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32"))
    for la in ("row", "col")
    for lb in ("row", "col")
]

FAMILIES = [
    *QUAD_PAIR,
    Family(
        "mma",
        OPCODE,
        FLOATS,
        ("m16n8k8", "m16n8k16"),
        ("f16 f16 f16 f16", "f32 f16 f16 f32"),
        ABCD,
        source=cite_ptx("9.7.14.5.7-8"),
    ),
    Family(
        "mma", OPCODE, FLOATS, ("m16n8k8", "m16n8k16"), ("f32 bf16 bf16 f32",), ABCD, source=cite_ptx("9.7.14.5.7-8")
    ),
    Family(
        "mma", OPCODE, FLOATS, ("m16n8k4", "m16n8k8"), ("f32 tf32 tf32 f32",), ABCD, source=cite_ptx("9.7.14.5.6-7")
    ),
    Family(
        "mma",
        OPCODE,
        "mma.sync.aligned.{shape}.row.col{rnd}.{d}.{a}.{b}.{c}",
        ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
        ("f64 f64 f64 f64",),
        ABCD,
        source=cite_ptx("9.7.14.5.2, .6-8"),
        options=ROUNDING,
    ),
    Family(
        "mma",
        OPCODE,
        INTEGERS,
        ("m8n8k16", "m16n8k16", "m16n8k32"),
        cross_types("s32 {a} {b} s32", a="s8 u8", b="s8 u8"),
        ABCD,
        source=cite_ptx("9.7.14.5.3, .9-10"),
        options=SATFINITE,
    ),
    Family(
        "mma",
        OPCODE,
        INTEGERS,
        ("m8n8k32", "m16n8k32", "m16n8k64"),
        cross_types("s32 {a} {b} s32", a="s4 u4", b="s4 u4"),
        ABCD,
        source=cite_ptx("9.7.14.5.4, .10-11"),
        options=SATFINITE,
        note="4-bit integers run in the tensor core up to sm_89; from sm_90 on they are emulated.",
    ),
    Family(
        "mma",
        OPCODE,
        "mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{c}{op}.popc",
        ("m8n8k128", "m16n8k128", "m16n8k256"),
        ("s32 b1 b1 s32",),
        ABCD,
        source=cite_ptx("9.7.14.5.5, .12-13"),
        options={"op": (".xor", ".and")},
        note="Single-bit .xor runs in the tensor core up to sm_89 and .and up to sm_90; later they are emulated.",
    ),
    Family(
        "mma",
        OPCODE,
        FLOATS,
        ("m16n8k16", "m16n8k32"),
        cross_types("{d} {a} {b} {d}", d="f16 f32", a=F8, b=F8),
        ABCD,
        source=cite_ptx("9.7.14.5.9-10"),
    ),
    Family(
        "mma",
        OPCODE,
        "mma.sync.aligned.{shape}.row.col.kind::f8f6f4.{d}.{a}.{b}.{c}",
        ("m16n8k32",),
        cross_types("{d} {a} {b} {d}", d="f16 f32", a=F8F6F4, b=F8F6F4),
        ABCD,
        source=cite_ptx("9.7.14.5.10"),
        container=8,
        note="Each element occupies an 8-bit container, so a register holds four of any type.",
    ),
]
