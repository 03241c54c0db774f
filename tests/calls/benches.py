"""What the workbench's modules answer. Names and spellings that they tell apart,
one call of each, and bounds at the bound and one beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from lanescope.descriptor.matrix import View
from lanescope.reader.code.evaluate import evaluate
from lanescope.workbench import bench, helpers, named, placed, said, scan, sizes, stores
from lanescope.workbench.found import Piece
from tests.benches import BOTH, MAPS, with_
from tests.calls import Call

WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"

# scan -----------------------------------------------------------------------------------------------------------------

INSTRUCTIONS = (
    f"{WGMMA} {{%0}}, %32, %33, 1, 1, 1, 0, 0;", f"{WGMMA} {{%0}}, %32, %33, 1, 1, 1, 1, 0;",
    f"{WGMMA} {{%0}}, %32, %33, p, 1, 1, 0, 1;", f"{WGMMA} {{%0}}, {{%1}}, %33, p, 1, 1, 1;", f"{WGMMA} d, a, b;",
    f"{WGMMA} d, a, b, 1, 1, 1, 0, 2;", f"{WGMMA} d, a, b, 1, 1, 1, 0;", f"{WGMMA} d, a, b", f"{WGMMA} d, a, b, c",
    f'{WGMMA} "\n  "{{%0, %1}}, (x, y), [z, 1] // b, 1;', f'{WGMMA} d, a, b, c, "x', f"{WGMMA}) d, a;", f"{WGMMA} d}}",
    f"{WGMMA}\\n\\t d,\\09 a,\\0A b,\\0d c;", f"{WGMMA}\\x d, a;", f'"{WGMMA[:20]}" "{WGMMA[20:]} d, a, b;"',
    f"{WGMMA} {'d' * 8188}, a;", f"{WGMMA} {'d' * 8189}, a;", f"{WGMMA} {'d' * 8190}, a;",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 d, a, b, meta, 0, p, 1, 1, 1, 0;",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 d, {a}, b, meta, 0, p, 1, 1, 1;",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 d, a, b, p, 1, 1;",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0}, [%1];", "wgmma.mma_async.m64n65k16.f32.f16.f16 d, a, b;",
    "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>", "SM90_64x64x16_F32F16F16_RS",
    "SM90_64x64x16_F32F16F16_RS<Major::K, Major::K>", "SM90_64x64x16_F32F16F16_SS<Major::MN, Major::MN>",
    "SM90::GMMA::MMA_64x64x16_F32F16F16_SS<Major::MN, Major::K>", "MMA_64x32x32_F32E4M3E4M3_RS_TN",
    "MMA_64x32x32_F32E4M3E4M3_SS_TN<>", "SM90_64x64x16", "MMA_64x65x16_F32F16F16_SS", "SM80_16x8x16_F32F16F16F32_TN",
    f"SM90_64x64x16_F32F16F16_SS<{' ' * 186}Major::MN>", f"SM90_64x64x16_F32F16F16_SS<{' ' * 200}Major::MN>",
    "MMA_64x64x16_F32F16F16_RS<Major::K; Major::MN>", "SM90_U32x4_STSM_N", "SM90_TMA_LOAD",
    "HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, !UPT", "HGMMA.64x64x16.F32 R24, gdesc[UR4].tnspB, R24",
    "HGMMA.64x64x16.F32.BF16 R24, gdesc[UR4].tnspA.tnspB, R24", "QGMMA.64x64x32.F32.E4M3.E4M3 R24, gdesc[UR4], R24",
    "IGMMA.64x64x32.S8.S8 R24, gdesc[UR4], R24", "BGMMA.64x64x256.AND.POPC R24, gdesc[UR4], R24",
    "HGMMA.64x64x16.F32 R24, R4, gdesc[UR4], R24", "XHGMMA.64x64x16.F32 R24", "HGMMA.64x63x16.F32 R24", "HGMMA R24",
    "xHGMMA.64x64x16.F32 R24, gdesc[UR4], R24", ".HGMMA.64x64x16.F32 R24, gdesc[UR4], R24",
)  # fmt: skip
LAYOUTS = (
    "sA: (64,64):(64,1)", "Sw<3,4,3> o smem_ptr[16b](0x400) o (64,64):(64,1)",
    "x = Swizzle<3, 4, 3> o _0 o (8,8):(8,1)",
    "Sw<3,4,3>_smem_ptr[16b](0x7f0000000400) o (64,64):(64,1)", "Sw<2,4,3> o smem_ptr[8b](unset) o (64,64):(64,1)",
    "Sw<1,4,3> o smem_ptr[32b](0x38C00) o (8,32):(32,1)", "Sw<1,4,3> o 0 o (8,32):(32,1)", "(8,8,2):(8,1,64)",
    "sB (8,8,(2,2)):(8,1,(64,128))", "(8,8,(2,2)):(8,1,(64,0))", "(8,8,1):(8,1,0)", "(8,8,3):(8,1,32)", "(8):(1)",
    "8:1", "(8,8,2,2):(8,1,64,128)", "((8,8),(8,2)):((8,64),(1,512))", "f((8,8):(8,1))", "(8,8):(8,1))", "(8,x):(8,1)",
    "(8,8):(8)", "Sw<3,4,3> o Sw<3,4,3> o (8,8):(8,1)", "tma.sA[0] = (8,8):(8,1)", "A B = (8,8):(8,1)",
    "_x1:(8,8):(8,1)",
    f"{'n' * 100} (8,8):(8,1)", f"({'8,' * 99}8,8):(8,1)", f"(8,8{' ' * 197}):(8,1)", f"(8,8{' ' * 198}):(8,1)",
    "Sw<3,4,3> o smem_ptr[16b](0x37FFF) o (64,64):(64,1)", "Sw<3,4,3> o smem_ptr[16b](0x38000) o (64,64):(64,1)",
    "Sw<3,4,3> o smem_ptr[16b](0x40000) o (64,64):(64,1)", "Sw<3,4,3> o smem_ptr[16b](0X400) o (64,64):(64,1)",
)  # fmt: skip


def of_scanned() -> Iterator[Call]:
    for text in INSTRUCTIONS:
        yield f"mentions {text[:70]}", lambda text=text: list(scan.mentions(text))
    for text in LAYOUTS:
        yield f"layouts {text[:70]}", lambda text=text: list(scan.layouts(text))
    one, wrong, atom = f"{WGMMA} d, a, b; ", "SM90_1x1x1_F32F16F16_SS ", "SM90_64x64x16_F32F16F16_SS "
    gmma = "HGMMA.64x64x16.F32 R24, gdesc[UR4], R24;\n"
    for of, many in product((one, gmma, atom, "(8,8):(8,1) "), (31, 32, 33)):
        yield (
            f"{many} {of[:9]}",
            lambda of=of, n=many: [len(list(scan.mentions(of * n))), len(list(scan.layouts(of * n)))],
        )
    for many in (16, 17, 18):
        yield f"{many} that are none", lambda n=many: list(scan.mentions(wrong * n + atom))
    yield "no more after those", lambda: list(scan.mentions(one * 31 + gmma + atom))[30:]
    for label in ("desc_a[3]", "desc_a3", "a(12)", "b:3", "c]", "x[1][2]", "", "7"):
        yield f"label {label}", partial(scan.plain_label, label)
    for text in ("desc_a[0]: 0x4000004000010040\ndesc_a[1]: 0x4000004000010042", "b = 4611686293305360448", "x"):
        yield f"words {text[:40]}", lambda text=text: list(scan.words(text))
    tiled = "auto l = tile_to_shape(GMMA::Layout_K_SW{}_Atom<{}>{{}}, Shape<{},{}>{{}});"
    for wide, kind, bits in product((128, 64), ("half_t", "T"), (None, 8, 16)):
        text = tiled.format(wide, kind, "_64,_64", "_4")
        yield f"tiled {wide} {kind} {bits}", lambda text=text, bits=bits: list(scan.tiled(text, bits))
    for shape in ("_0,_64", "_64,_0"):
        text = tiled.format(128, "half_t", shape, "_1") + tiled.format(128, "half_t", "_64,_64", "_4")
        yield f"tiled without elements {shape}", lambda text=text: list(scan.tiled(text, None))


# names ----------------------------------------------------------------------------------------------------------------

BUILDERS = (
    "make_desc", "get_desc", "create_smem_desc", "build_desc", "construct_desc", "init_desc", "new_desc", "to_desc",
    "gen_desc", "generate_desc", "compute_desc", "encode_desc", "smem_desc", "shared_desc", "gmma_desc", "wgmma_desc",
    "matrix_desc", "mat_desc", "matdesc", "desc", "descriptor", "desc_from_ptr", "desc_for", "descs_of_a", "MakeDesc",
    "mydesc", "describe", "x_descriptor", "make_tensor_map_desc", "make_tensormap_desc", "make_tma_desc",
    "prefetch_smem_desc", "make_idesc", "make_i_desc", "make_instr_desc", "make_tensor_desc", "smem_desc_destroy",
    "smem_desc_print", "smem_desc_decode", "cublas_create_desc", "cudnn_create_desc", "cusparse_create_desc",
    "cufft_create_desc", "vk_create_desc", "smem_make_x", "matrix_descriptor_encode",
)  # fmt: skip
CALLS = (
    "wgmma_m64n128k16", "wgmma64x128x16", "mma_64n128k16", "mma_m64n128k16_f16", "mma_m64n128k16_bf16",
    "mma_m64n128k16_f32f16f16", "mma_m64n128k16_f32_bf16", "mma_m64n128k16_bf16_f32", "mma_m64n128k16_f16f16",
    "wgmma_f32_tf32_m64n8k8", "mma_m64n8k32_e4m3", "mma_m64n8k32_e5m2", "mma_m64n8k32_f32e4m3e5m2", "mma_m64n8k32_s8",
    "mma_m64n8k32_u8", "mma_m64n8k32_s32s8u8", "mma_m64n8k256_b1", "mma_m64n128k16_f32", "WGMMA_M64N128K16_BF16",
    "mma_m64n128k17", "mma_m65n128k16", "mma_164x128x16", "mma_m64n1280k16", "mma_m64n128k1600", "mma_m64n128k160",
    "xma_m64n128k16", "mma_m128n128k16", "mma_m64n64k16_s8", "warpgroup_mma_64x64x32", "mma_64x256x8_f16_tf32",
)  # fmt: skip
MAPPED = ("BFLOAT16", "FLOAT16", "TFLOAT32", "TFLOAT32_FTZ", "FLOAT32", "UINT8", None)


def of_names() -> Iterator[Call]:
    """Functions by their names, without their code."""
    for name in BUILDERS:
        code = evaluate(f"void f() {{ uint64_t d = {name}(sA); use(d); }}")
        for text in (f"{WGMMA} d, a, b;", ""):
            read = tuple(scan.mentions(text))
            yield f"builder {name} {len(read)}", lambda code=code, read=read: helpers.called(code, read)
    text = "".join(f"uint64_t d{n} = make_desc{n}(s); uint64_t e{n} = make_desc{n}(t);" for n in range(6))
    yield "builders", lambda: helpers.called(evaluate(f"void f() {{ {text} }}"), ())
    yield "piece", lambda: [helpers.piece("make", [(1, 4)]), helpers.missing("make")]
    for value in ("", "128B", "64B", "none", "x"):
        yield f"asked {value}", lambda v=value: helpers.asked({"make": 1, "other": 2}, {"builder.make": v})
    call = "void f(uint64_t desc_x) {{ {}({}); }}"
    for name in CALLS:
        code = call.format(name, "acc, desc_a, desc_b")
        yield f"call {name}", lambda code=code: named.called(evaluate(code), ())  # type: ignore[arg-type]
    for kind in MAPPED:
        yield (
            f"call of a map of {kind}",
            lambda kind=kind: [
                named.called(evaluate(call.format(name, "d, desc_a, desc_b")), (None, kind))  # type: ignore[arg-type]
                for name in ("mma_m64n8k16", "mma_m64n8k8", "mma_m64n8k16_f16")
            ],
        )
    yield "call without arguments", lambda: named.called(evaluate(call.format("mma_m64n8k16", "")), ())  # type: ignore[arg-type]


# alignments -----------------------------------------------------------------------------------------------------------

DECLARED = (
    "__shared__ alignas(128) half sA[64];", "extern __shared__ __align__(1024) uint8_t smem[];",
    "__shared__ __attribute__((aligned(256))) half sA[4], sB[8];", "__attribute__ (( __aligned__ ( 64 ))) int x;",
    "__attribute__((__aligned(64))) int x;", "alignas(48) int x;", "alignas(0) int x;", "alignas(1) int x;",
    "alignas(999999) int x[2];", "alignas(524288) int x[2];", "alignas(1048576) int x[2];", "alignas(N) int x; N = 64",
    "const int N = 128; alignas(N) int x[1];", "#define ALIGN 256\nstruct { alignas(ALIGN) T a; };",
    "alignas(M) int x;",
    "alignas(64) int x; alignas(32) int x;", "alignas(32) int x; alignas(64) int x;", "int x alignas(64), y;",
    "alignas(64) // the tile y;\n half sA[2] /* sB[3]; */;", "struct alignas(64) S { int x[2]; };",
    "alignas(64) T x = 3;",
    "alignas(64) T x", "half x[3] __align__(16);", "alignas(  64  ) T x;", "T y; alignas(64) T x, z;", "alignas(64);",
    "{alignas(64) T x}", "alignas(64) T " + "x" * 1990 + "[1], y[2];", "/* a\n b */ alignas(64) T /* sX[1] \n */ x[3];",
)  # fmt: skip


def of_aligned() -> Iterator[Call]:
    for text in DECLARED:
        yield text[:80], partial(placed.declared, text)
    many = "".join(f"alignas(16) T x{n};" for n in range(258))
    yield "many", lambda: list(placed.declared(many))[-2:]
    amounts = "".join(f"alignas(N{n}) T x{n}; N{n} = 32;" for n in range(26))
    yield "amounts", lambda: list(placed.declared(amounts))[-2:]
    for least, name in product(
        (1, 8, 15, 16, 127, 128, 512, 1023, 1024, 2048), ("sA", "s.sA", "sA.x", "other", "x.sA.y")
    ):
        known = {"sA": least, "y": 64} if "." in name else {"sA": least}
        yield f"{name} of {least}", lambda name=name, k=known: [placed.stated(name, k), placed.begin(name, 1024, k)]


# sizes ----------------------------------------------------------------------------------------------------------------

TYPES = (
    "T", "TA", "Element", "value_t", "inT", "T_IN", "elem", "dtype", "type", "scalar_x", "half2", "float4", "bf", "fp8",
    "A", "AB", "B", "In", "C", "X", "Config", "params", "Tile", "atom", "x8", "Things", "fp", "tt",
)  # fmt: skip
POINTERS = (
    "sA", "pA", "s_A", "p_B", "xsA", "ptr", "aptr", "smem", "shared_a", "buf", "tile", "sa", "pb", "sab", "base", "x",
    "S",
    "address", "As",
)  # fmt: skip


def of_sized() -> Iterator[Call]:
    (read,) = {m.instruction for m in scan.mentions(f"{WGMMA} d, a, b;")}
    (eight,) = {m.instruction for m in scan.mentions("wgmma.mma_async.m64n8k32.f32.e4m3.e4m3 d, a, b;")}
    (one_bit,) = {m.instruction for m in scan.mentions("wgmma.mma_async.m64n8k256.s32.b1.b1.and.popc d, a, b;")}
    build = "uint64_t make({0} p) {{ return (((uint64_t)__cvta_generic_to_shared(p)) >> 4) | 64ull << 32; }}\n"
    for name in POINTERS:
        for kind, cast in (("void*", ""), ("auto", "(uint8_t*)"), ("uint64_t", "(uint64_t)")):
            text = (
                build.format(kind) + f"void f() {{ for (int k = 0; k < 2; ++k) mma(make({cast}({name} + k * 16))); }}"
            )
            yield f"{cast}{name} {kind}", lambda text=text: sized(text, eight)
    for name in TYPES:
        text = build.format("uint32_t") + f"void f(uint32_t b) {{ mma(make(b + 16 * sizeof({name}))); }}"
        yield f"sizeof({name})", lambda text=text: [sized(text, one) for one in (read, one_bit, None)]
    text = (
        build.format("uint32_t")
        + "void f(uint32_t b, int k) { mma(make(b + k * sizeof(T))); mma(make(b + sizeof(T) * k)); }"
    )
    for given in ({}, {"size.T": "4"}, {"size.T": "0"}, {"size.T": "256"}, {"size.T": "257"}, {"size.T": "x"}):
        yield f"given {given}", lambda given=given: sized(text, read, given)
    every = "".join(f"mma(make(b + 16 * sizeof(T{n}_t)));" for n in range(18))
    yield "sizes", lambda: sized(build.format("uint32_t") + f"void f(uint32_t b) {{ {every} }}", read)


def sized(text: str, one: Any, given: dict[str, str] | None = None) -> list[Any]:
    made = evaluate(text)
    assert made is not None
    taken = sizes.taken(made, one, given or {})
    put = sizes.put(made, {size: int(value.value) for size, value in taken})
    return [sizes.open_sizes(made), taken, [str(f.value) for f in put.found], [str(c.term) for c in put.made]]


# whole texts with other names -----------------------------------------------------------------------------------------

LOOPS = (
    "k", "kk", "k1", "K", "k_", "k_x", "x_k", "ki", "kstep", "k_iter", "kblock", "k_inner", "kidx", "inner_k", "subk",
    "kkx", "aK", "i", "stage", "pipe", "buf", "slot", "s", "st", "phase", "ss", "m", "mm", "mi", "m_x", "x_m", "wm",
    "n",
    "nn", "ni", "n_x", "x_n", "wn", "tile", "k_tile", "block", "k_block", "iter", "outer", "chunk", "x",
)  # fmt: skip
CODE = BOTH[BOTH.index("__device__") :]
HEAD = "for (int k = 0; k < 4; ++k) {"
OPERANDS = (
    ("a", "sA + k * 32", "sB"),
    ("b", "sA", "sB + k * 32"),
    ("both", "sA + k * 32", "sB + k * 32"),
    ("none", "sA", "sB"),
)


def looped(name: str, a: str, b: str, within: str = "") -> str:
    """The code of BOTH, without its tensor maps, with its loop's variable called otherwise, and what it moves."""
    return with_(
        (HEAD, f"for (int {name} = 0; {name} < 2; ++{name}) {{ {within}"),
        ("sA + k * 32", a.replace("k * ", f"{name} * ")), ("sB + k * 32", b.replace("k * ", f"{name} * ")),
        text=CODE + "}" * bool(within),
    )  # fmt: skip


