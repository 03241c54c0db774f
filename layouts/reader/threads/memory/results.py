"""Follow D of mma and wgmma through registers, conversions and arithmetic to stores and to other products.

A value that depends on one element of D is that element; one that depends on several is a reduction. An element that is
combined with a reduction over itself and others stays this element, as in exp(s - max(s)).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cxx.value_class import value_class
from lanescope.ptx import catalog
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.numbers import ThreadNumber, as_array, make_number
from lanescope.reader.threads.language.quotients import Coefficient
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.records import CombinedBytes, FactorUse, MmaUse, ProductResult, ResultStore
from lanescope.reader.threads.memory.storage import (
    CONSTANT,
    EMPTY,
    OPEN,
    ZEROED,
    DataBytes,
    FloatConstant,
    Ints,
    Mask,
    Pointer,
    Span,
    convert_to_float,
    is_zero,
    make_open_data,
    spread_coefficient,
)
from lanescope.reader.threads.run_state import ProductsOverError

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MOST_RESULTS, MOST_STORES = 8000, 4000
_NUMBER = re.compile(r"(?<![\w.])\.?\d")
MOST_REDUCED = 1 << 12  # elements of D that a value depends on
_REGISTER_BYTES = 4
find_instruction = lru_cache(maxsize=256)(catalog.find_instruction)


@value_class(frozen=True, slots=True, eq=False)
class Reduction:
    """A value that depends on several elements of D.

    elements: of every thread, as numbers: [threads, elements]; products: the places of the products that made them.
    """

    elements: Ints
    products: frozenset[object]


def make_results(
    run: KernelRunner, opcode: str, span: Span, use: MmaUse | None, count: int, added: Sequence[Any] = ()
) -> list[DataBytes]:
    """Return the registers of D of a product, each byte with its place among those of its thread. added: those of C."""
    if run.tape is not None:
        return run.tape.multiply(run, use, added, count, span)
    if len(run.results) >= MOST_RESULTS:
        return [make_open_data(run.threads, _REGISTER_BYTES)] * count
    run.results.append(ProductResult(opcode, span, use))
    if len(run.results) == run.last_product:
        raise ProductsOverError
    size = 2 * _REGISTER_BYTES if ".f64." in f"{opcode}." else _REGISTER_BYTES
    record = np.full((run.threads, size), -len(run.results), np.int64)
    return [DataBytes(record, *_place_result(run.threads, size, n)) for n in range(count)]


@lru_cache(maxsize=1 << 10)
def _place_result(threads: int, size: int, number: int) -> tuple[Ints, Ints]:
    """Return (thread, byte) of the bytes of a register of D."""
    shape = threads, size
    first = np.broadcast_to(np.arange(size) + size * number, shape)
    return np.broadcast_to(np.arange(threads)[:, None], shape), first


def find_added(run: KernelRunner, value: Any) -> MmaUse | None:
    """Return the mma that has made a register of C; None if none or several have, also of threads that do not run: a
    run executes a branch to its end before the other, unless they meet at barriers, so that sums of some warps are not
    followed.
    """
    records = value.record[run.mask if run.meeting else run.everyone] if isinstance(value, DataBytes) else run.nobody
    first = int(records[0, 0]) if records.ndim == 2 and records.size else 0
    if first >= 0 or not (records == first).all():
        return None
    return run.results[-first - 1].use


def _find_record(run: KernelRunner, value: Any) -> int:
    """Return the record of a register's bytes in the running threads; OPEN if they have several or none."""
    if not isinstance(value, DataBytes):
        return OPEN
    records = value.record if run.mask is run.everyone else value.record[run.mask]
    first = int(records[0, 0]) if records.size else OPEN
    return first if (records == first).all() else OPEN


