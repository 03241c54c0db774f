"""Tensors that code makes in shared memory: make_tensor(make_smem_ptr(p), layout)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lanescope.cute.calls.functions import OpenCuteValueError
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.reader.code.cute.cute_values import make_call_layout, make_tensor_layout
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import BodilessCall
from lanescope.reader.code.symbolic_integers import LinearExpression, Span, make_symbol
from lanescope.reader.code.values import OpaqueValue, Pointer, can_be_element

MOST = 32  # tensors of one text
LONGEST_NAME = 80
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=\s*(?:\w+\s*::\s*|cute\.)?$")
_SHARED = re.compile(r"make_smem_ptr|__shared__|smem_ptr")
_WORD = re.compile(r"(?<!\w)[A-Za-z_]\w*(?:::\w+)*(?=\s*(?:\{\s*\}|\(\s*\))?\s*\)?\s*\)\s*$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTensor:
    """A tensor in shared memory.

    begins: address of its first byte, in the symbols of descriptor starts; names: of its buffer, the tensor, its
    layout; bits: size of the pointer's target, None if unknown; layout: None if unknown, with the reason in `open`.
    """

    begins: LinearExpression
    names: tuple[str, ...]
    span: Span
    layout: CuteLayout | None
    bits: int | None
    open: str = ""
    function: str = ""  # the function that makes it


def find_named_layouts(evaluation: Evaluation, bits: int | None) -> Iterator[tuple[str, Span, CuteLayout]]:
    """Yield (name, place, layout) of every tile_to_shape whose result is named and whose sizes are known.

    bits: of an element whose type is open.
    """
    for call in evaluation.bodiless_calls:
        if call.term.head.split("::")[-1].split(".")[-1] != "tile_to_shape":
            continue
        named = _NAMED.search(evaluation.text[max(0, call.term.span[0] - 120) : call.term.span[0]])
        try:
            if named:
                yield named[1], call.term.span, make_call_layout(call.term, evaluation.text, bits)
        except (OpenCuteValueError, LayoutError):
            continue


def find_shared_tensors(
    evaluation: Evaluation, element_bits: int | None, starts: Iterable[LinearExpression]
) -> list[SharedTensor]:
    """Find the tensors over memory that a descriptor begins in (`starts`) or that make_smem_ptr names, each once.

    element_bits: of an element whose type is open.
    """
    known = {frozenset(line.terms) for line in starts}
    tensors: dict[tuple[object, ...], SharedTensor] = {}
    for call in evaluation.bodiless_calls:
        if call.term.head.split("::")[-1].split(".")[-1] != "make_tensor" or len(call.term.arguments) < 2:
            continue
        tensor = _make_tensor(call, evaluation.text, element_bits)
        if tensor is None:
            continue
        code = evaluation.text[slice(*tensor.span)]
        if frozenset(tensor.begins.terms) in known or _SHARED.search(code):
            tensors.setdefault((tensor.begins, str(tensor.layout), tensor.open, tensor.names, tensor.function), tensor)
        if len(tensors) >= MOST:
            break
    return list(tensors.values())


def _make_tensor(call: BodilessCall, text: str, element_bits: int | None) -> SharedTensor | None:
    pointer, *layout_arguments = call.term.arguments
    begins, bits = _find_begin(pointer)
    if begins is None:
        return None
    names = [name for name, _ in begins.terms]
    line = text[max(0, call.term.span[0] - 120) : call.term.span[0]]
    if called := _NAMED.search(line):
        names.append(called[1])
    if called := _WORD.search(text[max(call.term.span[0], call.term.span[1] - LONGEST_NAME) : call.term.span[1]]):
        names.append(called[0].split("::")[-1])
    span = next(
        (v.span for v in layout_arguments if isinstance(v, OpaqueValue) and v.head and v.span != (0, 0)), call.term.span
    )
    layout, open_ = None, ""
    try:
        layout = make_tensor_layout(call.term, text, element_bits)
    except OpenCuteValueError as error:
        open_ = f"depends on {shorten_value(error.words, 60)}, which the text does not give"
    except LayoutError as error:
        open_ = f"is not one that CuTe makes: {error.message}"
    function = call.calls[0][0] if call.calls else ""
    return SharedTensor(
        begins=begins,
        names=tuple(dict.fromkeys(names)),
        span=span,
        layout=layout,
        bits=bits,
        open=open_,
        function=function,
    )


def _find_begin(pointer: object) -> tuple[LinearExpression | None, int | None]:
    """Find (address of a pointer as in descriptors, bits of the type pointed to)."""
    if isinstance(pointer, Pointer):
        element = pointer.element
        return pointer.base, element.bits if element is not None and can_be_element(element) else None
    if isinstance(pointer, OpaqueValue):
        return (
            (None, None)
            if "gmem" in pointer.text or pointer.head == "make_tensor"
            else (make_symbol(pointer.text), None)
        )
    read = get_integer(pointer) if not isinstance(pointer, str) else None
    return (read.plain if read is not None else None), None
