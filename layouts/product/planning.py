"""Parse options (`swizzle=128B,major=MN`) into a plan: each is checked against the instruction and completed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd, lcm

from lanescope.descriptor.matrix import MOST_SHARED, Descriptor
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice
from lanescope.product.custom_storage import KINDS, list_placement_options, place_side
from lanescope.product.options import OptionReader, collect_options, parse_options
from lanescope.product.plan import (
    DescribedSide,
    Options,
    ProductPlan,
    ProductSide,
    RowsSide,
    TiledSide,
    WmmaSide,
    find_read_end,
)
from lanescope.ptx import catalog, wmma
from lanescope.ptx.dtypes import DType, get_dtype
from lanescope.ptx.instruction import Instruction, Operand, OperandFeed
from lanescope.shared import chain
from lanescope.shared.chain import Chain
from lanescope.shared.feeding import explain_no_feed
from lanescope.shared.operand_storage import make_operand_storage
from lanescope.shared.swizzle import NAMES, WIDEST_PATTERN, Mode, get_mode
from lanescope.shared.tiling import SWIZZLED_BY, Tile

MOST_STEPS = 64
MOST_REGISTER_STEPS = 8  # A from registers is loaded before the first wgmma: every step has its own registers
SIDES = ("a", "b", "d")
TILE_OPTIONS = ("major", "swizzle", "swizzle_by", "order", "mn", "k", "first", "base", "descriptor")
ROW_OPTIONS = ("major", "load", "pitch_bytes", "swizzle")
LOADS = ("ldmatrix", "elements")
ORDERS = ("mn", "k")
FROM = ("shared", "registers")


def is_plannable(instruction: Instruction) -> bool:
    """Return whether an instruction can be planned: it multiplies, and D is in registers."""
    return instruction.family.multiplies and not instruction.family.tensor and {"a", "d"} <= set(instruction.operands)


def make_plan(instruction: Instruction, a: object = "", b: object = "", d: object = "") -> ProductPlan:
    """Return a plan from the options of A, B and D, text (`swizzle=128B,major=K`) or a mapping.

    LayoutError names the option, `a.swizzle`.
    """
    if not is_plannable(instruction):
        raise LayoutError(
            "no_program",
            f"There is no program for {instruction.ptx}.",
            "Choose an mma, wmma.mma or wgmma; a load is a part of its program.",
            "ptx",
        )
    make = _BY_FEED[instruction.family.feed]
    return make(instruction, *(parse_options(request, side) for request, side in zip((a, b, d), SIDES, strict=True)))


# wgmma ----------------------------------------------------------------------------------------------------------------


def _plan_wgmma(i: Instruction, a: Options, b: Options, d: Options) -> ProductPlan:
    a_from = parse_choice(a.get("from", FROM[0]), "a.from", FROM)
    staged = {"a": a, "b": b} if a_from == "shared" else {"b": b}
    kinds = {s: parse_choice(options.get("kind", KINDS[0]), f"{s}.kind", KINDS) for s, options in staged.items()}
    reads = _make_wgmma_readers(i, {"a": a, "b": b, "d": d}, a_from, kinds)
    majors = {s: reads[s].read_choice("major", ("K", "MN")) for s in staged}
    for s, major in majors.items():
        if major == "MN" and get_dtype(i.types["a"]).bits != 16:
            hint = "MN-major is for f16 and bf16."
            raise reads[s].make_error("bad_major", "major", f"{i.types[s]} is read K-major only.", hint)
    modes = {s: get_mode(reads[s].read_choice("swizzle", NAMES)) for s, kind in kinds.items() if kind == KINDS[0]}
    sides = _place_shared_sides(i, reads, kinds, majors, modes)
    op, steps = i.operands["a"], sides["b"].k // i.sizes["k"]
    if a_from == "registers":
        sides["a"] = _plan_register_side(i, reads["a"], steps)
    selector = reads["a"].read_integer("selector", 0, 0, op.sparsity.selectors - 1) if op.sparsity else 0
    accumulate = reads["d"].read_choice("scale", ("1", "0")) == "1"
    plan = ProductPlan(i, sides["a"], sides["b"], steps, *collect_options(reads), accumulate, selector)
    _check_shared_memory(plan)
    return plan


def _has_sign_immediates(i: Instruction) -> bool:
    """Return whether A and B have sign immediates."""
    return i.types["d"] != "s32"


def _make_wgmma_readers(
    i: Instruction, options: Mapping[str, Options], a_from: str, kinds: Mapping[str, str]
) -> dict[str, OptionReader]:
    """Return readers of the options of each operand; kinds: how those in shared memory are stored."""
    scale = ("scale",) if _has_sign_immediates(i) else ()
    stored = {
        s: ("kind", *(TILE_OPTIONS if kind == KINDS[0] else list_placement_options(kind))) for s, kind in kinds.items()
    }
    selector = ("selector",) if i.operands["a"].sparsity is not None else ()
    reads = {
        "a": OptionReader("a", options["a"], ("from", *stored.get("a", ("k",)), *scale, *selector)),
        "b": OptionReader("b", options["b"], (*stored["b"], *scale)),
        "d": OptionReader("d", options["d"], ("scale",)),
    }
    reads["a"].full["from"], reads["a"].words["from"] = a_from, FROM
    for s, kind in kinds.items():
        reads[s].full["kind"], reads[s].words["kind"] = kind, KINDS
    return reads


def _place_shared_sides(
    i: Instruction,
    reads: Mapping[str, OptionReader],
    kinds: Mapping[str, str],
    majors: Mapping[str, str],
    modes: Mapping[str, Mode],
) -> dict[str, ProductSide]:
    """Return the operands placed in shared memory one after the other; modes: the swizzles of canonical tiles."""
    step = {"a": i.operands["a"].col_count, "b": i.sizes["k"]}
    bits = get_dtype(i.types["a"]).bits
    atoms = {s: swizzle.get_atom_size(bits, majors[s])[1] for s, swizzle in modes.items()}
    steps = _count_steps(reads, step, lcm(1, *(deep // gcd(deep, step[s]) for s, deep in atoms.items())))
    sides: dict[str, ProductSide] = {}
    at = 0
    for s, kind in kinds.items():
        element, negated = get_dtype(i.types[s]), _has_sign_immediates(i) and reads[s].is_negated()
        size = {"rows": i.sizes["m" if s == "a" else "n"], "k": steps * step[s], "step": step[s]}
        sides[s] = (
            _plan_tiled_side(reads[s], element, **size, major=majors[s], swizzle=modes[s], at=at, negated=negated)
            if s in modes
            else place_side(reads[s], kind, element, **size, major=majors[s], at=at, negated=negated)
        )
        at = -(-sides[s].end // WIDEST_PATTERN) * WIDEST_PATTERN
    return sides


def _plan_register_side(i: Instruction, reads: OptionReader, steps: int) -> ProductSide:
    """Return A of a wgmma from registers: every step has its own registers."""
    if steps > MOST_REGISTER_STEPS:
        hint = f"At most {MOST_REGISTER_STEPS}; store A in shared memory."
        raise reads.make_error("bad_option", "k", f"A from registers has {steps} steps.", hint)
    op = i.operands["a"]
    negated, k = _has_sign_immediates(i) and reads.is_negated(), steps * op.col_count
    reads.full["k"] = str(k)
    return ProductSide("a", op.element, op.container_bits, i.sizes["m"], k, "K", negated=negated)


def _count_steps(reads: Mapping[str, OptionReader], step: Mapping[str, int], least: int) -> int:
    """Return the number of K steps: from the options, or the fewest that fill whole atoms."""
    counts = {}
    for s in ("a", "b"):
        if "k" in reads[s].options:
            k = reads[s].read_integer("k", 0, 1, 4096)
            if k % step[s]:
                raise reads[s].make_error(
                    "bad_option", "k", f"k = {k} is not a multiple of a step.", f"Multiples of {step[s]}."
                )
            counts[s] = k // step[s]
    if len(set(counts.values())) > 1:
        raise LayoutError(
            "bad_option",
            f"A has {counts['a']} steps of K, B {counts['b']}.",
            "Use the same number of steps for both, or set only one k.",
            "b.k",
        )
    steps = next(iter(counts.values()), least)
    if steps % least or steps > MOST_STEPS:
        s = next(iter(counts), "b")
        allowed = [n * least * step[s] for n in (1, 2, 3)]
        raise reads[s].make_error(
            "bad_option",
            "k",
            f"k = {steps * step[s]} does not fill complete atoms of both operands in up to {MOST_STEPS} steps.",
            f"Multiples of {allowed[0]}: {', '.join(map(str, allowed))}, …",
        )
    return steps


def _plan_tiled_side(
    reads: OptionReader,
    element: DType,
    *,
    rows: int,
    k: int,
    step: int,
    major: str,
    swizzle: Mode,
    at: int,
    negated: bool,
) -> TiledSide:
    atom, _ = swizzle.get_atom_size(element.bits, major)
    first = reads.read_integer("first", 0, 0, 4096)
    mn = reads.read_integer("mn", -(-(first + rows) // atom) * atom, 8, 4096)
    if first + rows > mn:
        raise reads.make_error(
            "bad_option",
            "mn",
            f"The tile has {mn} rows, the product reads {first} to {first + rows - 1}.",
            f"mn from {first + rows}.",
        )
    reads.full["k"] = str(k)
    order, by = reads.options.get("order", ""), reads.read_choice("swizzle_by", SWIZZLED_BY)
    base = reads.read_integer("base", at, 0, MOST_SHARED)
    order = order and reads.read_choice("order", ORDERS)
    try:
        tile = Tile(element.bits, major, swizzle, mn, k, order=order, base=base, swizzle_by=by)
        tile.descriptor(first, 0, step, rows)
    except LayoutError as error:
        name = {"slice": "first"}.get(error.field, error.field)
        raise error.move_to_field(f"{reads.side}.{name}") from None
    reads.full["order"], reads.words["order"] = tile.order, ORDERS
    word = None
    if text := reads.options.get("descriptor"):
        word = Descriptor(parse_word(text, f"{reads.side}.descriptor").word)
        reads.full["descriptor"] = str(word)
    return TiledSide(
        reads.side, element, element.bits, rows, k, major, negated=negated, tile=tile, first=first, step=step, word=word
    )


def _check_shared_memory(plan: ProductPlan) -> None:
    """Raise LayoutError for operands that overlap or exceed a block's shared memory."""
    staged = [side for side in (plan.a, plan.b) if isinstance(side, DescribedSide)]
    if len(staged) == 2:
        a, b = staged
        if a.base < b.end and b.base < a.end:
            free = -(-a.end // WIDEST_PATTERN) * WIDEST_PATTERN
            raise LayoutError(
                "overlap",
                f"A occupies bytes {a.base} to {a.end - 1}, B {b.base} to {b.end - 1}.",
                f"Put B at {free}.",
                "b.base",
            )
    for side in staged:
        if side.end > MOST_SHARED:
            raise LayoutError(
                "too_large",
                f"{side.letter.upper()} ends at byte {side.end}.",
                f"A block has {MOST_SHARED} bytes.",
                f"{side.letter}.base",
            )
        if side.word and find_read_end(side, plan.steps) > MOST_SHARED:
            end = find_read_end(side, plan.steps)
            raise LayoutError(
                "reads_outside",
                f"The descriptor would read up to byte {end - 1}; a block has {MOST_SHARED}. It was not executed.",
                "The start counts from shared memory's first byte; start and strides must stay inside.",
                f"{side.letter}.descriptor",
            )


# mma.sync -------------------------------------------------------------------------------------------------------------


def _plan_mma(i: Instruction, a: Options, b: Options, d: Options) -> ProductPlan:
    op, products = i.operands["a"], i.operands["a"].extents.get("product", 1)
    extra = {"a": ("selector",) if op.sparsity else (), "b": ()}
    ids = ("byte_id", "thread_id") if i.scales else ()
    reads = {s: OptionReader(s, options, (*ROW_OPTIONS, *extra[s], *ids)) for s, options in (("a", a), ("b", b))}
    reads["d"] = OptionReader("d", d, ())
    sides: dict[str, ProductSide] = {}
    at = 0
    for s in ("a", "b"):
        sides[s] = _plan_rows_side(reads[s], i, s, products, at)
        at = -(-sides[s].end // WIDEST_PATTERN) * WIDEST_PATTERN
    selector = reads["a"].read_integer("selector", 0, 0, op.sparsity.selectors - 1) if op.sparsity else 0
    chosen = {}
    for s in ("a", "b") if i.scales else ():
        scale = i.scales[f"scale_{s}"]
        legal = {"byte_id": scale.byte_ids, "thread_id": scale.thread_ids}
        picked = [int(reads[s].read_choice(name, tuple(map(str, legal[name])))) for name in ids]
        chosen[s] = (picked[0], picked[1])
    return ProductPlan(i, sides["a"], sides["b"], 1, *collect_options(reads), True, selector, chosen)


def _plan_rows_side(reads: OptionReader, i: Instruction, s: str, products: int, base: int) -> RowsSide:
    op = i.operands[s]
    mn, k = (op.row_count, op.col_count) if s == "a" else (op.col_count, op.row_count)
    major = reads.read_choice("major", ("K", "MN"))
    if major == "MN" and op.container_bits < 8:
        raise reads.make_error(
            "bad_major", "major", f"{op.element.name} elements share bytes along K.", "Store it K-major."
        )
    plain = ProductSide(s, op.element, op.container_bits, mn=mn, k=k, major=major, products=products)
    least = -(-plain.line_units * plain.unit_bytes // 16) * 16
    pitch = reads.read_integer("pitch_bytes", least, least, 4096)
    if pitch % 16:
        raise reads.make_error(
            "misaligned",
            "pitch_bytes",
            f"A pitch of {pitch} bytes is not a multiple of 16.",
            f"Nearest: {pitch // 16 * 16} or {pitch // 16 * 16 + 16}.",
        )
    swizzle = get_mode(reads.read_choice("swizzle", NAMES))
    where = {
        "kind": "rows",
        "inner": major,
        "pitch_bytes": pitch,
        "swizzle": swizzle.name,
        "swizzle_by": "tile",
        "base": base,
    }
    ldmatrix = _find_ldmatrix(i, s, major, where)
    load = reads.read_choice("load", LOADS, "ldmatrix" if ldmatrix else "elements")
    if load == "ldmatrix" and ldmatrix is None:
        why = (
            explain_no_feed(op, major)
            if len(op.axes) == 2 and op.register_bits == 32
            else "ldmatrix fills 32-bit registers of one matrix."
        )
        raise reads.make_error("no_chain", "load", f"No ldmatrix loads {s.upper()} so. {why}", "load=elements")
    return RowsSide(
        s,
        op.element,
        op.container_bits,
        mn=mn,
        k=k,
        major=major,
        products=products,
        pitch_bytes=pitch,
        mode=swizzle,
        base=base,
        chain=ldmatrix if load == "ldmatrix" else None,
    )


def _find_ldmatrix(i: Instruction, s: str, major: str, where: dict[str, object]) -> Chain | None:
    """Return the best ldmatrix for an operand in this storage on every target of the mma; None if there is none."""
    if i.types[s] == "f64" or len(i.operands[s].axes) == 3:
        return None
    targets = set(catalog.get_target_support(i).targets)
    try:
        fits = chain.list_best_chains(i.operands[s], make_operand_storage(where, i.operands[s], major))
    except LayoutError:
        return None
    return next((c for c in fits if targets <= set(catalog.get_target_support(c.load.instruction).targets)), None)


# wmma -----------------------------------------------------------------------------------------------------------------


def _plan_wmma(i: Instruction, a: Options, b: Options, d: Options) -> ProductPlan:
    reads = {
        "a": OptionReader("a", a, ("ldm",)),
        "b": OptionReader("b", b, ("ldm",)),
        "d": OptionReader("d", d, ("layout", "ldm")),
    }
    sides: dict[str, ProductSide] = {}
    at = 0
    for s, layout in zip("ab", i.syntax.layouts, strict=True):
        op = i.operands[s]
        mn, k = (op.row_count, op.col_count) if s == "a" else (op.col_count, op.row_count)
        major = "K" if (layout == "row") == (s == "a") else "MN"
        ldm = _read_ldm(reads[s], (op,), layout)
        sides[s] = WmmaSide(s, op.element, op.container_bits, mn, k, major, ldm=ldm, base=at, layout=layout)
        at = -(-sides[s].end // WIDEST_PATTERN) * WIDEST_PATTERN
    layout = reads["d"].read_choice("layout", ("row", "col"))
    ldm = _read_ldm(reads["d"], (i.operands["c"], i.operands["d"]), layout)
    return ProductPlan(i, sides["a"], sides["b"], 1, *collect_options(reads), d_layout=layout, d_ldm=ldm)


def _read_ldm(reads: OptionReader, ops: tuple[Operand, ...], layout: str) -> int:
    """Return ldm, the elements from one row (column) to the next.

    At least its length, and a multiple of what both CUDA C++ and PTX require.
    """
    least = max(wmma.get_default_stride(op, layout) for op in ops)
    step = lcm(*(wmma.combine_requirements(op).ldm_elements for op in ops))
    ldm = reads.read_integer("ldm", -(-least // step) * step, 1, 4096)
    if ldm < least or ldm % step:
        why = (
            f"a {'row' if layout == 'row' else 'column'} has {least} elements"
            if ldm < least
            else f"it is not a multiple of {step} elements"
        )
        raise reads.make_error(
            "bad_ldm",
            "ldm",
            f"ldm = {ldm} is not legal here: {why}.",
            f"Multiples of {step} from {-(-least // step) * step}.",
        )
    return ldm


_BY_FEED: dict[OperandFeed, Callable[[Instruction, Options, Options, Options], ProductPlan]] = {
    OperandFeed.DESCRIPTOR: _plan_wgmma,
    OperandFeed.MAP: _plan_mma,
    OperandFeed.LOADS: _plan_wmma,
}