def describe_start(run: KernelRunner, registers: Sequence[Any], unset: bool) -> str:
    """Describe what registers of C hold, if they are neither 0 nor D of one product as it was; "" if they are.

    registers: their values; unset: whether nothing has written one of them.
    """
    values = [value for value in registers if not _is_cleared(run, value)]
    if not values:
        return ""
    alike = {id(getattr(value, "record", None)): value for value in values}  # the registers of a product share one
    records = {_find_record(run, value) for value in alike.values()}
    if len(values) == len(registers) and len(records) == 1 and min(records) < 0:
        return "D of an earlier product after arithmetic on it" if min(records) in run.combined else ""
    if unset:
        return "registers that nothing is known to have written"
    if min(records) < 0:
        return "registers of several products, or of other values"
    if all(isinstance(value, FloatConstant | ThreadNumber) for value in values):
        return "numbers other than 0"
    array = run.records[max(records)].array if min(records) > OPEN else ""
    return f"elements of {array}" if array else "values that are not known"


def _is_cleared(run: KernelRunner, value: Any) -> bool:
    """Return whether a register is 0 in the running threads, also where others have D there."""
    return is_zero(value) or _find_record(run, value) == ZEROED


def is_result(value: Any) -> bool:
    """Return whether a value is of elements of D in some thread."""
    return isinstance(value, DataBytes) and _has_results(value)


def is_other(value: DataBytes) -> Mask:
    """Return which bytes [threads, bytes] are known to be no elements of D: loaded ones, and those that nothing set."""
    other: Mask = (value.record == EMPTY) | (value.record > OPEN)
    return other


@lru_cache(maxsize=1 << 8)
def _has_results(value: DataBytes) -> bool:
    return value.size > 0 and bool(value.record[0, 0] < 0 or (value.record < 0).any())


def keep_result(run: KernelRunner, *operands: Any) -> Any:
    """Return the operand of an arithmetic operation that is of elements of D: alpha * d + beta * c, or the first of two
    that are the same elements of two products; a reduction if the result depends on several elements. If it depends on
    none: where sizes are known, what is computed of elements of global memory; else None.
    """
    found = [value for value in operands if is_result(value)]
    reductions = [value for value in operands if isinstance(value, Reduction)]
    others = [one for value in operands if not is_result(value) for one in _list_parts(value)]
    if operands and all(isinstance(value, FloatConstant) for value in operands):
        return CONSTANT
    if not found:
        return _join_reductions(reductions) or _combine_elements(run, others)
    _note_factors(run, found[0], others)
    if len(operands) > 1:
        run.combined |= {_find_record(run, value) for value in found}
    return _join_results(run, found, reductions)


ADDED = "+-"
_FACTOR = re.compile(r"(?:.*[.>])?(?:[MNKmnk]|alpha|scale\w*)")  # not what is meant to be added
_SCALAR = re.compile(r"(?!.*\.[xyzw]$)[A-Za-z_](?:\w|\.|->)*")  # a variable or a member, not one of a vector


def note_change(
    run: KernelRunner,
    node: tree.Binary | tree.Assignment,
    operands: tuple[Any, Any],
    second: tree.Expression,
    result: Any,
) -> None:
    """Record where a number, a size or a scale is added to elements of D, or some are multiplied by 0: then D is not
    the product. Other factors may be scales, and a product of elements is one of a function, such as an activation.

    operands: of a binary operator; second: the expression of the second one.
    """
    if not is_result(result):
        return
    found = [value for value in operands if is_result(value)]
    if len(found) == 2 and node.op == "*":
        note_function(run, result)
    if len(found) != 1:
        return
    number = operands[int(found[0] is operands[0])]
    if isinstance(number, FloatConstant | ThreadNumber):
        written = second if number is operands[1] else getattr(node, "left", second)
        _note_number(run, node, (found[0], result), number, run.text[slice(*written.span)])


def _note_number(
    run: KernelRunner,
    node: tree.Binary | tree.Assignment,
    elements: tuple[DataBytes, DataBytes],
    number: FloatConstant | ThreadNumber,
    name: str,
) -> None:
    """Record a number that elements of D are combined with. elements: before and after it; name: its expression."""
    added = node.op in ADDED and (_NUMBER.search(name) or _FACTOR.fullmatch(name)) and not is_zero(number)
    if added or (node.op == "*" and _may_be_zero(number)):
        note_records(run, elements[1], node.span)
    note_scalar(run, node.op.rstrip("="), name, elements[0], node.span)


