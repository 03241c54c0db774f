"""Values of device code: loads and stores of places, and conversions between types."""

from __future__ import annotations

import re
from dataclasses import replace
from math import gcd, prod
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.bit_fields import extract_field, insert_field, is_word, read_word
from lanescope.reader.threads.language.bit_words import BitWord, decode_byte, make_elements, move_bits
from lanescope.reader.threads.language.numbers import (
    LONG,
    ULONG,
    Number,
    ThreadNumber,
    convert_number,
    get_number,
    make_uniform,
)
from lanescope.reader.threads.language.types import VOID, SizedType, find_component
from lanescope.reader.threads.memory.results import Reduction, is_result, note_records, store_result
from lanescope.reader.threads.memory.storage import (
    DataBytes,
    FloatConstant,
    LocalMemory,
    Mask,
    Pointer,
    ReadBytes,
    convert_to_float,
    is_zero,
    make_open_data,
    make_zeros,
    spread_coefficient,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.language.program import Scope
    from lanescope.reader.threads.runner import KernelRunner

_MOST_COPIED = 64  # bytes of local variables
CHANGES = re.compile(r"\+\+|--|(?<![<>=!])=(?!=)")  # of a value, in an expression


def load_place(run: KernelRunner, place: Pointer, span: tuple[int, int]) -> Any:
    """Return the value of a place; an array is a pointer to its first item, a struct stays a place."""
    if place.dims:
        return Pointer(place.space, place.array, place.offset, place.type, place.dims[1:])
    kind: SizedType = place.type
    if kind.scope is not None:
        return place
    if place.space == "global":
        return run.load_global(place.array, place.offset, kind.size, span)
    if place.space == "shared":
        return _load_shared(run, place, span)
    return _load_local(run, place)


def look_up_code(run: KernelRunner, node: tree.Index, place: Any, scope: Scope) -> DataBytes | None:
    """Return the entry of a table that a loaded byte selects, as a function of that byte; None without a table."""
    where = isinstance(place, Pointer)
    if (where and (place.offset is not None or place.type.size > 4)) or not (
        where or isinstance(node.value, tree.Name)
    ):
        return None
    index = node.indices[-1]
    if isinstance(index, tree.Binary) or CHANGES.search(run.text[slice(*index.span)]):
        return None
    return decode_byte(run, run.evaluate(index, scope), place.type.size if where else 4)


def _load_local(run: KernelRunner, place: Pointer) -> Any:
    """Return the value of a local variable in the threads that are running."""
    kind: SizedType = place.type
    offset = _find_active_value(run, place.offset)
    if offset is None or not isinstance(place.array, LocalMemory):
        return None
    value = place.array.read_value(offset, kind.size)
    if isinstance(value, BitWord) and not kind.integer:
        return make_elements(run, value, kind.vector or kind.size, None if kind.vector else 1)
    if kind.vector and isinstance(value, ThreadNumber):
        if run.tape is not None and value.known == 0:
            return make_zeros(run.threads, kind.size)
        return place  # of numbers: its members are read one by one
    if kind.field[1]:
        return extract_field(value, kind)
    return _read_number(run, value, kind) if isinstance(value, ThreadNumber) else value


def _read_number(run: KernelRunner, number: ThreadNumber, kind: SizedType) -> Any:
    """Return a number of a variable as one of the type that is read: another member of a union may have stored it."""
    differs = kind.integer and kind.size and number.kind != kind.kind  # auto has no size
    value = _convert_number(run, number, kind) if differs else number
    open_ = isinstance(value, ThreadNumber) and value.const is None and not run.runs_everyone()
    return _keep_active(run, value) if open_ else value


def _load_shared(run: KernelRunner, place: Pointer, span: tuple[int, int]) -> Any:
    """Return the bytes of a place in shared memory, or the address that tcgen05.alloc has put there."""
    kind: SizedType = place.type
    at = place.offset.const if place.offset is not None else None
    if at is None:
        return make_open_data(run.threads, kind.size)
    address = spread_coefficient(at, run.threads)
    word = run.find_tensor_address(address) if kind.integer and kind.size == 4 else None
    if word is not None:
        return word
    data = run.load_shared(address, kind.size, run.mask, span)
    kept = {run.kept_pointers.get(place) for place in set(address[run.mask].tolist())} if kind.pointer else set()
    if len(kept) == 1 and (pointer := kept.pop()) is not None:
        return cast_value(run, pointer, kind)
    return ReadBytes(data.record, data.thread, data.byte, (span,) * kind.size)


def _keep_active(run: KernelRunner, number: ThreadNumber) -> ThreadNumber:
    """Return a number with the coefficients of the running threads, where these agree."""
    terms: dict[Any, Any] = {}
    for names, coefficient in number.terms.items():
        value = coefficient
        if not isinstance(value, int):
            active = value[run.mask]
            same = bool(active.size) and bool((active == active[0]).all())
            value = int(active[0]) if same else value
        if not isinstance(value, int) or value:
            terms[names] = value
    return ThreadNumber(terms, number.kind)


def _find_active_value(run: KernelRunner, number: Number) -> int | None:
    """Return the value of a number in the threads that are running, if it is the same in all of them."""
    value = number.const if number is not None else None
    if value is None or isinstance(value, int):
        return value
    active = value[run.mask] if value.shape == run.mask.shape else value
    return int(active[0]) if active.size and bool((active == active[0]).all()) else None


def store_place(run: KernelRunner, place: Any, value: Any, site: tuple[int, int]) -> None:
    """Write a value to a place. site: the span of the place's expression."""
    if not isinstance(place, Pointer):
        run.lost_outputs |= is_result(value) or isinstance(value, Reduction)
        return
    kind: SizedType = place.type
    if place.space == "shared":
        run.store_shared(place.offset, fit_data(run, value, kind), site)
        if kind.pointer and isinstance(value, Pointer) and not run.assumed:
            _keep_pointer(run, place, value)
    elif place.space == "global":
        store_result(run, place, convert_value(run, value, kind), site)
    elif place.space == "local" and isinstance(place.array, LocalMemory):
        _store_local(run, place, value, site)


def _keep_pointer(run: KernelRunner, place: Pointer, pointer: Pointer) -> None:
    """Keep a pointer that the running threads store to shared memory, if it is the same in all of them."""
    at = _find_active_value(run, place.offset)
    offset = _keep_active(run, pointer.offset) if pointer.space in ("shared", "global") and pointer.offset else None
    if at is not None and offset is not None and all(isinstance(one, int) for one in offset.terms.values()):
        run.kept_pointers[at] = replace(pointer, offset=offset)


def _store_local(run: KernelRunner, place: Pointer, value: Any, site: tuple[int, int]) -> None:
    kind: SizedType = place.type
    offset = _find_active_value(run, place.offset)
    memory = place.array
    if offset is None:
        memory.forget_values()
        return
    memory.sites[offset] = site
    owners = memory.owners
    every_owner = run.mask is owners or run.runs_everyone()
    every_owner = every_owner or (owners is not None and bool((run.mask >= owners).all()))
    if kind.scope is not None or (kind.vector and isinstance(value, Pointer)):
        _copy_struct(place, value, offset, None if every_owner else run.mask)
        return
    converted = convert_value(run, value, kind)
    if (
        isinstance(converted, FloatConstant)
        and (run.masked or not every_owner)
        and is_result(old := memory.read_value(offset, kind.size))
    ):
        converted = old  # such as elements beyond a diagonal
        note_records(run, old, site)
    if kind.field[1]:
        converted = insert_field(memory, offset, converted, kind)
    memory.write_value(offset, kind.size, converted, None if every_owner else run.mask)


def split_vector(place: Pointer) -> Pointer:
    """Return the components of a vector, such as float4, as an array; any other place as it is."""
    kind: SizedType = place.type
    if place.dims or not kind.vector:
        return place
    return replace(place, type=find_component(kind), dims=(kind.size // kind.vector,))


def fill_zeros(run: KernelRunner, place: Pointer, site: tuple[int, int]) -> None:
    """Write 0 to all of a place in local memory: each item, member or component of it."""
    place = split_vector(place)
    kind: SizedType = place.type
    if place.dims:
        items = [place.find_part(n * kind.size, kind) for n in range(prod(place.dims))]
    else:
        items = [place.find_part(member.offset, member.type, member.dims) for member in kind.members]
    for item in items:
        fill_zeros(run, item, site)
    if not items:
        store_place(run, place, make_uniform(0), site)


def _copy_struct(place: Pointer, value: Any, offset: int, mask: Mask | None) -> None:
    if isinstance(value, Pointer) and value.space == "local" and value.offset is not None:
        first = value.offset.known
        if first is not None:
            for start, (cell, size) in list(value.array.cells.items()):
                if first <= start < first + place.type.size:
                    place.array.write_value(offset + start - first, size, cell, mask)
            return
    for start, (_, size) in list(place.array.cells.items()):
        if offset <= start < offset + place.type.size:
            place.array.cells[start] = None, size


def copy_words(run: KernelRunner, target: Any, source: Any, size: int | None, site: tuple[int, int]) -> bool:
    """Copy bytes between local variables, in the widest words that divide their number; return whether both are such
    variables and the number is known.
    """
    local = all(isinstance(one, Pointer) and isinstance(one.array, LocalMemory) for one in (target, source))
    if not local or not size or size > _MOST_COPIED:
        return False
    unit = gcd(size, 8)
    word = SizedType(f"uint{8 * unit}_t", unit, integer=True)
    for at in range(0, size, unit):
        store_place(run, target.find_part(at, word), load_place(run, source.find_part(at, word), site), site)
    return True


def fit_data(run: KernelRunner, value: Any, kind: SizedType) -> DataBytes:
    """Return a value as the bytes of a type."""
    if isinstance(value, DataBytes):
        return convert_data(run, value, kind)
    return (make_zeros if is_zero(value) else make_open_data)(run.threads, kind.size)


def convert_data(run: KernelRunner, value: DataBytes, kind: SizedType) -> DataBytes:
    """Convert data to another type; each element keeps its origin."""
    if value.size == kind.size:
        return value
    if max(value.size, kind.size) <= 8 and not kind.vector:
        return value.resize_element(kind.size)
    return make_open_data(run.threads, kind.size)


def convert_value(run: KernelRunner, value: Any, kind: SizedType) -> Any:
    """Convert a value to a type implicitly."""
    if isinstance(value, ThreadNumber):
        return _convert_number(run, value, kind)
    if isinstance(value, BitWord):
        return _convert_word(run, value, kind)
    if isinstance(value, DataBytes):
        return fit_data(run, value, kind)
    if isinstance(value, Pointer) and kind.integer and is_word(value.type):
        return convert_value(run, read_word(value), kind)
    return value


def _convert_number(run: KernelRunner, number: ThreadNumber, kind: SizedType) -> Any:
    """Convert a number to an integer or to a floating-point number."""
    if kind.integer:
        if number.kind == kind.kind and kind.name != "bool":
            return number
        to = (1, False) if kind.name == "bool" and number.known in (0, 1) else kind.kind
        return run.turn_counts.keep_argument(number, convert_number(number, to))
    if run.tape is None or kind.pointer:
        return None if kind.pointer else convert_to_float(number)
    return run.tape.convert(run, number)


def _convert_word(run: KernelRunner, word: BitWord, kind: SizedType) -> Any:
    """Convert a word to an integer, or its value to one floating-point number."""
    if kind.integer:
        return move_bits("&", word, make_uniform((1 << kind.kind[0]) - 1, ULONG)) if kind.size < 4 else word
    return word if kind.vector else make_elements(run, word, 4).resize_element(kind.size)


def cast_value(run: KernelRunner, value: Any, kind: SizedType | None) -> Any:
    """Convert a value by an explicit cast."""
    if kind is None:
        return None
    if kind.pointer:
        if isinstance(value, Pointer):
            return replace(value, type=kind.target or VOID, dims=kind.dims)
        number = get_number(value)
        return Pointer("shared", None, convert_number(number, LONG), kind.target or VOID, kind.dims) if number else None
    if isinstance(value, Pointer) and kind.integer and not is_word(value.type):
        return convert_number(value.shared_address, kind.kind)
    if isinstance(value, DataBytes) and not kind.integer and value.size != kind.size and not kind.vector:
        return value.resize_element(kind.size) if max(value.size, kind.size) <= 8 else None
    return convert_value(run, value, kind)
