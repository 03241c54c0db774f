"""Which instruction Triton 3.9 chooses for tl.dot and tl.dot_scaled, the layout of D, and the condition that decided.

    choose_instruction(TritonDot(128, 128, 64, "fp16", "fp16", "sm_90a"))

One product of a tile whose operands are loaded by pointers, or A computed from what was loaded; D feeds no other
product. Triton 3.9.0: lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, F32DotTC.cpp and
DecomposeScaledBlocked.cpp, python/triton/language/semantic.py; held to its wheel (tests/test_triton_dot.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lanescope.errors import LayoutError
from lanescope.ptx.targets import strip_suffix
from lanescope.triton import dot_shapes as shapes
from lanescope.triton.dot_checks import check_dot
from lanescope.triton.dot_types import (
    ACCUMULATORS,
    F64_MMA,
    NATIVE_FP8_MMA,
    PRODUCTS,
    SCALED_MMA,
    TENSOR_MEMORY,
    TYPES,
    WARPGROUPS,
    OperandType,
)

NAMES = {"tcgen05": "tcgen05.mma", "wgmma": "wgmma.mma_async", "mma": "mma.sync", "fma": "fma"}


@dataclass(frozen=True, slots=True)
class TritonDot:
    """One tl.dot, or tl.dot_scaled where `scales` names operands: sizes of the tile, types by Triton's names.

    scales: "", "ab", "a" or "b"; factor: elements of K that share a scale; imprecise: max_num_imprecise_acc, None for
    Triton's default; computed: A is computed in registers from what was loaded.
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    target: str
    acc: str = "fp32"
    num_warps: int = 4
    num_ctas: int = 1
    precision: str = "tf32"
    scales: str = ""
    factor: int = 32
    imprecise: int | None = None
    computed: bool = False

    @property
    def capability(self) -> int:
        return int(strip_suffix(self.target).removeprefix("sm_"))