def note_scalar(run: KernelRunner, op: str, name: str, elements: Any, site: Span) -> None:
    """Record which elements of D a variable is a factor of, or is added to. name: the expression; elements: before."""
    if run.sizes is not None and is_result(elements) and _SCALAR.fullmatch(name):
        active = elements.select_threads(np.flatnonzero(run.mask))
        run.scalars.setdefault((op, name), []).append((list_elements(active), site))


def list_elements(data: DataBytes) -> Ints:
    """Return numbers that stand for the elements of D that data has: one for each two bytes."""
    known = data.record < 0
    return np.unique((-data.record[known] << 32) | (data.thread[known] << 16) | data.byte[known] >> 1)


def note_function(run: KernelRunner, result: Any) -> None:
    """Record that elements of D are those of a function, such as an activation, whatever is added to them."""
    if is_result(result):
        note_records(run, result, None)


def note_records(run: KernelRunner, value: DataBytes, site: Span | None) -> None:
    """Record where elements of D of the running threads change, None for a function."""
    if run.sizes is not None:
        for record in np.unique(value.record[run.mask, 0]).tolist():
            run.changed[record] = None if site is None else run.changed.get(record, site)


def _may_be_zero(value: FloatConstant | ThreadNumber) -> bool:
    """Return whether a factor is 0 in some thread."""
    number = convert_to_float(value) if isinstance(value, ThreadNumber) else value
    return number.zero or number.partly


def _join_results(run: KernelRunner, found: list[DataBytes], reductions: list[Reduction]) -> Any:
    """Return the first of elements of D that are the same, and in all of the reductions; else a reduction."""
    first = found[0]
    alike = all(bool(((first.thread == one.thread) & (first.byte == one.byte)).all()) for one in found[1:])
    reduced = [_make_reduction(run, one) for one in found] if reductions or not alike else []
    if not alike or not all(_depends_on(run, one, reduced[0]) for one in reductions):
        return _join_reductions([*reductions, *reduced])
    return _join_alike(run, found)


def _note_factors(run: KernelRunner, result: DataBytes, others: Sequence[DataBytes]) -> None:
    if len(run.factors) < MOST_STORES:
        run.factors += (FactorUse(result, other, run.mask.copy()) for other in others)


def _join_alike(run: KernelRunner, found: list[DataBytes]) -> DataBytes | None:
    """Return the first of the same elements of products, and note that these are combined."""
    if len(found) == 1:
        return found[0]
    pairs = set(zip(*(one.record[run.mask, 0].tolist() for one in found[:2]), strict=True))
    run.joined.update((one, other) for one, other in pairs if one != other)
    return found[0] if all(record < 0 for pair in pairs for record in pair) else None


def _make_reduction(run: KernelRunner, value: DataBytes) -> Reduction:
    """Return elements of D as what a reduction depends on."""
    starts = slice(0, 3, 2) if has_two(run, value) else slice(0, 1)
    record, thread, byte = (part[:, starts] for part in (value.record, value.thread, value.byte))
    results = (run.results[-int(n) - 1] for n in np.unique(record) if n < 0)
    places = frozenset((result.span, result.use.calls if result.use is not None else ()) for result in results)
    return Reduction((-record << 32) | (thread << 16) | byte, places)


def _depends_on(run: KernelRunner, reduction: Reduction, elements: Reduction) -> bool:
    """Return whether a reduction is over these elements and others, or over those of other products."""
    if elements.products.isdisjoint(reduction.products):
        return True
    same = (reduction.elements[:, :, None] == elements.elements[:, None]).any(axis=1)
    return bool(same[run.mask].all())


def _join_reductions(reductions: list[Reduction]) -> Reduction | None:
    if not 0 < sum(one.elements.shape[1] for one in reductions) <= MOST_REDUCED:
        return None
    products = frozenset[object]().union(*(one.products for one in reductions))
    return Reduction(np.concatenate([one.elements for one in reductions], axis=1), products)


