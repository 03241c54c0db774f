"""Numbers in the registers of a run that computes: what each element is, and what it is computed from.

Elements of global memory are numbers that tell them apart. Whatever code computes of them gets a record with the
numbers of all threads, so that bytes keep their meaning through packed registers, shuffles and shared memory. Numbers
are not rounded to the types of registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.value_class import value_class
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.reader.threads.language.numbers import ThreadNumber, make_number
from lanescope.reader.threads.memory.records import MmaUse
from lanescope.reader.threads.memory.storage import (
    OPEN,
    ZEROED,
    DataBytes,
    FloatConstant,
    Ints,
    LoadRecord,
    Mask,
    Pointer,
    Span,
    is_zero,
    spread_coefficient,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.language.types import SizedType
    from lanescope.reader.threads.runner import KernelRunner

Floats = NDArray[np.float64]
_HALF, _FLOAT = 2, 4  # bytes
find_instruction = lru_cache(maxsize=64)(catalog.find_instruction)
_NAME = re.compile(  # of CUDA: fmaxf, __expf, __fadd_rn, __fdividef, __hfma2_rn, h2exp2
    r"([-+*/]|[<>=!]=|[<>])|(?:std::)?(?:__)?(?:[fd]|(?P<half>h2?))?"
    r"(max|min|fma|exp2|expm1|exp|log2|log|rsqrt|sqrt|rcp|tanh|abs|neg|add|sub|mul|div(?:ide)?)"
    r"(?:f|(?(half)2))?(?:_r[nzud]|_approx)?"
)
_ROUNDED = {  # words of an opcode that change no more than how a result is rounded
    *("rn", "rz", "rm", "rp", "approx", "full", "ftz", "f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64")
}


def multiply_add(a: Any, b: Any, c: Any) -> Any:
    """Return a · b + c."""
    return a * b + c


_FUNCTIONS: dict[tuple[str, int], Callable[..., Any]] = {  # by name and number of operands
    **dict.fromkeys((("+", 2), ("add", 2)), np.add),
    **dict.fromkeys((("-", 2), ("sub", 2)), np.subtract),
    **dict.fromkeys((("*", 2), ("mul", 2)), np.multiply),
    **dict.fromkeys((("/", 2), ("div", 2)), np.divide),
    **dict.fromkeys((("-", 1), ("neg", 1)), np.negative),
    **dict.fromkeys((("fma", 3), ("mad", 3)), multiply_add),
    **dict.fromkeys((("exp2", 1), ("ex2", 1)), np.exp2),
    **dict.fromkeys((("log2", 1), ("lg2", 1)), np.log2),
    ("+", 1): np.positive,
    ("max", 2): np.fmax,
    ("min", 2): np.fmin,
    ("exp", 1): np.exp,
    ("expm1", 1): np.expm1,
    ("log", 1): np.log,
    ("sqrt", 1): np.sqrt,
    ("rsqrt", 1): lambda a: 1 / np.sqrt(a),
    ("rcp", 1): np.reciprocal,
    ("tanh", 1): np.tanh,
    ("abs", 1): np.abs,
    ("==", 2): np.equal,
    ("!=", 2): np.not_equal,
    ("<", 2): np.less,
    (">", 2): np.greater,
    ("<=", 2): np.less_equal,
    (">=", 2): np.greater_equal,
}


@value_class(frozen=True, slots=True, eq=False)
class TapeStep:
    """What computed a record: a function of operands, or a product of the registers of A, B and C by an instruction."""

    record: int
    name: str
    operands: tuple[Any, ...]
    site: Span
    mask: Mask
    instruction: Instruction | None = None

    @property
    def function(self) -> Callable[..., Any] | None:
        """What it computes; None for a product, and if that is not known."""
        return find_function(self.name, len(self.operands)) if self.instruction is None else None

    def compute(self, run: KernelRunner, view: TapeView) -> Any:
        """Return the result with the numbers of a view; None if an operand is not known."""
        if self.instruction is not None:
            parts = view.arrange(run, self)
            return None if parts is None else spread(self.instruction.operand("d"), parts[0] @ parts[1] + parts[2])
        parts = [view.read_numbers(run, value) for value in self.operands]
        function = self.function
        if function is None or any(one is None for one in parts):
            return None
        return function(*parts) if len({one.shape[1] for one in parts} - {1}) < 2 else None


@value_class(frozen=True, slots=True, eq=False)
class NumberStore:
    """A store to global memory: the array, the element of each thread from which on data is stored, and its threads."""

    array: str
    index: Ints
    data: DataBytes
    mask: Mask
    site: Span


def number_elements(array: str, index: Ints) -> Floats:
    """Return a number between -2 and 2 for each element of an array."""
    wave = np.sin(index * 12.9898 + crc32(array.encode()) % 1000) * 43758.5453
    number: Floats = 4 * (wave - np.floor(wave)) - 2
    return number


def find_function(name: str, count: int) -> Callable[..., Any] | None:
    """Return what an operator, a function of CUDA or an opcode computes from a number of operands; None if unknown.

    >>> [find_function(name, 1) is not None for name in ("log2f", "log10f", "ex2.approx.ftz.f32", "abs.s32")]
    [True, False, True, False]
    """
    opcode, *words = name.split(".")
    if words:
        return _FUNCTIONS.get((opcode, count)) if _ROUNDED.issuperset(words) else None
    found = _NAME.fullmatch(name)
    return _FUNCTIONS.get(((found[1] or found[3]).removesuffix("ide"), count)) if found is not None else None


class TapeView:
    """Numbers of the records of a run.

    elements: what elements of global memory are, by array and number; zero, unknown: what constants and bytes of
    unknown origin are.
    """

    def __init__(self, elements: Callable[[str, Ints], Any], zero: Any = 0.0, unknown: Any = np.nan) -> None:
        self.elements, self.zero, self.unknown = elements, zero, unknown
        self.tables: dict[int, Any] = {}  # by record: [threads, elements]

    def read_numbers(self, run: KernelRunner, value: Any) -> Any:
        """Return the numbers of a value's elements, [threads, elements]; None if they are not known."""
        if isinstance(value, ThreadNumber) and value.const is not None:
            numbers = spread_coefficient(value.const, run.threads)[:, None]
            return numbers * 1.0 if self.zero == 0 else np.full(numbers.shape, self.zero)
        if isinstance(value, FloatConstant) and is_zero(value):
            return np.full((run.threads, 1), self.zero)
        if not isinstance(value, DataBytes):
            return None
        assert run.tape is not None
        return np.stack([self._read_element(run, value, at) for at in run.tape.find_starts(run, value)], axis=1)

    def _read_element(self, run: KernelRunner, data: DataBytes, at: int) -> Any:
        record, thread, byte = data.record[:, at], data.thread[:, at], data.byte[:, at]
        if (record == record[0]).all():
            return self._gather(run, int(record[0]), thread, byte)
        found = np.full(len(record), self.unknown)
        for number in np.unique(record).tolist():
            mine = record == number
            found[mine] = self._gather(run, number, thread[mine], byte[mine])
        return found

    def _gather(self, run: KernelRunner, record: int, thread: Ints, byte: Ints) -> Any:
        """Return the numbers of elements of one record."""
        assert run.tape is not None
        element, load = byte // run.tape.find_width(run, record), run.records[record]
        if (table := self.tables.get(record)) is not None:
            return table[thread, np.minimum(element, table.shape[1] - 1)]
        if record == ZEROED or record in run.tape.view.tables:  # a constant
            return np.full(len(thread), self.zero)
        if record <= OPEN or load.offset.const is None:
            return np.full(len(thread), self.unknown)
        start = spread_coefficient(load.offset.const, run.threads)[thread]
        return self.elements(load.array, (start + byte) // run.tape.find_width(run, record))

    def arrange(self, run: KernelRunner, step: TapeStep) -> list[Any] | None:
        """Return A, B and C of a product as the matrices of each warp; None if one is not known."""
        assert step.instruction is not None
        parts = [[self.read_numbers(run, value) for value in of] for of in step.operands]
        operands = [step.instruction.operand(name) for name in "abd"]
        for operand, of in zip(operands, parts, strict=True):
            each = operand.coords["row"].shape[1] // len(of)
            if any(one is None or one.shape[1] not in (1, each) for one in of):
                return None
        return [arrange(operand, of, self.zero) for operand, of in zip(operands, parts, strict=True)]


class NumberTape:
    """The numbers of a run, in the order in which they are computed."""

    def __init__(self) -> None:
        self.view = TapeView(number_elements)
        self.widths: dict[int, int] = {}  # by record: bytes of an element
        self.units: dict[str, int] = {}  # the same by array
        self.steps: list[TapeStep] = []
        self.stores: list[NumberStore] = []
        self.constants: dict[float, DataBytes] = {}
        self.lost: Span | None = None  # the first statement with a result that is not known

    def note_array(self, name: str, element: SizedType) -> None:
        """Note the bytes of an array's elements."""
        if element.name != "void":
            self.units[name] = element.vector or element.size

    def find_starts(self, run: KernelRunner, data: DataBytes) -> list[int]:
        """Return the first byte of each element of data."""
        lane = int((data.record > OPEN).all(axis=1).argmax())
        record, thread, byte = (of[lane].tolist() for of in (data.record, data.thread, data.byte))
        starts = [0]
        for at in range(1, data.size):
            same = record[at] == record[at - 1] and thread[at] == thread[at - 1]
            step = byte[at] - byte[at - 1]
            begins = step == 1 and record[at] > OPEN and not byte[at] % self.find_width(run, record[at])
            if not same or step not in (0, 1) or begins:
                starts.append(at)
        return starts

    def find_width(self, run: KernelRunner, record: int) -> int:
        """Return the bytes of an element of a record."""
        return self.widths.get(record) or self.units.get(run.records[record].array, _HALF)

    def make_constant(self, run: KernelRunner, number: float) -> DataBytes:
        """Return a number that all threads have."""
        if number not in self.constants:
            self.constants[number] = self._make_data(run, np.full((run.threads, 1), number), _FLOAT)
        return self.constants[number]

    def convert(self, run: KernelRunner, number: ThreadNumber) -> Any:
        """Return an integer as a floating-point number; None if it is not known."""
        known = number.known
        return self.make_constant(run, float(known)) if known is not None else self.apply(run, "+", (number,))

    def _make_data(self, run: KernelRunner, numbers: Floats, size: int) -> DataBytes:
        run.records.append(LoadRecord("", make_number(0)))
        record = len(run.records) - 1
        self.view.tables[record], self.widths[record] = numbers, size // numbers.shape[1]
        return DataBytes(np.broadcast_to(np.int64(record), (run.threads, size)), *_place_bytes(run.threads, size))

    def apply(self, run: KernelRunner, name: str, operands: Sequence[Any]) -> Any:
        """Return the result of an operator or of a function; None if it is not known."""
        sizes = [value.size if isinstance(value, DataBytes) else _HALF for value in operands]
        return self._add_step(run, TapeStep(len(run.records), name, tuple(operands), run.reached, run.mask), max(sizes))

    def multiply(
        self, run: KernelRunner, use: MmaUse | None, added: Sequence[Any], count: int, span: Span
    ) -> list[Any]:
        """Return the registers of D of an mma; all None if they are not known."""
        if use is None or not added:
            self.lost = self.lost or span
            return [None] * count
        registers = tuple(tuple(one.data for one in of) for of in (use.a, use.b))
        site, instruction = (*use.calls, use.span)[0], find_instruction(use.opcode)
        step = TapeStep(len(run.records), "mma", (*registers, tuple(added)), site, run.mask, instruction)
        data = self._add_step(run, step, _FLOAT * count)
        return [data.cut_bytes(_FLOAT * n, _FLOAT) if data is not None else None for n in range(count)]

    def _add_step(self, run: KernelRunner, step: TapeStep, size: int) -> Any:
        """Return the result of a step, of a number of bytes."""
        with np.errstate(all="ignore"):
            result = step.compute(run, self.view)
        if result is None:
            self.lost = self.lost or step.site
            return None
        if result.dtype == np.bool_:
            return make_number(result[:, 0].astype(np.int64))
        self.steps.append(step)
        return self._make_data(run, np.broadcast_to(result, (run.threads, result.shape[1])), size)

    def store(self, run: KernelRunner, place: Pointer, value: Any, site: Span) -> None:
        """Record a store to global memory."""
        unit = self.units.get(str(place.array), _HALF)
        offset = place.offset.const if place.offset is not None else None
        if offset is None or not isinstance(value, DataBytes):
            self.lost = self.lost or site
            return
        index = spread_coefficient(offset, run.threads) // unit
        self.stores.append(NumberStore(str(place.array), index, value, run.mask.copy(), site))

    def compare(self, run: KernelRunner, op: str, left: Any, right: Any) -> Any:
        """Return the threads in which a comparison of numbers is true; None if it is not known, such as of elements of
        global memory, which are other numbers in another run.
        """
        data = [value for value in (left, right) if isinstance(value, DataBytes)]
        computed = (int(one.record[run.mask.argmax(), 0]) in self.widths for one in data)
        return self.apply(run, op, (left, right)) if data and all(computed) else None


@lru_cache(maxsize=64)
def _place_bytes(threads: int, size: int) -> tuple[Ints, Ints]:
    shape = threads, size
    return np.broadcast_to(np.arange(threads)[:, None], shape), np.broadcast_to(np.arange(size), shape)


def _find_coordinates(operand: Operand) -> tuple[Ints, Ints]:
    row, column = (np.asarray(operand.coords[axis], np.int64) for axis in ("row", "col"))
    return row, column


def arrange(operand: Operand, registers: Sequence[Any], zero: Any) -> Any:
    """Return the numbers that threads hold in registers as the matrix of each warp, [warps, rows, columns]. zero: those
    of elements that no thread holds.
    """
    row, column = _find_coordinates(operand)
    each = row.shape[1] // len(registers)
    held = np.concatenate([np.broadcast_to(one, (len(one), each)) for one in registers], axis=1)
    shape = len(held) // len(row), int(row.max()) + 1, int(column.max()) + 1
    matrix = np.full(shape, zero, held.dtype)
    matrix[:, row, column] = held.reshape(-1, *row.shape)
    return matrix


def spread(operand: Operand, matrix: Any) -> Any:
    """Return the elements of the matrix of each warp that its threads hold: [threads, elements]."""
    row, column = _find_coordinates(operand)
    return matrix[:, row, column].reshape(-1, row.shape[1])
