"""Conversions of elements by the CUDA Math API: to other types, to both halves of a register, and of one half."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.bit_words import BitWord, make_elements
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_number
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType, find_builtin
from lanescope.reader.threads.memory.results import Reduction
from lanescope.reader.threads.memory.storage import (
    CONSTANT,
    ZERO,
    DataBytes,
    FloatConstant,
    LocalMemory,
    Pointer,
    convert_to_float,
    is_zero,
    join_data,
    make_zeros,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

LibraryCall = Callable[["KernelRunner", str, tree.Call, Scope], Any]
_TO_TWO = re.compile(
    r"__(?:float|double|half|bfloat16|u?(?:char|short|int|ll))2(?:float|half|bfloat16|u?(?:char|short|int|ll))(?:_r[nzud])?"
    r"|l?l(?:rint|round)f?|__nv_cvt_\w+_to_fp8"
)
_SIZES = {"char": 1, "fp8": 1, "half": 2, "bfloat16": 2, "short": 2, "ll": 8}  # bytes of a result, by name; 4 of others
_OF_RESULT = re.compile(r"(?:2|_to_)u?([a-z]+(?:\d\d|8)?)(?:_r[nzud])?")
_TO_ONE = re.compile(r"__(?:low|high)2(?:half|float|bfloat16)")
_TO_BOTH = re.compile(r"__(?:(?:half|bfloat16)22float2|float2(?:half|bfloat16)2(?:_rn)?|half2half2|bfloat162bfloat162)")
_PAIR = re.compile(r"__(?:floats2(?:half|bfloat16)2(?:_rn)?|halves2(?:half2|bfloat162))|make_\w+[234]")
_AS_BITS = re.compile(r"__(?:u?short|u?int|float|b?float16|half|bfloat16)_as_\w+")


def _evaluate_elements(run: KernelRunner, node: tree.Expression, scope: Scope) -> Any:
    """Return the value of an expression; a number of a run that computes as an element."""
    value = run.evaluate(node, scope)
    if run.tape is None or not isinstance(value, ThreadNumber):
        return value
    return make_zeros(run.threads, 4) if is_zero(value) else run.tape.convert(run, value)


def _convert_bits(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    value, result = _evaluate_elements(run, node.arguments[0], scope), _OF_RESULT.search(name)
    size = _SIZES.get(result[1], 4) if result is not None else 4
    to_integer = result is None or result[1] in ("char", "short", "int", "ll")
    rounds = run.tape is not None and to_integer
    if isinstance(value, ThreadNumber) and not to_integer:
        return convert_to_float(value)
    if isinstance(value, FloatConstant | Reduction) or rounds:
        return None if rounds else value
    data = make_elements(run, value, 4) if isinstance(value, BitWord) else value
    return data.resize_element(size) if isinstance(data, DataBytes) and data.size in (1, 2, 4, 8) else None


def _keep_bits(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    value = run.evaluate(node.arguments[0], scope)
    if not isinstance(value, BitWord):
        return value
    return make_elements(run, value, 4) if name.endswith("float") else make_elements(run, value, 2, 1)


def _join_halves(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    parts = [_evaluate_elements(run, argument, scope) for argument in node.arguments]
    if all(isinstance(part, ThreadNumber | FloatConstant) for part in parts):
        return _join_constants(name, parts)
    if not all(isinstance(part, DataBytes) for part in parts):
        return None
    if "floats2" in name:
        parts = [part.resize_element(2) for part in parts]
    return join_data(parts) if len({part.size for part in parts}) == 1 else None


def _join_constants(name: str, parts: list[Any]) -> Any:
    """Return a vector of numbers: its place, or one number if it fits in a register."""
    if parts and name.startswith("make_"):
        return _make_vector(find_builtin(name.removeprefix("make_")), parts)
    known = parts and all(isinstance(part, FloatConstant) for part in parts)
    return None if not known else ZERO if all(map(is_zero, parts)) else CONSTANT


def _make_vector(kind: SizedType | None, parts: list[Any]) -> Pointer | None:
    """Return a vector of numbers, as the place that holds it."""
    if kind is None or not kind.vector:
        return None
    memory = LocalMemory()
    for n, part in enumerate(parts):
        memory.write_value(n * kind.vector, kind.vector, part, None)
    return Pointer("local", memory, make_number(0, LONG), kind)


def _spread_half(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Return both halves of a half2: one element twice, or two floats."""
    value = _evaluate_elements(run, node.arguments[0], scope)
    if not isinstance(value, DataBytes):
        return value if isinstance(value, FloatConstant | Reduction) else None
    if "22float2" in name:
        return join_data([value.cut_bytes(n, 2).resize_element(4) for n in (0, 2)]) if value.size == 4 else None
    return join_data([value.resize_element(2)] * 2)


def _get_half(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Return one half of a half2."""
    value = _evaluate_elements(run, node.arguments[0], scope)
    if not isinstance(value, DataBytes) or value.size != 4:
        return value if isinstance(value, FloatConstant | Reduction) else None
    return value.cut_bytes(2 * ("high" in name), 2).resize_element(4 if name.endswith("float") else 2)


def _split_halves(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    value = _evaluate_elements(run, node.arguments[0], scope)
    if not isinstance(value, DataBytes) or value.size != 8:
        return None
    return join_data([value.cut_bytes(0, 4).resize_element(2), value.cut_bytes(4, 4).resize_element(2)])


CONVERSIONS: tuple[tuple[re.Pattern[str], int, LibraryCall], ...] = (  # names, the arguments that a call has at least
    (_TO_TWO, 0, _convert_bits),
    (_TO_BOTH, 1, _spread_half),
    (_TO_ONE, 1, _get_half),
    (_PAIR, 0, _join_halves),
    (_AS_BITS, 1, _keep_bits),
    (re.compile("__float22half2_rn|__float22bfloat162_rn"), 0, _split_halves),
)