def shuffle_value(run: KernelRunner, mode: str, value: Any, away: Coefficient, width: int = 32) -> Any:
    """Return the value that each thread gets by a shuffle. mode: "", xor, up or down; away: the lane or the distance.

    Source: CUDA C++ Programming Guide 13.0, "Warp Shuffle Functions".
    """
    threads = np.arange(run.threads)
    first, lane, by = threads // width * width, threads % width, np.asarray(as_array(away))
    lanes = {"": by % width, "xor": lane ^ by, "up": lane - by, "down": lane + by}[mode]
    source = first + np.where((lanes >= 0) & (lanes < width), lanes, lane)
    source = np.minimum(np.where(mode == "xor", threads // 32 * 32 + (threads % 32 ^ by), source), run.threads - 1)
    if not isinstance(value, ThreadNumber):
        return _exchange_lanes(value, source)
    return (
        make_number(spread_coefficient(value.const, run.threads)[source], value.kind)
        if value.const is not None
        else None
    )


def _exchange_lanes(value: Any, source: Ints) -> Any:
    """Return what each thread gets from another one's register. source: the numbers of these threads."""
    if isinstance(value, DataBytes):
        return DataBytes(value.record[source], value.thread[source], value.byte[source])
    return Reduction(value.elements[source], value.products) if isinstance(value, Reduction) else None


def _list_parts(value: Any) -> tuple[DataBytes, ...]:
    """Return the elements of global memory that a value is computed from."""
    if isinstance(value, CombinedBytes):
        return value.parts
    return (value,) if isinstance(value, DataBytes) and value.size else ()


def _combine_elements(run: KernelRunner, parts: Sequence[DataBytes]) -> DataBytes | None:
    """Return what is computed from several elements of global memory in a run that knows all sizes."""
    if run.sizes is None or len(parts) < 2:
        return None
    unknown = make_open_data(run.threads, parts[0].size)
    return CombinedBytes(unknown.record, unknown.thread, unknown.byte, tuple(parts))


def store_result(run: KernelRunner, place: Pointer, value: Any, site: Span, adds: bool = False) -> None:
    """Record a store to global memory if it is of elements of D. adds: to what is there."""
    if run.tape is not None:
        return run.tape.store(run, place, value, site)
    if not is_result(value) or len(run.outputs) >= MOST_STORES:
        run.lost_outputs |= not isinstance(value, FloatConstant | ThreadNumber)
        if isinstance(value, DataBytes) and isinstance(place.offset, ThreadNumber) and run.sizes is not None:
            other = ResultStore(str(place.array), place.offset, value, run.mask.copy(), site, value.size, adds)
            run.other_outputs += [other] if is_other(value)[run.mask].any() else []
        return
    run.lost_outputs |= bool((value.record[run.mask] == OPEN).any())
    size = _measure_stored(run, value, place.type)
    if not isinstance(place.offset, ThreadNumber) or value.size != place.type.size:
        run.open_outputs.add(site)
        return
    run.outputs.append(ResultStore(str(place.array), place.offset, value, run.mask.copy(), site, size, adds))


def _measure_stored(run: KernelRunner, value: DataBytes, kind: SizedType) -> int:
    """Return the bytes of one element of D among those that are stored as a type, such as a word of several."""
    parts = (width for width in (1, 2) if kind.size > width and has_two(run, value, width))
    if (width := next(parts, 0)) and (width == 1 or kind.size >= 4):
        return width
    return kind.vector or (4 if kind.size > 4 and has_two(run, value, 4) else kind.size)


def has_two(run: KernelRunner, value: Any, width: int = 2) -> bool:
    """Return whether every two widths of bytes are two elements of D."""
    if not isinstance(value, DataBytes) or value.size % (2 * width):
        return False
    known = (value.record < 0).all(axis=1)
    if not known.any():
        return False
    size = _measure_element(run.results[-int(value.record[known.argmax(), 0]) - 1])
    elements = value.record, value.thread, value.byte // size
    return any(bool((each[known, width] != each[known, 0]).any()) for each in elements)


def _measure_element(result: ProductResult) -> int:
    """Return the bytes of an element of D in its registers; 4 if its instruction is not known."""
    instruction = None if result.in_memory else find_instruction(result.opcode)
    return instruction.operand("d").container_bits // 8 if instruction is not None else 4
