"""Element sizes that a text leaves open: of an undeclared pointer's target, or of a template type.

`contents.py` assumes them once and substitutes them in the evaluated code before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lanescope.inputs import parse_integer as read
from lanescope.ptx.instruction import Instruction
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import FoundDescriptor
from lanescope.reader.code.symbolic_integers import LinearExpression, SymbolicInt, make_symbol
from lanescope.workbench.results import Assumption

CHOICES = ("1", "2", "4", "8", "16")
MOST = 16  # sizes of one text that are assumed
_SIZE = re.compile(r"sizeof\((\*[^()]+(?:\([^()]*\)[^()]*)*|\w+)\)")
_PRODUCT = re.compile(rf"\((?:(?P<one>[^*]+) \* )?(?P<size>{_SIZE.pattern})(?: \* (?P<other>[^*]+))?\)")
_POINTER = re.compile(r"(?<![a-z])[sp]_?[A-Z]|ptr|smem|shared|buf|tile|^[sp][a-z]$")  # usual names of pointers
# usual names of element types: T, TA, InT, scalar_t, ElementA, DType
_ELEMENT = re.compile(
    r"^T\w?$|(?:[a-z_]|^[A-Z])T$|[a-z]_t$|^T_?(?:[A-Z]|in$)|(?i:elem|type|scalar|half|float|bf16|fp\d|^(?:AB?|B|In)$)"
)
# and types and pointers that no operand's tile holds: structs, handles, barriers
_OTHER = re.compile(
    r"storage|smem|shared|param|arg|map|tma|desc|bar(?:rier)?s?(?:_t|ier)?$|barrier|stream|event|handle|layout|pipe"
    r"|state"
    r"|struct|config|trait|workspace|context|scheduler|token|mutex|semaphore|tuple|vec(?:tor)?(?:_t|Type)?$|array|ptr"
    r"|accum?(?:_t|Type|ulator)?$",
    re.I,
)
_OTHER_POINTER = re.compile(r"map|barrier|(?:^|_)m?bars?$|param|stream|storage|workspace|semaphore", re.I)


def find_open_sizes(evaluation: Evaluation) -> dict[str, str]:
    """Map each open size's symbol to the pointer (*sA) or type (T) that it is the size of, in source order."""
    sizes: dict[str, str] = {}
    for value in _list_values(evaluation):
        for piece in value.pieces:
            for name, _ in piece.source.terms:
                match = _SIZE.fullmatch(name) or _PRODUCT.fullmatch(name)
                if match:
                    pointer_or_type = match[1] if match.re is _SIZE else match[3]
                    if _names_elements(pointer_or_type):
                        sizes.setdefault(f"sizeof({pointer_or_type})", pointer_or_type)
    return dict(list(sizes.items())[:MOST])


def _names_elements(pointer_or_type: str) -> bool:
    """Return whether, by its name, a pointer (*sA) or a type (T) may be that of an operand's elements."""
    if pointer_or_type.startswith("*"):
        return _OTHER_POINTER.search(pointer_or_type) is None
    return _ELEMENT.search(pointer_or_type) is not None and _OTHER.search(pointer_or_type) is None


