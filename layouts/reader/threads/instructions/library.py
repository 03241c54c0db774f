"""CUDA functions that device code calls: address conversions, loads, element conversions, shuffles."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.running.work_words import ROUNDED_UP, TUPLE_MAKERS
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers import library_barriers
from lanescope.reader.threads.barriers.order_events import follow_call, has_own_pipeline, note_group_copy
from lanescope.reader.threads.cute.copies import forget_tensors
from lanescope.reader.threads.instructions.conversions import CONVERSIONS
from lanescope.reader.threads.instructions.wmma_calls import call_load_matrix, call_mma, fill_fragment, store_matrix
from lanescope.reader.threads.language import aggregates
from lanescope.reader.threads.language.bit_words import compute_elements
from lanescope.reader.threads.language.numbers import (
    ULONG,
    ThreadNumber,
    add_numbers,
    apply_operator,
    convert_number,
    get_number,
    make_uniform,
)
from lanescope.reader.threads.language.packing import permute_bytes
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.language.values import convert_value, copy_words, fill_zeros, load_place, store_place
from lanescope.reader.threads.memory.results import note_function, note_scalar, shuffle_value, store_result
from lanescope.reader.threads.memory.storage import (
    CONSTANT,
    DataBytes,
    LocalMemory,
    Pointer,
    fill_up,
    is_zero,
    spread_number,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

NOT_HERE = object()
_MOST_FILLED = 1024  # items of an array that a call fills
_TO_SHARED = re.compile(
    r"__cvta_(?:generic_to_shared|shared_to_generic)|__nvvm_get_smem_pointer|cast_smem_ptr_to_uint|get_smem_pointer|smem_ptr_to_u\w*"
)
_SILENT = re.compile(
    r"__sync\w+|__threadfence\w*|assert|printf|__nanosleep|__builtin_\w+|__trap|static_assert"
    r"|__pipeline_(?:commit|wait\w*)|__cp_async_\w*(?:wait|commit)\w*|cp_async_(?:wait|fence)\w*"
    r"|__launch_bounds__|clock\w*"
    r"|LANESCOPE_[A-Z]+"  # of lanescope.cuh: they record, and write no register
)
_FACTORS = re.compile(r"fma|mul|mad")  # functions that multiply their first two arguments
# CUDA Math API 13.0: functions of one element each, also of both of a half2
_MATH = re.compile(
    r"_{0,2}(?:h2?|f|n)?(?:exp(?:2|10|m1)?|log(?:2|10|1p)?|r?sqrt|r?cbrt|rcp|(?:a?(?:sin|cos)|tan)h?|tanh_approx|erfc?|pow"
    r"|(?:f|h)?(?:abs|max|min)2?(?:_nan)?|fmod|fdivide|saturate|floor|ceil|rint|trunc|round|neg2?"
    r"|(?<=__[hf])(?:add|sub|mul|div|mad)2?|fma2?)f?(?:_r[nzud])?(?:_sat|_relu)?"
)
_ACTIVATION = re.compile(r"exp|log|sqrt|tan|erf|pow|rcp|sin|cos")
_LOAD = re.compile(r"__ld(?:g|cg|ca|cs|lu|cv)|__stg")


def call_library(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Return the result of a CUDA or standard library function; NOT_HERE for any other."""
    result = library_barriers.call_function(run, name, node, scope)
    if result is not library_barriers.NOT_HERE:
        return result
    follow_call(run, name, node, scope)
    call = _find_function(name, len(node.arguments))
    return call(run, name, node, scope) if call is not None else NOT_HERE


@lru_cache(maxsize=1 << 10)
def _find_function(name: str, arguments: int) -> Callable[[KernelRunner, str, tree.Call, Scope], Any] | None:
    """Return what a library function with a number of arguments does; None for an unknown one."""
    return next((call for names, least, call in _FUNCTIONS if arguments >= least and names.fullmatch(name)), None)