def of_loops() -> Iterator[Call]:
    for n, (name, (which, a, b)) in enumerate(product(LOOPS, OPERANDS)):
        if n % 4 not in ((n // 4) % 4, 2):  # moving both tells most: each name so, and in one other way
            continue
        yield f"{name} moves {which}", lambda name=name, a=a, b=b: slices(looped(name, a, b))
    for name, inner in (("m", "k"), ("n", "k"), ("i", "j"), ("stage", "k"), ("k_tile", "j"), ("i", "n"), ("n", "i")):
        within = f"for (int {inner} = 0; {inner} < 2; ++{inner}) {{"
        for a, b in (
            (f"sA + k * 8192 + {inner} * 32", f"sB + {inner} * 32"),
            (f"sA + {inner} * 32", f"sB + k * 8192 + {inner} * 32"),
        ):
            yield f"{name} around {inner} {a}", lambda n=name, a=a, b=b, w=within: slices(looped(n, a, b, w))
    steps = "".join(
        f'da = make(sA + {a}); db = make(sB + {b}); asm volatile("{WGMMA} {{%0, %31}}, %32, %33, 1, 1, 1, 0, 0;"'
        f' : "+f"(d[0]) : "l"(da), "l"(db));\n'
        for a, b in ((0, 0), (32, 32), (0, 8192), (32, 8224), (8192, 0), (8192, 8192), (8224, 8224), (0, 0))
    )
    head = CODE.partition(HEAD)[0]
    yield "written out", lambda: slices(f"{head}uint64_t da, db;\n{steps}")


def slices(text: str) -> list[Any]:
    made = bench(text)
    return [
        made.verdict,
        *((o.name, o.k_steps, o.stages, [(s.stage, s.mn, s.k, s.verdict[:2]) for s in o.steps]) for o in made.operands),
    ]  # fmt: skip


# stores ---------------------------------------------------------------------------------------------------------------

SEEN = View(64, 16, 16, "K")
NAMES = (
    "sA", "sB", "smem_K", "Q", "tma_map_K", "lhs", "rhs", "a_tile", "xs", "weights", "A_desc", "&map_a", "tensorMapB",
    "smemQuery", "KV", "Qs", "as", "sh_a", "dev_b", "host", "uint", "start", "data", "shm_rhs",
)  # fmt: skip


def of_stored() -> Iterator[Call]:
    every = [stores.Store(n, layout=next(scan.layouts(f"{x}: (64,64):(64,1)")), name=x) for n, x in enumerate(NAMES)]
    for one in every:
        yield f"name {one.name}", lambda one=one: [one.names, one.operand, stores._words(one.name)]
    addressed: dict[str, list[str]]
    for picked in ((), (0,), (0, 1), (3,), (3, 9), (9,), (9, 8), (9, 8, 10), (5, 6), (2, 3), (13, 14), (1, 9), (0, 0)):
        held = [every[n] for n in picked]
        for operands, addressed, used, given in (
            (["a", "b"], {}, (), {}), (["b"], {}, (), {}), (["a"], {"a": ["smem_Q"]}, (), {}),
            (["a", "b"], {"a": ["weights"], "b": ["xs"]}, (), {}), (["a", "b"], {}, picked, {}),
            (["a", "b"], {"a": ["sA"], "b": ["sK"]}, picked[:1], {}),
            (["a", "b"], {}, (), {"storage.a": str(picked[-1]) if picked else "0", "storage.b": "99"}),
        ):  # fmt: skip
            words = f"{picked} {operands} {addressed} {used} {given}"
            yield words, lambda h=held, o=operands, a=addressed, u=used, g=given: paired(h, o, g, None, a, u)
        yield f"{picked} exchanged", lambda h=held: paired(h, ["a", "b"], {}, {"a": "b", "b": "a"}, None, ())
    for number, text in enumerate(MAPPED_TEXTS):
        for n, given in enumerate(GIVEN):
            if not n or not number or (number + n) % 4 == 0:
                yield f"text {number} {given}", lambda text=text, given=given: asked(text, given)


GIVEN: tuple[dict[str, str], ...] = (
    {}, {"inner.a": "k"}, {"inner.a": "MN"}, {"inner.a": "x"}, {"boxes.a": "1"}, {"boxes.b": "1"}, {"panel.a": "8192"},
    {"panel.a": "0"}, {"panel.a": str(1 << 20)}, {"panel.b": str((1 << 20) + 1)}, {"swizzle.0": "64B"},
    {"swizzle.0": "x"}, {"box.0.1": "32"}, {"box.0.1": "0"}, {"storage.a": "1"}, {"at.sA": "0x800"}, {"at.sA": "x"},
    {"major.a": "MN"}, {"base.a": "0x400"}, {"instruction": "wgmma.mma_async.m64n128k16.f32.f16.f16"}, {"operand": "c"},
)  # fmt: skip
MAPPED_TEXTS = (
    BOTH, with_(("{64, 64}", "{64, rows}")), with_(("{64, 64}", "{32, 64}")), with_(("{64, 64}", "{64, 32}")),
    with_(("SWIZZLE_128B", "SWIZZLE_64B")), with_(("CU_TENSOR_MAP_SWIZZLE_128B", "swizzle_of_a")),
    with_(("dims", "(cuuint64_t[]){M, K}")), with_(("dims", "(cuuint64_t[]){K, M}")), with_(("64, 64}", "64, 16}")),
    with_(("k < 4", "k < 8")), with_(("map_a", "first"), ("map_b", "second")), MAPS + BOTH,
    "desc: 0x4000004000010040\nwgmma.mma_async.m64n8k16.f32.f16.f16\n"
    "sA: Sw<3,4,3> o smem_ptr[16b](0x400) o (64,64):(64,1)",
)  # fmt: skip


def paired(*given: Any) -> list[Any]:
    return [(name, one.name if one else None, why) for name, (one, why) in stores.pair(*given).items()]


def asked(text: str, given: dict[str, str]) -> list[Any]:
    made = bench(text, given)
    return [made.verdict, made.headline, made.detail, made.missing, made.assumed, [o.stored_why for o in made.operands]]


# sentences ------------------------------------------------------------------------------------------------------------


def of_sentences() -> Iterator[Call]:
    for kind, many in product(("tensor_map", "layout", "descriptor", "instruction"), (1, 2, 6, 7)):
        yield f"{many} {kind}", lambda kind=kind, n=many: said.holds([Piece(kind, "", ())] * n, ())
    yield "none", lambda: said.holds([], ())
    for text in (
        "tcgen05.mma x",
        "SM100_MMA_F16BF16_SS",
        "UMMA::Major::K",
        "umma::x",
        "tcgen05.mmax",
        "xUMMA::",
        "wgmma",
        "0",
    ):
        yield f"nothing in {text}", lambda text=text: asked(text, {})
    for text in (BOTH, MAPS + BOTH, with_(("<< 32", "<< 33")), with_(("sA + k", "sA + 2 * k"))):
        made = bench(text)
        yield (
            f"holds {text[:40]} {made.verdict}",
            lambda m=made: [said.holds(m.pieces, m.operands), said.resting(m.assumed)],
        )
    yield "text too long", lambda: [len(bench(" " * (1 << 16)).pieces), bench(" " * ((1 << 16) + 1))]
    head, asm = CODE[: CODE.index("  asm")], CODE[CODE.index("  asm") : -2]
    every = "".join(asm.replace("n64k16", f"n{8 * n}k16") for n in range(1, 11))
    yield "instructions", lambda: [one.instruction for one in bench(f"{head}{every}}}").operands]