def assume_sizes(
    evaluation: Evaluation, instruction: Instruction | None, choices: Mapping[str, str]
) -> list[tuple[str, Assumption]]:
    """Return (symbol, assumption) of every open size; without a clue the size stays open.

    A pointer into an operand's tile points to its elements; memory whose pointer is cast to another type counts bytes.
    """
    assumptions: list[tuple[str, Assumption]] = []
    for size, pointer_or_type in find_open_sizes(evaluation).items():
        name = pointer_or_type.removeprefix("*")
        key = f"size.{name}"
        label = f"Bytes that {name} counts in" if pointer_or_type.startswith("*") else f"Bytes of {pointer_or_type}"
        known = "is not declared" if pointer_or_type.startswith("*") else "is not defined"
        if key in choices:
            assumptions.append(
                (size, Assumption(key, label, str(read(choices[key], key, 1, 256)), "as given", CHOICES))
            )
        elif name in evaluation.recast_names:
            why = f"{name} {known} and is cast to another pointer: taken as bytes"
            assumptions.append((size, Assumption(key, label, "1", why, CHOICES)))
        elif name in evaluation.widened_names and not _POINTER.search(name):
            why = f"{name} is not declared, and its cast to 64 bits suits an address and a pointer: taken in bytes"
            assumptions.append((size, Assumption(key, label, "1", why, CHOICES)))
        elif name in evaluation.widened_names and instruction is not None:
            element = instruction.operand("a").element
            why = f"{name} is not declared; the name is a pointer’s, and the instruction reads {element.name}"
            assumptions.append((size, Assumption(key, label, str(max(element.bits // 8, 1)), why, CHOICES)))
        elif instruction is not None:
            element = instruction.operand("a").element
            why = f"{name} {known}; the instruction reads {element.name}"
            assumptions.append((size, Assumption(key, label, str(max(element.bits // 8, 1)), why, CHOICES)))
    return assumptions


def substitute_sizes(evaluation: Evaluation, sizes: Mapping[str, int]) -> Evaluation:
    """Return the evaluation with sizes in place of their symbols."""
    if not sizes:
        return evaluation
    descriptors = tuple(_substitute_in_found(descriptor, sizes) for descriptor in evaluation.descriptors)
    calls = tuple(
        replace(
            call,
            term=replace(call.term, arguments=tuple(_substitute_in_argument(v, sizes) for v in call.term.arguments)),
        )
        for call in evaluation.bodiless_calls
    )
    ran = tuple(
        replace(run, inputs=tuple((kind, _substitute_in_integer(v, sizes), span) for kind, v, span in run.inputs))
        for run in evaluation.asm_runs
    )
    return replace(evaluation, descriptors=descriptors, bodiless_calls=calls, asm_runs=ran)


def _list_values(evaluation: Evaluation) -> Iterator[SymbolicInt]:
    yield from (descriptor.value for descriptor in evaluation.descriptors)
    yield from (value for run in evaluation.asm_runs for _, value, _ in run.inputs if value is not None)
    for call in evaluation.bodiless_calls:
        for argument in call.term.arguments:
            value = get_integer(argument) if not isinstance(argument, str) else None
            if value is not None:
                yield value


def _substitute_in_found(descriptor: FoundDescriptor, sizes: Mapping[str, int]) -> FoundDescriptor:
    value = _substitute_in_integer(descriptor.value, sizes)
    return descriptor if value is descriptor.value or value is None else replace(descriptor, value=value)


def _substitute_in_argument(value: Any, sizes: Mapping[str, int]) -> Any:
    integer = get_integer(value) if not isinstance(value, str) else None
    substituted = _substitute_in_integer(integer, sizes)
    return value if substituted is integer else substituted


def _substitute_in_integer(value: SymbolicInt | None, sizes: Mapping[str, int]) -> SymbolicInt | None:
    if value is None or not any(n for p in value.pieces for n, _ in p.source.terms if "sizeof(" in n):
        return value
    return replace(value, pieces=tuple(replace(p, source=substitute_in_line(p.source, sizes)) for p in value.pieces))


def substitute_in_line(source: LinearExpression, sizes: Mapping[str, int]) -> LinearExpression:
    """Return a linear expression with sizes in place of their symbols."""
    line = LinearExpression(source.const)
    for name, factor in source.terms:
        product = _PRODUCT.fullmatch(name)
        if name in sizes:
            line += LinearExpression(sizes[name] * factor)
        elif product and product["size"] in sizes and (product["one"] or product["other"]):
            line += make_symbol(product["one"] or product["other"]).scale(sizes[product["size"]] * factor)
        else:
            line += LinearExpression(0, ((name, factor),))
    return line
