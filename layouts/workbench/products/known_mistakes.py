"""Describe what is certainly wrong with a sum of a run with known sizes, and find its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set

import numpy as np

from lanescope.cxx.sizes import ELEMENT_NAMES
from lanescope.cxx.source_text import COMMENT, split_arguments
from lanescope.ptx.table.kinds import KINDS
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.language.numbers import as_array
from lanescope.reader.threads.memory.storage import OPEN
from lanescope.reader.threads.runner import KernelRunner
from lanescope.shared.map_enums import MAP_TYPES
from lanescope.workbench.copies.filled_tiles import find_operand_map
from lanescope.workbench.fragments.thread_descriptors import find_read_bytes
from lanescope.workbench.fragments.thread_fragments import find_mma, locate_operand
from lanescope.workbench.products.known_sums import KnownFragment, KnownProduct
from lanescope.workbench.products.product_report import ProductVerdict
from lanescope.workbench.results import CheckFinding, Span, Workbench
from lanescope.workbench.text.function_texts import (
    FunctionText,
    blank_text,
    find_enclosing_function,
    find_functions,
    launches_unknown_kernel,
)
from lanescope.workbench.text.loop_texts import LoopText, find_condition, list_loops_at

TITLES = {
    "factor_misplaced": "An element of D is combined with the scale or the bias of another one",
    "load_outside": "A load reads beyond the end of a matrix",
    "store_outside": "A store to shared memory is outside all arrays",
    "element_type": "An instruction multiplies another type than its arrays have",
}
WRONG_TRANSPOSE = "wrong_transpose", "The transpose immediate selects the other major: with the other value, D is A·B."
OTHER_LOADS = (
    (
        "fragment_mismatch",
        "This ldmatrix loads other rows or columns than others of its sum: with {} here, D is A·B.",
    ),
    ("registers_exchanged", "Registers of this ldmatrix are exchanged: with {} here, D is A·B."),
)
FACTOR_MISPLACED = (
    "Some elements of D take the element of {} that belongs to their row, column or place; those here take another one."
)
_BYTE = 8  # bits
HALF_TYPES = {name: kind for name, kind in ELEMENT_NAMES.items() if kind in ("f16", "bf16")}
_NAMES = {"f16": r"half|fp16|(?<!b)(?:float16|f16)", "bf16": r"bfloat|bf16"}  # of a type in code
HALF_MAP_TYPES = {"FLOAT16": "f16", "BFLOAT16": "bf16"}  # of tensor maps; others may only copy bytes
_NARROW_BITS = {row.name: row.shared_bits for row in MAP_TYPES if row.bits < 8}  # in shared memory
_READ_BITS = {row.name: row.element_bits for row in KINDS}
_KIND = re.compile(r"\bkind::(\w+)")
ADDING = re.compile(r"\]\s*\+=|\batomicAdd\b|\bred\.|\b(\w+)\s*\[[^;=]*\]\s*=[^;=]*\b\1\s*\[")
_RUNTIME = re.compile(r"(?:cuda(?!Launch)\w+|if|sizeof|assert)?")  # calls that compute nothing
_GIVEN = re.compile(r">>>\s*\((.*)\)", re.S)
_WORD = re.compile(r"[A-Za-z_]\w*")
_MULTIPLIED = re.compile(r"\.(f16|bf16)\.\1(?:\.f(?:16|32))?$")


def names_type(text: str, kind: str) -> bool:
    """Return whether code or comments of a text name f16 or bf16; includes and the opcodes of PTX are neither."""
    code = re.sub(r"^[ \t]*#[ \t]*include.*", "", blank_text(text), flags=re.M) + " ".join(COMMENT.findall(text))
    return re.search(_NAMES[kind], code.replace("kind::f16", ""), re.I) is not None


def find_other_type(text: str, head: str, run: KernelRunner) -> CheckFinding | None:
    """Return the finding of an mma on arrays of another 16-bit type than its own, if no code or comment names its
    type.

    head: the parameters of the kernel.
    """
    for use in {use.span: use for use in run.products}.values():
        instruction, multiplied = find_mma(use.opcode), _MULTIPLIED.search(use.opcode)
        if instruction is None or multiplied is None or names_type(text, multiplied[1]):
            continue
        sides = (locate_operand(run, use, instruction, name).warps or () for name in "ab")
        for array in sorted({warp.array for side in sides for warp in side} - {""}):
            declared = re.search(rf"\b(\w+)\s*(?:const\s*)?\*[\s\w]*\b{re.escape(array)}\b", head)
            kind = declared[1] if declared is not None else ""
            if HALF_TYPES.get(kind, multiplied[1]) != multiplied[1]:
                message = f"The elements of {array} are {kind}, but this instruction multiplies {multiplied[1]}."
                return CheckFinding("element_type", message, use.span)
    return None


def find_other_map_types(text: str, bench: Workbench, maps: Sequence[TensorMap]) -> Iterator[Pitfall]:
    """Yield instructions that multiply elements of tensor maps of another 16-bit type than their own, if no code or
    comment names their type, or 4-bit elements that the map stores with or without padding, and they read otherwise.
    """
    for operand in bench.operands:
        tensor_map = find_operand_map(bench, operand, maps)
        kind = (tensor_map.data_type or "") if tensor_map is not None and not operand.guessed else ""
        if why := _explain_map_type(text, operand.instruction, kind):
            at = text.find(operand.instruction)
            span = (at, at + len(operand.instruction)) if at >= 0 else operand.steps[0].span
            yield Pitfall("element_type", f"The elements of {operand.name.upper()} are {why}.", span)


def _explain_map_type(text: str, instruction: str, kind: str) -> str:
    """Explain why an instruction does not fit the data type of a tensor map; "" if it does, or that is not certain."""
    multiplied = _MULTIPLIED.search(instruction)
    if multiplied is not None and HALF_MAP_TYPES.get(kind, multiplied[1]) != multiplied[1]:
        why = f"{kind} in their tensor map, but this instruction multiplies {multiplied[1]}"
        return "" if names_type(text, multiplied[1]) else why
    named = _KIND.search(instruction)
    stored, read = _NARROW_BITS.get(kind), _READ_BITS.get(named[1]) if named is not None else None
    if stored is None or read is None or stored == read:
        return ""
    return (
        f"{kind} in their tensor map, which stores 16 of them in {16 * stored // 8} bytes, but this instruction reads"
        f" 16 of them from {16 * read // 8} bytes"
    )


def find_wrong_access(run: KernelRunner) -> CheckFinding | None:
    """Return what ends a run of CuTe's code, a store to shared memory outside all arrays, or an mma that adds to a
    register that is set in part.
    """
    for why, (code, site) in run.kernel_errors.items():
        return CheckFinding(code, why, site)
    outside = sorted(run.stores[writer] for writer in run.shared.outside)
    if outside:
        message = "This stores outside all arrays of shared memory: between the last one and dynamic shared memory."
        return CheckFinding("store_outside", message, outside[0])
    unset = next((use for use in run.products if use.adds_partly), None)
    if unset is None:
        return None
    message = f"{unset.opcode} adds to a register of which only some bytes are written. Set all accumulators to 0."
    return CheckFinding("accumulator_unset", message, unset.span)


def find_outside_load(verdict: ProductVerdict, ends: Mapping[str, int] | None = None) -> CheckFinding | None:
    """Return the finding of bytes that threads store to shared memory and that are beyond all elements of A and B; None
    in a batch, where they may be those of the next matrix. verdict: D is A·B, or with ends, those inside D are; ends:
    of A and B, if products take other elements, too.
    """
    known = ends if ends is not None else find_ends([one for of in verdict.fragments.values() for one in of])
    found: dict[tuple[str, Span], int] = {}
    for run in verdict.runners:
        for number in np.unique(run.shared.record[run.shared.record > OPEN]):
            load, mine = run.records[number], run.shared.record == number
            start = load.offset.const
            if load.array not in known or load.parts or load.unit != _BYTE or start is None:
                continue
            offsets = np.broadcast_to(as_array(start), run.threads)[run.shared.thread[mine]] + run.shared.byte[mine]
            key = load.array, (*load.calls, load.site)[0]
            found[key] = max(found.get(key, 0), int(offsets.max()) + 1 - known[load.array])
    array, site = max(found, key=lambda key: found[key], default=("", (0, 0)))
    if found.get((array, site), 0) <= 0:
        return None
    message = (
        f"The last block reads up to {found[array, site]:,} bytes here that are after the last element of {array},"
        f" unless it is longer than the matrix.{' No product takes them.' if ends is None else ''}"
    )
    return CheckFinding("load_outside", message, site)


def find_ends(fragments: Sequence[KnownFragment]) -> dict[str, int]:
    """Return the end of the last element of each array that products take; none in a batch."""
    ends: dict[str, int] = {}
    for one in fragments:
        for side in (side for each in one.products for side in each.sides):
            if one.depth > 1 or side.unpacked or side.unit != _BYTE:
                return {}
            ends[side.array] = max(ends.get(side.array, 0), int(side.places[0].max()) + max(one.bits // _BYTE, 1))
    return ends


def describe_part(text: str, fragments: Sequence[KnownFragment], part: Sequence[int], depth: int) -> CheckFinding:
    """Make the finding of sums that do not take each k, or go on beyond K. part: the k of a sum over depth."""
    first, past = part[0], part[-1] + 1
    products = fragments[0].products
    if len(part) < past - first:
        gap = min(set(range(first, past)) - set(part))
        until = min(k for k in part if k > gap) - 1
        message = f"No product takes the elements of A and B from K = {gap} to {until}, which threads store."
        return CheckFinding("k_slice_skipped", message, _find_inner_loop(text, fragments))
    short = [f"the first {first}"] * (first > 0) + [f"the last {depth - past}"] * (past < depth)
    long = [f"{-first} before the first"] * (first < 0) + [f"{past - depth} after the last"] * (past > depth)
    what = f"leaves out {' and '.join(short)} of all K" if short else f"goes on for {' and '.join(long)} of all K"
    message = f"The loop over K {what}: with K = {depth}, elements of D are sums over K = {first} to {past - 1}."
    return CheckFinding("k_slices_left", message, _find_loop(text, products))


def leaves_slices(run: KernelRunner, fragments: Sequence[KnownFragment]) -> bool:
    """Return whether threads store elements of A, and elements of B, that nothing reads."""
    sides = ({each.sides[n].array for one in fragments for each in one.products} for n in (0, 1))
    return all(leaves_unread(run, arrays) for arrays in sides)


def leaves_unread(run: KernelRunner, arrays: Set[str]) -> bool:
    """Return whether bytes that come from some arrays are stored to shared memory and never read."""
    mine = np.array([record.array in arrays for record in run.records])
    return bool((mine[run.shared.record.clip(0)] & ~find_read_bytes(run)).any())


def _find_inner_loop(text: str, fragments: Sequence[KnownFragment]) -> Span:
    """Return the condition of the innermost loop around a product that moves both operands: its variable is part of
    both, else no other loop has a single turn, else it has several turns in one sum.
    """
    product = fragments[0].products[0]
    at, blank = product.calls[0] if product.calls else product.span, blank_text(text)
    loops = list_loops_at(blank, at[0])
    words = [set(re.findall(r"\w+", blank[slice(*site)])) for site in product.sites]
    apart = product.sites[0] != product.sites[1]  # else both are the product
    moving = [loop for loop in loops if apart and all(loop.variable in of_site for of_site in words)]
    turns = zip(*(each.turns for one in fragments for each in one.products), strict=False)
    single = [loop for loop, counts in zip(loops, turns, strict=False) if len(set(counts)) == 1]
    chosen = moving or (single if len(single) == 1 else _list_summed(loops, fragments) or loops)
    return find_condition(blank, chosen[-1]) if loops else at


def _list_summed(loops: Sequence[LoopText], fragments: Sequence[KnownFragment]) -> list[LoopText]:
    """Return the loops around products that have several turns in one sum."""
    of_sums = [list(zip(*(each.turns for each in one.products), strict=False)) for one in fragments]
    return [loop for n, loop in enumerate(loops) if any(len(set(of[n])) > 1 for of in of_sums if n < len(of))]


def _find_loop(text: str, products: Sequence[KnownProduct]) -> Span:
    """Return the condition of the outermost loop around the products of a sum that takes more than one turn."""
    at = products[0].calls[0] if products[0].calls else products[0].span
    turns = {product.turns for product in products}
    depth = next((n for n, of_loop in enumerate(zip(*turns, strict=False)) if len(set(of_loop)) > 1), None)
    blank = blank_text(text)
    loops = list_loops_at(blank, at[0])
    if depth is None or depth >= len(loops):
        return at
    return find_condition(blank, loops[depth])


def find_unfilled(text: str, run: KernelRunner, fragments: Sequence[KnownFragment], sized: bool) -> CheckFinding | None:
    """Return the finding of an operand of which threads fill only a part, although D is stored as if it were whole.

    sized: whether M and N are known, so that none of its rows and columns are padding. Threads that do not multiply may
    fill it: a run executes one branch to its end before the other.
    """
    if not _do_all_multiply(run):
        return None
    for one in fragments:
        for n, name in enumerate("AB"):
            missing = [each for each in one.products if each.sides[n].empty and (sized or not each.sides[n].padded)]
            if not missing or not any(each.sides[n].filled.any() for each in one.products):
                continue
            side = missing[-1].sides[n]
            arrays = {each.sides[n].array for each in one.products} - {""}
            message = (
                f"Of the {side.total} elements that a product takes of {name}, {side.empty} are in bytes of shared"
                " memory that no thread stores, although all of D is stored."
            )
            return CheckFinding("tile_not_filled", message, _find_copy(text, run, arrays) or missing[-1].sites[n])
    return None


def _do_all_multiply(run: KernelRunner) -> bool:
    """Return whether elements of D that are stored come from registers of every thread."""
    threads = [store.data.thread[store.active][store.data.record[store.active] < 0] for store in run.outputs]
    return bool(threads) and len(np.unique(np.concatenate(threads))) == run.threads


def _find_copy(text: str, run: KernelRunner, arrays: Set[str]) -> Span | None:
    """Return the loop that copies elements of arrays to shared memory, if all that it stores is read; else None."""
    if leaves_unread(run, arrays):
        return None
    sites = {record.site for record in run.records if record.array in arrays} - {(0, 0)}
    site = sites.pop() if len(sites) == 1 else None
    blank = blank_text(text)
    loops = list_loops_at(blank, site[0]) if site is not None else []
    return find_condition(blank, loops[-1]) if loops else site


def may_be_completed(
    text: str, function: FunctionText, recorded: Sequence[KernelLaunchRecord], stored: Set[str] = frozenset()
) -> bool:
    """Return whether another kernel may compute the rest of D: one that the same function launches, unless it is given
    other arrays, or one that adds to an array. stored: the parameters that D is stored to, none if they are not known.
    """
    blank = blank_text(text)
    others = (one for one in find_functions(blank) if one.kernel and one.name != function.name)
    if any(ADDING.search(blank, *one.body) for one in others):
        return True
    launched: dict[object, list[KernelLaunchRecord]] = {}
    for launch in recorded:
        launched.setdefault(find_enclosing_function(blank, launch.call[0]), []).append(launch)
    return any(_share_result(blank, function, of, stored) for of in launched.values())


def is_launched_alone(
    text: str, function: FunctionText, recorded: Sequence[KernelLaunchRecord], stored: Set[str]
) -> bool:
    """Return whether all launches of a kernel are one, with whole arrays, and no other kernel is given D. stored: see
    may_be_completed.
    """
    blank = blank_text(text)
    given = (one for launch in recorded if launch.name == function.name for one in _list_arguments(blank, launch.call))
    if launches_unknown_kernel(blank) or any(re.search(r"[+\[&]", one) for one in given):
        return False  # each launch may be for a part of D, such as that of a stream
    own = {tuple(map(str, (*one.grid, *one.arguments, *one.members))) for one in recorded if one.name == function.name}
    return len(own) == 1 and not _share_result(blank, function, recorded, stored)


def owns_result(text: str, function: FunctionText, launch: KernelLaunchRecord, stored: Set[str]) -> bool:
    """Return whether D is certainly all that a launch computes of it: the function around it declares the array, and
    gives it to CUDA's runtime and to this launch alone. stored: see may_be_completed.
    """
    blank = blank_text(text)
    around = find_enclosing_function(blank, launch.call[0])
    given = dict(zip(function.parameters, _list_arguments(blank, launch.call), strict=False))
    if around is None or not stored or not stored <= given.keys():
        return False
    words = {word for name in stored for word in _WORD.findall(given[name])}
    if not words.isdisjoint(around.parameters):
        return False
    uses = (use for word in words for use in re.compile(rf"\b{word}\b").finditer(blank, *around.body))
    others = (use.start() for use in uses if not launch.call[0] <= use.start() < launch.call[1])
    return all(_RUNTIME.fullmatch(_find_call(blank, around.body[0], at)) for at in others)


def _find_call(blank: str, first: int, at: int) -> str:
    """Return the name of the innermost call around a place of a statement; "" if there is none."""
    depth = 0
    for n in range(at - 1, first, -1):
        if blank[n] in ";{}":
            return ""
        depth += {")": 1, "(": -1}.get(blank[n], 0)
        if depth < 0:
            found = re.search(r"(\w+)\s*(?:<[^<>]*>\s*)?\Z", blank[first:n])
            return found[1] if found is not None else ""
    return ""


def _share_result(blank: str, function: FunctionText, launches: Sequence[KernelLaunchRecord], stored: Set[str]) -> bool:
    """Return whether one of some launches may give D of a kernel to another kernel."""
    own = [_list_arguments(blank, one.call) for one in launches if one.name == function.name]
    others = [_list_arguments(blank, one.call) for one in launches if one.name != function.name]
    if not own or not others:
        return False
    named = [dict(zip(function.parameters, given, strict=False)) for given in own]
    if not stored or not all(stored <= given.keys() for given in named):
        return True
    results = {word for given in named for name in stored for word in _WORD.findall(given[name])}
    return any(not given or not results.isdisjoint(_WORD.findall(" ".join(given))) for given in others)


def _list_arguments(blank: str, call: Span) -> list[str]:
    """Return the arguments of a launch by <<<…>>>; none of another one."""
    found = _GIVEN.search(blank, *call)
    return split_arguments(found[1]) if found is not None else []
