"""wmma.load, wmma.mma, wmma.store: maps that PTX does not specify, as measured on an H100 (sm_90), 2026-11-21.

The measured fragments are in tests/golden/hardware; other architectures are unknown until probed.
"""

from __future__ import annotations

from lanescope.ptx.instruction import (
    Family,
    InstructionVerb,
    OpcodeWords,
    OperandPlace,
    SourceReference,
    cite_ptx,
    cross_types,
)
from lanescope.ptx.table.mma import ROUNDING

SOURCE = SourceReference(
    "measured on an NVIDIA H100 80GB HBM3 (sm_90), CUDA 13.0, 2026-11-21", "wmma.load of matrices of element indices"
)
UNSPECIFIED = (
    "PTX leaves this map to the architecture. This is the map of an H100 (sm_90). Other architectures are unknown;"
    " probe them before you rely on the map."
)
MEASURED = "measured on H100 (sm_90), 2026-11-21"
SUB_BYTE = (
    "4-bit and single-bit wmma: PTX calls them preview features. From sm_90 on 4-bit products and .xor are emulated,"
    " later .and, too. Prefer mma."
)

MENU = -1  # before all other families in menus

OPCODES = {
    "a": OpcodeWords("wmma.load.a", "load A's fragment from memory", cite_ptx("9.7.14.4.3")),
    "b": OpcodeWords("wmma.load.b", "load B's fragment from memory", cite_ptx("9.7.14.4.3")),
    "c": OpcodeWords("wmma.load.c", "load an accumulator's fragment from memory", cite_ptx("9.7.14.4.3")),
    "d": OpcodeWords("wmma.store.d", "store an accumulator's fragment to memory", cite_ptx("9.7.14.4.4")),
}
PRODUCT = OpcodeWords(
    "wmma.mma", "multiply and accumulate fragments that wmma.load made, by one warp", cite_ptx("9.7.14.4.5"), "wmma"
)

SHAPES_16 = ("m16n16k16", "m8n32k16", "m32n8k16")
SPACES = ("global", "shared", "shared::cta")
LAYOUTS = ("row", "col")

# The side of A's rows or B's columns: 8, 16 or 32 of them. y and i are its register digits.
_SIDE = {8: "g", 16: "i g", 32: "y i g"}
_HALF = {8: "j:2 e:2", 16: "j:2 i:2 e:2", 32: "y:2 j:2 i:2 e:2"}
_HALF_B = {**_HALF, 16: "i:2 j:2 e:2"}  # B's 16 columns: the column half is the slower digit
_BYTE = {8: "e:4", 16: "i:2 e:4", 32: "y:2 i:2 e:4"}
_C = {
    "m16n16": "(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)",
    "m32n8": "(g:8 t:4) (y:2 i:2 e:2) -> (y i g) (t e)",
    "m8n32": "(g:8 t:4) (y:2 i:2 e:2) -> (t e) (y i g)",
    "m8n8": "(g:8 t:4) (e:2) -> (g) (t e)",
}


def _parse_sides(shape: str) -> tuple[int, int]:
    m, _, n = shape.split("k")[0][1:].partition("n")
    return int(m), int(n)