@dataclass(frozen=True, slots=True)
class Product:
    """A product of the tile as Triton has it when it chooses: types after rewriting, D's part of one block."""

    dot: TritonDot
    m: int
    n: int
    a: OperandType
    b: OperandType
    split: shapes.Pair
    loaded_bits: int  # of the narrowest operand as it was loaded
    computed: bool
    count: int = 1

    @property
    def part(self) -> shapes.Pair:
        return max(1, self.m // self.split[0]), max(1, self.n // self.split[1])

    @property
    def acc(self) -> str:
        return ACCUMULATORS[self.dot.acc]


@dataclass(frozen=True, slots=True)
class Attempt:
    """An instruction that Triton considers: the conditions that it fails; none for the one it takes."""

    instruction: str
    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DotOperand:
    """Where an operand lies when the instruction reads it: its type there, and its layout as Triton prints it.

    layout: "" where it depends on how the operand lies in global memory.
    """

    place: str
    type: OperandType
    layout: str = ""


@dataclass(frozen=True, slots=True)
class DotChoice:
    """What a product becomes."""

    product: Product
    instruction: str
    ptx: str
    layout: str  # of D, as Triton prints it
    a: DotOperand
    b: DotOperand
    attempts: tuple[Attempt, ...]
    notes: tuple[str, ...]
    transposed: bool = False
    before: str = ""  # the layout of the sums before the last of several products, where it differs

    @property
    def shape(self) -> shapes.Pair:
        """Rows and columns of the product as it is computed: of D transposed where `transposed`."""
        return self.product.m, self.product.n


def choose_instruction(dot: TritonDot) -> DotChoice:
    """Return what Triton chooses; LayoutError for a product that it refuses, or that is open here."""
    check_dot(dot)
    return _choose_scaled(dot) if dot.scales else _choose_plain(dot)


def _choose_plain(dot: TritonDot) -> DotChoice:
    split = shapes.split_over_blocks(dot.m, dot.n, dot.num_ctas)
    a, b = TYPES[dot.a], TYPES[dot.b]
    product = Product(dot, dot.m, dot.n, a, b, split, min(a.bits, b.bits), dot.computed)
    count = PRODUCTS.get(dot.precision, 1) if dot.a == "fp32" else 1
    if count == 1 or (dot.precision == "tf32x3" and dot.capability < 80):
        return _choose(product)
    part = "bf16" if dot.precision.startswith("bf16") else "fp32"
    note = (
        f"input_precision {dot.precision}: each operand is split into parts of {'bf16' if part == 'bf16' else 'TF32'},"
        f" and {count} products add up. A and B are computed, so none is read as it was loaded."
    )
    split_up = replace(product, a=TYPES[part], b=TYPES[part], count=count, computed=True, loaded_bits=TYPES[part].bits)
    return _choose(split_up, (note,))


def _choose_scaled(dot: TritonDot) -> DotChoice:
    turned = dot.scales == "b"
    a, b, m, n = (dot.b, dot.a, dot.n, dot.m) if turned else (dot.a, dot.b, dot.m, dot.n)
    product = Product(
        dot, m, n, TYPES[a], TYPES[b], (1, 1), min(TYPES[a].bits, TYPES[b].bits), TYPES[a].bits < 16 or dot.computed
    )
    tried: list[Attempt] = []
    if dot.capability in TENSOR_MEMORY:
        failed = _list_failures(_SCALED_TENSOR_MEMORY, product)
        if not failed:
            return _make_scaled_tensor_memory(product)
        tried.append(Attempt("tcgen05.mma, block-scaled", failed))
    elif dot.capability in SCALED_MMA:
        failed = _list_failures(_SCALED_MMA_RULES, product)
        if not failed:
            return _make_scaled_mma(product)
        tried.append(Attempt("mma.sync, block-scaled", failed))
    else:
        tried.append(Attempt("block-scaled", (f"{dot.target}: Triton has block-scaled products from sm_100 on",)))
    wide = "fp16" if "fp16" in (a, b) else "bf16"
    notes = [f"dot_scaled is emulated: both operands become {wide}, the factors are multiplied in, and tl.dot follows."]
    if turned:
        notes.append("Only B has scales: Triton computes the transpose, D' = B'·A', and turns D' back.")
    emulated = replace(product, a=TYPES[wide], b=TYPES[wide], computed=True)
    found = _choose(emulated, tuple(notes))
    return replace(found, attempts=(*tried, *found.attempts), transposed=turned)


Rule = Callable[[Product], str]  # why a product fails it; "" where it does not


def _list_failures(rules: tuple[Rule, ...], product: Product) -> tuple[str, ...]:
    return tuple(failure for rule in rules if (failure := rule(product)))


def _fail_ieee(product: Product) -> str:
    precise = product.a.name == "fp32" and product.dot.precision == "ieee"
    return "fp32 with input_precision ieee: tensor cores would round it to TF32" if precise else ""


def _fail_rows(product: Product, instruction: str) -> str:
    rows = product.part[0]
    of_block = " of one block" if product.split[0] > 1 else ""
    if rows % 64 == 0:
        return ""
    return f"M{of_block} = {rows} < 64: {instruction} has 64 rows or more"


def _fail_columns(product: Product, instruction: str) -> str:
    cols = product.part[1]
    of_block = " of one block" if product.split[1] > 1 else ""
    return "" if cols % 8 == 0 else f"N{of_block} = {cols} < 8: {instruction} has 8 columns or more"


def _fail_depth(product: Product, instruction: str) -> str:
    least = 256 // product.a.bits
    return "" if product.dot.k >= least else f"K = {product.dot.k} < {least}, the K of one {instruction}"


def _fail_warps(product: Product, instruction: str) -> str:
    warps = product.dot.num_warps
    if instruction == "wgmma":
        return "" if warps % 4 == 0 else f"num_warps = {warps} is not a multiple of 4: a warpgroup has 4 warps"
    return "" if warps in (4, 8) else f"num_warps = {warps}: Triton reads tensor memory with 4 or 8 warps"


def _fail_integers(product: Product) -> str:
    if not product.a.integer or product.dot.capability == 100:
        return ""
    return f"int8: Triton uses tcgen05.mma's kind::i8 on sm_100 only, not on {strip_suffix(product.dot.target)}"


def _fail_f64(product: Product, instruction: str) -> str:
    return f"fp64: {instruction} does not take it" if product.a.name == "fp64" else ""


def _fail_imprecise(product: Product) -> str:
    given = product.dot.imprecise
    if not product.a.fp8 or product.dot.acc != "fp32" or given is None or given >= 32:
        return ""
    return f"max_num_imprecise_acc = {given} < 32: wgmma adds up FP8 with fewer bits"


def _fail_f64_units(product: Product) -> str:
    if product.a.name != "fp64" or product.dot.capability in F64_MMA:
        return ""
    return f"fp64: on {strip_suffix(product.dot.target)} Triton leaves it to FMAs, as its FP64 tensor cores are slow"


_TENSOR_MEMORY_RULES: tuple[Rule, ...] = (
    _fail_ieee,
    _fail_integers,
    lambda product: _fail_f64(product, "tcgen05.mma"),
    lambda product: _fail_warps(product, "tcgen05.mma"),
    lambda product: _fail_rows(product, "tcgen05.mma"),
    lambda product: _fail_columns(product, "tcgen05.mma"),
    lambda product: _fail_depth(product, "tcgen05.mma"),
)
_WARPGROUP_RULES: tuple[Rule, ...] = (
    _fail_ieee,
    lambda product: _fail_f64(product, "wgmma"),
    lambda product: _fail_warps(product, "wgmma"),
    lambda product: _fail_rows(product, "wgmma"),
    lambda product: _fail_columns(product, "wgmma"),
    lambda product: _fail_depth(product, "wgmma"),
    _fail_imprecise,
)
_MMA_RULES: tuple[Rule, ...] = (_fail_ieee, _fail_f64_units)


def _fail_one_scale(product: Product) -> str:
    return "" if product.dot.scales == "ab" else "only one operand has scale factors"


def _fail_mixed(product: Product) -> str:
    fp4 = [one.name == "e2m1" for one in (product.a, product.b)]
    return "e2m1 with FP8: Triton has no mixed block-scaled mma.sync" if fp4[0] != fp4[1] else ""


def _fail_scaled_size(product: Product) -> str:
    if product.m < 128:
        return f"M = {product.m} < 128: Triton's block-scaled tcgen05.mma has 128 rows"
    return "" if product.n >= 16 else f"N = {product.n} < 16"


_SCALED_TENSOR_MEMORY: tuple[Rule, ...] = (
    _fail_one_scale,
    lambda product: _fail_warps(product, "tcgen05.mma"),
    _fail_scaled_size,
)
_SCALED_MMA_RULES: tuple[Rule, ...] = (_fail_one_scale, _fail_mixed)


def _choose(product: Product, notes: tuple[str, ...] = ()) -> DotChoice:
    """Take the first instruction of the target whose conditions the product meets, else FMAs."""
    capability = product.dot.capability
    candidates: list[tuple[str, tuple[Rule, ...], Callable[[Product], DotChoice]]] = []
    if capability in TENSOR_MEMORY:
        candidates.append(("tcgen05", _TENSOR_MEMORY_RULES, _make_tensor_memory))
    if capability in WARPGROUPS:
        candidates.append(("wgmma", _WARPGROUP_RULES, _make_warpgroup))
    attempts: list[Attempt] = []
    if capability >= 80:
        candidates.append(("mma", _MMA_RULES, _make_mma))
    else:
        old = f"{strip_suffix(product.dot.target)}: Triton 3.9 uses tensor cores from sm_80 on"
        attempts.append(Attempt(NAMES["mma"], (old,)))
    for name, rules, make in candidates:
        failed = _list_failures(rules, product)
        attempts.append(Attempt(NAMES[name], failed))
        if not failed:
            found = make(product)
            return replace(found, attempts=tuple(attempts), notes=(*notes, *found.notes))
    found = _make_fma(product)
    return replace(found, attempts=(*attempts, Attempt(NAMES["fma"], ())), notes=(*notes, *found.notes))


def _make_tensor_memory(product: Product) -> DotChoice:
    rows, cols = product.part
    kind = {16: "f16", 32: "tf32", 8: "i8" if product.a.integer else "f8f6f4"}[product.a.bits]
    stride = 32 // (16 if product.acc == "f16" else 32)
    place = "tensor memory" if product.computed else "shared memory"
    return DotChoice(
        product,
        "tcgen05",
        f"tcgen05.mma.cta_group::1.kind::{kind}",
        _format_tensor_memory(128 if rows >= 128 else 64, min(cols, shapes.WIDEST_N), stride, product.split),
        DotOperand(place, product.a),
        DotOperand("shared memory", product.b),
        (),
        (),
    )


def _format_tensor_memory(rows: int, cols: int, stride: int, split: shapes.Pair) -> str:
    sizes = f"blockM = {rows}, blockN = {cols}, colStride = {stride}"
    return f"#ttng.tensor_memory_encoding<{sizes}{shapes.format_cluster(split)}>"


def _make_warpgroup(product: Product) -> DotChoice:
    dot, k = product.dot, 256 // product.a.bits
    n = shapes.pick_wgmma_columns(product.part, dot.num_warps, product.a.integer)
    layout = _format_mma(3, shapes.split_over_warpgroups(product.part, dot.num_warps), (16, n, k), product.split)
    before = _format_mma(3, (dot.num_warps, 1), (16, n, k), product.split) if product.count > 1 else ""
    place = (
        DotOperand("registers", product.a, _format_operand(0, layout, 32 // product.a.bits))
        if product.computed
        else DotOperand("shared memory", product.a)
    )
    return DotChoice(
        product,
        "wgmma",
        f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{product.acc.replace('i32', 's32')}.{product.a.ptx}.{product.b.ptx}",
        layout,
        place,
        DotOperand("shared memory", product.b),
        (),
        (),
        before="" if before == layout else before,
    )


def _format_mma(version: int, warps: shapes.Pair, instruction: tuple[int, ...], split: shapes.Pair) -> str:
    return (
        f"#ttg.nvidia_mma<{{versionMajor = {version}, versionMinor = 0, warpsPerCTA = {list(warps)}"
        f"{shapes.format_cluster(split)}, instrShape = {list(instruction)}}}>"
    )


def _format_operand(index: int, parent: str, k_width: int = 0) -> str:
    width = f", kWidth = {k_width}" if k_width else ""
    return f"#ttg.dot_op<{{opIdx = {index}, parent = {parent}{width}}}>"


def _share_warps(product: Product) -> shapes.Pair:
    share = shapes.chain_warps if product.count > 1 else shapes.split_over_warps
    return share(product.part, product.dot.num_warps)


def _make_mma(product: Product) -> DotChoice:
    a, b, notes = product.a, product.b, ()
    if a.fp8 and product.dot.capability not in NATIVE_FP8_MMA:
        notes = (f"FP8 becomes fp16 first: on {strip_suffix(product.dot.target)} Triton has no mma.sync of FP8.",)
        a = b = TYPES["fp16"]
    f64 = a.name == "fp64"
    acc = product.acc.replace("i32", "s32")
    shape = "m8n8k4" if f64 else f"m16n8k{256 // a.bits}"
    saturates = "satfinite." if a.integer else ""
    layout = _format_mma(2, _share_warps(product), (8, 8) if f64 else (16, 8), product.split)
    return _make_in_registers(
        product,
        "mma",
        f"mma.sync.aligned.{shape}.row.col.{saturates}{acc}.{a.ptx}.{b.ptx}.{acc}",
        layout,
        (a, b),
        max(1, 32 // product.loaded_bits),
        notes,
    )


def _make_in_registers(
    product: Product,
    instruction: str,
    ptx: str,
    layout: str,
    types: tuple[OperandType, OperandType],
    k_width: int,
    notes: tuple[str, ...] = (),
) -> DotChoice:
    a, b = (
        DotOperand("registers", one, _format_operand(index, layout, k_width)) for index, one in enumerate(types)
    )
    return DotChoice(product, instruction, ptx, layout, a, b, (), notes)


def _make_fma(product: Product) -> DotChoice:
    dot, turned = product.dot, product.dot.scales == "b"
    size = (1, 1) if dot.scales else shapes.size_patch((product.m, product.n), dot.num_warps)
    part = product.part[::-1] if turned else product.part
    sizes, lanes, warps = (
        list(reversed(one) if turned else one) for one in shapes.make_blocked(part, size, dot.num_warps)
    )
    layout = (
        f"#ttg.blocked<{{sizePerThread = {sizes}, threadsPerWarp = {lanes}, warpsPerCTA = {warps},"
        f" order = {[0, 1] if turned else [1, 0]}{shapes.format_cluster(product.split)}}}>"
    )
    wide = TYPES[product.dot.acc]
    notes = () if wide == product.a else (f"Both operands become {wide.name}, the type of D, before the FMAs.",)
    return _make_in_registers(product, "fma", f"fma.rn.{product.acc}", layout, (wide, wide), 0, notes)


def _make_scaled_tensor_memory(product: Product) -> DotChoice:
    fp4 = product.a.name == product.b.name == "e2m1"
    kind = ("mxf4nvf4" if product.dot.factor == 16 else "mxf4") if fp4 else "mxf8f6f4"
    return DotChoice(
        product,
        "tcgen05",
        f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale.block{product.dot.factor}",
        _format_tensor_memory(128, min(product.n, shapes.WIDEST_N), 1, (1, 1)),
        DotOperand("shared memory", product.a),
        DotOperand("shared memory", product.b),
        (Attempt("tcgen05.mma, block-scaled", ()),),
        ("The scale factors lie in tensor memory: #ttng.tensor_memory_scales_encoding<>.",),
    )


def _make_scaled_mma(product: Product) -> DotChoice:
    layout = _format_mma(2, shapes.split_over_warps(product.part, product.dot.num_warps), (16, 8), (1, 1))
    a, b = product.a, product.b
    if a.name == "e2m1":
        vector, scale = ("4X", "ue4m3") if product.dot.factor == 16 else ("2X", "ue8m0")
        words = f"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::{vector}"
    else:
        scale, words = "ue8m0", "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X"
    found = _make_in_registers(
        product, "mma", f"mma.sync.aligned.{words}.f32.{a.ptx}.{b.ptx}.f32.{scale}", layout, (a, b), 4
    )
    return replace(found, attempts=(Attempt("mma.sync, block-scaled", ()),))