def _ignore_call(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Ignore a function without effect on values of the code."""


def _make_tuple(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> tuple[Any, ...]:
    return tuple(run.evaluate(argument, scope) for argument in node.arguments)


def _get_part(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Return std::get<number>(tuple)."""
    templates = node.function.path[-1][1] if isinstance(node.function, tree.Name) else None
    number = run.evaluate_template(templates[0], scope) if templates else None
    return aggregates.get_part(run.evaluate(node.arguments[0], scope), number)


def _get_address(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    value = run.evaluate(node.arguments[0], scope)
    if isinstance(value, Pointer):
        return convert_number(value.shared_address, ULONG)
    return value if isinstance(value, ThreadNumber) else None


def _call_store(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Store a value with a cache operator: what *pointer = value stores."""
    pointer, value = node.arguments[:2]
    target = tree.Unary(op="*", value=pointer, span=pointer.span)
    run.evaluate(tree.Assignment(target=target, op="", value=value, span=node.span), scope)


def _call_select(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Return the minimum or the maximum of two numbers."""
    if len(node.arguments) != 2:
        return NOT_HERE
    left, right = (run.evaluate(argument, scope) for argument in node.arguments)
    if isinstance(left, ThreadNumber) and isinstance(right, ThreadNumber):
        return apply_operator(name, left, right) or _drop_bound(run, name, node.span, left, right)
    return compute_elements(run, left, right, name=name)


def _divide_up(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Return a quotient rounded up: what ceil_div and its kin mean where the text does not define them."""
    left, right = (get_number(run.evaluate(argument, scope)) for argument in node.arguments[:2])
    if left is None or right is None or len(node.arguments) != 2:
        return NOT_HERE
    return apply_operator("/", add_numbers(add_numbers(left, right), make_uniform(-1)), right)


def _drop_bound(
    run: KernelRunner, name: str, site: tuple[int, int], left: ThreadNumber, right: ThreadNumber
) -> ThreadNumber | None:
    """Return the row that a minimum or maximum keeps inside a matrix, as in the inner tiles of a grid; None if neither
    operand is a bound: an open size, or 0 from below.
    """
    below = name == "min"
    for value, bound in ((left, right), (right, left)):
        if not value.uniform and bound.uniform and (bound.const is None if below else bound.known == 0):
            past = add_numbers(bound, make_uniform(1)) if below else None
            if past is not None:
                run.limits[site] = value, past
            return value
    return None


def _call_math(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Return what the result of a mathematical function depends on."""
    size = 2 if "2" in name and "h" in name else 4  # of a half2
    values = [run.evaluate(argument, scope) for argument in node.arguments]
    result = compute_elements(run, *values, size=size, name=name)
    if _FACTORS.search(name):
        for value, factor in zip(values[:2], node.arguments[1::-1], strict=False):
            note_scalar(run, "*", run.text[slice(*factor.span)], value, node.span)
    if _ACTIVATION.search(name):
        note_function(run, result)
    return result


def _call_atomic(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Store the value of an atomic operation, as far as it may be an element of D; what was there is not known."""
    address, value = (run.evaluate(argument, scope) for argument in node.arguments[:2])
    if isinstance(address, Pointer) and address.space == "global":
        store_result(run, address, convert_value(run, value, address.type), node.span, True)
    else:
        forget_targets(run, [address], name)


def _pass_value(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    return run.evaluate(node.arguments[0], scope)


def _call_load(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    pointer = run.evaluate(node.arguments[0], scope)
    return load_place(run, pointer, node.span) if isinstance(pointer, Pointer) else None


def _permute_bytes(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    return permute_bytes(*(run.evaluate(argument, scope) for argument in node.arguments[:3]))


def _call_shuffle(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Return the value of another lane, as far as its number is known."""
    value, by, *width = (run.evaluate(argument, scope) for argument in node.arguments[1:4])
    if isinstance(value, ThreadNumber) and value.uniform:
        return value
    wide = width[0].known if width and isinstance(width[0], ThreadNumber) else 0 if width else 32
    away = by.const if isinstance(by, ThreadNumber) else None
    if away is None or wide not in (2, 4, 8, 16, 32):
        return None
    return shuffle_value(run, name.removeprefix("__shfl_").removesuffix("sync").strip("_"), value, away, wide)


def _call_fill(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Follow memset, std::fill and std::fill_n of a thread's own memory."""
    target, second, third = values = [run.evaluate(argument, scope) for argument in node.arguments[:3]]
    if not isinstance(target, Pointer) or target.space != "local" or target.type.pointer:
        return forget_targets(run, values, name)
    kind: SizedType = target.type
    in_bytes = name.endswith("memset")
    value = second if in_bytes else third
    count = _count_filled(name, target, second, third)
    if count is None or (kind.scope is not None and not is_zero(value)):
        return forget_targets(run, [target], name)
    for item in (target.find_part(n * kind.size, kind) for n in range(count)):
        if is_zero(value):
            fill_zeros(run, item, node.span)
        else:
            filled = value if not in_bytes else None if kind.integer else CONSTANT
            store_place(run, item, filled, node.span)
    return None


def _count_filled(name: str, target: Pointer, second: Any, third: Any) -> int | None:
    """Return how many items a call of _call_fill fills; None if that is not known, or too many."""
    size = 1 if name == "fill_n" else target.type.size
    if name == "fill":
        away = add_numbers(second.offset, target.offset, -1) if isinstance(second, Pointer) else None
    else:
        away = second if name == "fill_n" else third
    count = away.known if isinstance(away, ThreadNumber) else None
    return count // size if count is not None and not count % size and 0 <= count // size <= _MOST_FILLED else None


def _call_memcpy(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Copy bytes between local variables, or from global to shared memory, without the order of a shared pipeline."""
    if name == "memcpy_async" and len(node.arguments) == 5:  # (group, destination, source, size, barrier or pipeline)
        return note_group_copy(run, node, scope)
    target, source = (run.evaluate(argument, scope) for argument in node.arguments[:2])
    bytes_ = _count_copied(run, node.arguments[2], scope)
    if copy_words(run, target, source, bytes_, node.span):
        return None
    if not isinstance(target, Pointer) or target.space != "shared":
        return forget_targets(run, [target, source], name)  # a group may come first
    if not isinstance(source, Pointer) or source.space != "global" or not bytes_ or bytes_ > 64:
        run.shared.incomplete = run.shared.incomplete or "a copy of a size that is not known"
        return None
    data = run.load_global(source.array, source.offset, bytes_, node.arguments[1].span)
    data = _end_in_zeros(run, data, node.arguments[3:], scope) if name.startswith("__") else data
    run.store_shared(target.offset, data, node.arguments[0].span, "async" in name)
    return run.forget_order() if name == "memcpy_async" and not has_own_pipeline(run.text) else None


def _count_copied(run: KernelRunner, size: tree.Expression, scope: Scope) -> int | None:
    """Return the bytes that a call copies, also as cuda::aligned_size_t<16>(bytes); None if they are not known."""
    counted = size.arguments[0] if isinstance(size, tree.Call) and len(size.arguments) == 1 else size
    value = run.evaluate(counted, scope)
    return value.known if isinstance(value, ThreadNumber) else None


def _end_in_zeros(run: KernelRunner, data: DataBytes, count: Sequence[tree.Expression], scope: Scope) -> DataBytes:
    """Return data whose last bytes are 0. count: their number, if it is given."""
    zeros = spread_number(run.evaluate(count[0], scope), run.threads) if count else None
    return fill_up(data, data.size - zeros) if zeros is not None else data


_FUNCTIONS: tuple[tuple[re.Pattern[str], int, Callable[[KernelRunner, str, tree.Call, Scope], Any]], ...] = (
    # names, the arguments that a call has at least
    (re.compile(r"(?:__builtin_)?memset|fill(?:_n)?"), 3, _call_fill),
    (re.compile(TUPLE_MAKERS), 2, _make_tuple),
    (re.compile("get"), 1, _get_part),
    (_SILENT, 0, _ignore_call),
    (_TO_SHARED, 0, _get_address),
    (re.compile("min|max"), 2, _call_select),
    (re.compile(ROUNDED_UP), 2, _divide_up),
    (_MATH, 1, _call_math),
    (re.compile(r"atomic[A-Z]\w*"), 2, _call_atomic),
    (re.compile("__byte_perm"), 3, _permute_bytes),
    (re.compile("move|forward|__float_to_tf32|__cvta_generic_to_global"), 1, _pass_value),
    (_LOAD, 0, _call_load),
    (re.compile("__st(?:cs|cg|wt|wb)"), 2, _call_store),
    *CONVERSIONS,
    (re.compile(r"__shfl_(?:(?:xor|up|down)_)?sync"), 3, _call_shuffle),
    (re.compile("__pipeline_memcpy_async|memcpy(?:_async)?"), 3, _call_memcpy),
    (re.compile("load_matrix_sync"), 3, call_load_matrix),
    (re.compile("mma_sync"), 4, call_mma),
    (re.compile("store_matrix_sync"), 4, store_matrix),
    (re.compile("fill_fragment"), 2, fill_fragment),
)
_HARMLESS = re.compile(
    r"^make_pipeline$|mbar|barrier|fence|wait|commit|prefetch|elect|arrive|setmaxnreg|reg_|tensormap", re.I
)


def forget_arguments(run: KernelRunner, node: tree.Call, scope: Scope) -> Any:
    """Make unknown everything that a function without a body may write."""
    name = node.function.last if isinstance(node.function, tree.Name) else getattr(node.function, "name", "")
    values = [run.evaluate(argument, scope) for argument in node.arguments]
    if not _HARMLESS.search(str(name)):
        forget_targets(run, values, str(name))
    return None


def forget_targets(run: KernelRunner, values: list[Any], name: str) -> None:
    """Make the targets of pointers unknown."""
    forget_tensors(run, values, name)
    for value in values:
        if isinstance(value, Pointer) and value.space == "local" and isinstance(value.array, LocalMemory):
            value.array.forget_values()
        elif isinstance(value, Pointer) and value.space == "shared":
            run.shared.incomplete = run.shared.incomplete or f"{name or 'a function'} may write it"