def _make_fragment_patterns(shape: str, kind: str) -> dict[str, str]:
    """Return the patterns of a, b, c and d for one shape and multiplicand type."""
    m, n = _parse_sides(shape)
    c = _C[shape.split("k")[0]]

    def half(copies: int, values: str) -> str:
        return f"(g:8 t:4) (c:{copies} {values}) -> "

    if kind == "f16":  # always 16 elements a lane, so smaller sides are held several times
        a, b = half(32 // m, _HALF[m]) + f"({_SIDE[m]}) (j t e)", half(32 // n, _HALF_B[n]) + f"(j t e) ({_SIDE[n]})"
    elif kind == "bf16":
        a, b = half(1, _HALF[m]) + f"({_SIDE[m]}) (j t e)", half(1, _HALF_B[n]) + f"(j t e) ({_SIDE[n]})"
    elif kind in ("s8", "u8"):
        a = f"(g:8 t:4) ({_BYTE[m]}) -> ({_SIDE[m]}) (t e)"
        b = f"(g:8 t:4) ({_BYTE[n]}) -> (t e) ({_SIDE[n]})"
    elif kind == "tf32":
        a, b = "(g:8 t:4) (j:2 i:2) -> (i g) (j t)", "(g:8 t:4) (i:2 j:2) -> (j t) (i g)"
    else:  # one register of v elements: f64, s4, u4, b1
        a, b = "(g:8 t:4) (e:v) -> (g) (t e)", "(g:8 t:4) (e:v) -> (t e) (g)"
    return {"a": a, "b": b, "c": c, "d": c}


# (multiplicand types, shapes, d and c types)
_KINDS = (
    ("f16", SHAPES_16, ("f16 f16", "f16 f32", "f32 f16", "f32 f32")),
    ("bf16", SHAPES_16, ("f32 f32",)),
    ("tf32", ("m16n16k8",), ("f32 f32",)),
    ("f64", ("m8n8k4",), ("f64 f64",)),
    ("s8", SHAPES_16, ("s32 s32",)),
    ("u8", SHAPES_16, ("s32 s32",)),
    ("s4", ("m8n8k32",), ("s32 s32",)),
    ("u4", ("m8n8k32",), ("s32 s32",)),
    ("b1", ("m8n8k128",), ("s32 s32",)),
)
_SMALL = ("s4", "u4", "b1")


def _make_load_family(letter: str, kind: str, shape: str, layouts: tuple[str, ...], fragment: str) -> Family:
    return Family(
        "wmma",
        OPCODES[letter],
        f"{OPCODES[letter].text}.sync.aligned.{{layout}}.{{shape}}.{{{letter}}}",
        (shape,),
        (kind,),
        {letter: fragment},
        source=SOURCE,
        verb=InstructionVerb.STORE if letter == "d" else InstructionVerb.LOAD,
        memory=OperandPlace.MATRIX,
        specified=False,
        menu=MENU,
        slots=letter,
        options={"layout": layouts},
        spaces=SPACES,
        note=UNSPECIFIED,
        measured=MEASURED,
        deprecated=SUB_BYTE if shape in ("m8n8k32", "m8n8k128") else "",
    )


def _make_load_families() -> list[Family]:
    families: dict[tuple[str, ...], Family] = {}
    for kind, shapes, accumulators in _KINDS:
        for shape in shapes:
            parts = _make_fragment_patterns(shape, kind)
            families["a", kind, shape] = _make_load_family(
                "a", kind, shape, ("row",) if kind in _SMALL else LAYOUTS, parts["a"]
            )
            families["b", kind, shape] = _make_load_family(
                "b", kind, shape, ("col",) if kind in _SMALL else LAYOUTS, parts["b"]
            )
            for accumulator in {c for pair in accumulators for c in pair.split()}:
                families["c", accumulator, shape] = _make_load_family("c", accumulator, shape, LAYOUTS, parts["c"])
                families["d", accumulator, shape] = _make_load_family("d", accumulator, shape, LAYOUTS, parts["d"])
    return [families[key] for key in sorted(families)]


def _make_mma_family(ptx: str, shape: str, kind: str, types: tuple[str, ...], **options: tuple[str, ...]) -> Family:
    return Family(
        "wmma",
        PRODUCT,
        ptx,
        (shape,),
        types,
        _make_fragment_patterns(shape, kind),
        source=SOURCE,
        specified=False,
        menu=MENU,
        options=options,
        note=UNSPECIFIED,
        measured=MEASURED,
        deprecated=SUB_BYTE if kind in _SMALL else "",
    )


def _make_mma_families() -> list[Family]:
    head = "wmma.mma.sync.aligned.{la}.{lb}.{shape}"
    both = {"la": LAYOUTS, "lb": LAYOUTS}
    sat = {"sat": ("", ".satfinite")}
    full = ".{d}.{a}.{b}.{c}"
    families = [
        _make_mma_family(
            head + ".{d}.{c}", shape, "f16", cross_types("{d} f16 f16 {c}", d="f16 f32", c="f16 f32"), **both
        )
        for shape in SHAPES_16
    ]
    families += [_make_mma_family(head + full, shape, "bf16", ("f32 bf16 bf16 f32",), **both) for shape in SHAPES_16]
    families += [_make_mma_family(head + full, "m16n16k8", "tf32", ("f32 tf32 tf32 f32",), **both)]
    families += [_make_mma_family(head + "{rnd}" + full, "m8n8k4", "f64", ("f64 f64 f64 f64",), **both, **ROUNDING)]
    families += [
        _make_mma_family(head + full + "{sat}", shape, kind, (f"s32 {kind} {kind} s32",), **both, **sat)
        for shape in SHAPES_16
        for kind in ("s8", "u8")
    ]
    row_col = "wmma.mma.sync.aligned.row.col.{shape}"
    families += [
        _make_mma_family(row_col + full + "{sat}", "m8n8k32", kind, (f"s32 {kind} {kind} s32",), **sat)
        for kind in ("s4", "u4")
    ]
    families += [
        _make_mma_family(
            "wmma.mma{op}.popc.sync.aligned.row.col.{shape}" + full,
            "m8n8k128",
            "b1",
            ("s32 b1 b1 s32",),
            op=(".xor", ".and"),
        )
    ]
    return families


FAMILIES = [*_make_load_families(), *_make_mma_families()]
