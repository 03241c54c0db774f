"""Locate the functions of a C++ text with their names, parameters and bodies, without evaluating them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from lanescope.cxx.source_text import (
    MACRO,
    blank_comments,
    blank_comments_and_literals,
    expand_macro,
    find_closing,
    is_kernel_head,
    list_argument_spans,
    list_macros,
    list_reached,
    read_statement_head,
    split_arguments,
)
from lanescope.workbench.results import Span

_HEAD = re.compile(r"(operator\s*\(\s*\)|[A-Za-z_]\w*)\s*\(")
_CALL = "operator()"
_CALLED = re.compile(r"(?<![\w.>:])([A-Za-z_]\w*)\s*\(")
_DECLARED = re.compile(
    r"(?<![\w.])(?!(?:return|case|goto|else|new|delete)\b)[A-Za-z_][\w:]*(?:<[^<>;]*>)?\s+(\w+)\s*(?:;|\{\s*\})"
)
_NO_NAME = frozenset(
    "if for while switch return sizeof alignof decltype asm __asm__ volatile catch static_assert __launch_bounds__"
    " __cluster_dims__ __attribute__ __declspec noexcept requires alignas __align__ __block_size__ defined"
    " constexpr consteval".split()
)
_LAUNCH = re.compile(r"(?:\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]*>\s*)?)?<<<([^;{}]*?)>>>")
_AFTER = re.compile(r"\s*(?:const|noexcept|override|final|\s)*\{")


@dataclass(frozen=True, slots=True, eq=False)
class FunctionText:
    """A function's text. parameters: their names; body: between its braces; kernel: whether it is __global__;
    templates: the names of its template parameters.
    """

    name: str
    parameters: tuple[str, ...]
    body: Span
    kernel: bool
    templates: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def blank_text(text: str) -> str:
    """Return a text of the same length without the contents of comments and literals."""
    return blank_comments_and_literals(text)


@lru_cache(maxsize=32)
def find_functions(blank: str) -> tuple[FunctionText, ...]:
    """Find the functions of a blanked text that have a body: kernels that macros make, then the others in its order."""
    expanded = tuple(_list_macro_kernels(blank))
    patterns = {kernel.body[0] for kernel in expanded} | {_find_body(blank, macro)[0] for macro in _list_heads(blank)}
    patterns |= {_find_body(blank, macro)[0] for macro in MACRO.finditer(blank) if _is_unused(blank, macro)}
    return (*expanded, *(function for function in _list_functions(blank) if function.body[0] not in patterns))


def list_reached_texts(text: str, functions: Iterable[FunctionText], kernel: FunctionText) -> Iterator[str]:
    """Yield the texts of a kernel, and of the functions and macros that it names, one through another, without their
    comments; those of all call operators if it calls an object.
    """
    code, others = blank_comments(text), [one for one in functions if one.name != kernel.name]
    bodies = {one: code[slice(*one.body)] for one in others}
    named = (*((one.name, body) for one, body in bodies.items() if one.name != _CALL), *list_macros(code))
    reached = list(list_reached(code[slice(*kernel.body)], named))
    operators = [body for one, body in bodies.items() if one.name == _CALL]
    if operators and any(_calls_object(one, {*kernel.parameters}) for one in reached):
        reached += chain.from_iterable(list_reached(body, named) for body in operators)
    yield from dict.fromkeys(reached)


def _calls_object(text: str, parameters: Set[str]) -> bool:
    """Return whether a text calls one of some parameters, or a variable that it declares without a value.

    >>> _calls_object("Op op; op(x);", set()), _calls_object("auto op = [] {}; op();", set())
    (True, False)
    """
    called = set(_CALLED.findall(text))
    return not called.isdisjoint(parameters) or not called.isdisjoint(_DECLARED.findall(text))


def is_inside(span: Span, bodies: Iterable[Span]) -> bool:
    """Return whether a place is in one of some functions."""
    return any(body[0] <= span[0] < body[1] for body in bodies)


def find_function_at(functions: tuple[FunctionText, ...], at: int) -> FunctionText | None:
    """Find the innermost function whose body holds a place."""
    inside = [function for function in functions if function.body[0] <= at < function.body[1]]
    return max(inside, key=lambda function: function.body[0], default=None)


def find_enclosing_function(blank: str, at: int) -> FunctionText | None:
    """Find the innermost function of a blanked text whose body holds a place."""
    return find_function_at(find_functions(blank), at)


@lru_cache(maxsize=8)
def list_launches(blank: str) -> tuple[tuple[str, list[Span]], ...]:
    """List the launches of a blanked text: the kernel's name, "" if it is not certain, and the spans of <<<…>>>.

    >>> list_launches("f<2><<<n, 256>>>(a);")
    (('f', [(7, 8), (10, 13)]),)
    """
    found = _LAUNCH.finditer(blank) if "<<<" in blank else ()
    return tuple((match[1] or "", list_argument_spans(blank, *match.span(2))) for match in found)


def launches_unknown_kernel(blank: str) -> bool:
    """Return whether a blanked text launches a kernel that it does not define, such as one of a header.

    >>> [launches_unknown_kernel(f"{text} f<<<1, 32>>>(a);") for text in ("", "void f(int);", "auto f = g<2>;")]
    [True, True, False]
    """
    defined = {one.name for one in find_functions(blank)}
    names = {name for name, _ in list_launches(blank) if name and name not in defined}
    return any(re.search(rf"\b{name}\s*[=,)\[{{]", blank) is None for name in names)


def list_loop_conditions(blank: str, variable: str, past: int | None = None) -> list[Span]:
    """List the conditions of the `for` loops over a variable that stand before `past`.

    >>> list_loop_conditions("for (int k = 0; k < n; ++k) f(k);", "k")
    [(16, 21)]
    """
    found = _find_loop_heads(blank, variable) if variable else ()
    return [condition for condition, end in found if past is None or end <= past]


@lru_cache(maxsize=64)
def _find_loop_heads(blank: str, variable: str) -> tuple[tuple[Span, int], ...]:
    """Return (condition, place past its semicolon) of each `for` loop over a variable."""
    form = re.compile(rf"\bfor\s*\([^;{{}}]*\b{re.escape(variable)}\b[^;{{}}]*;\s*([^;{{}}]+?)\s*;")
    return tuple((match.span(1), match.end()) for match in form.finditer(blank))


def find_loop_step(blank: str, variable: str, past: int) -> Span | None:
    """Find how the last `for` loop over a variable before `past` steps.

    >>> find_loop_step("for (int k = 0; k < n; k += 8) f(k);", "k", 36)
    (23, 29)
    """
    form = re.compile(rf"\bfor\s*\([^;{{}}]*\b{re.escape(variable)}\b[^;{{}}]*;[^;{{}}]*;\s*([^;{{}}()]+?)\s*\)")
    found = list(form.finditer(blank, 0, past)) if variable else []
    return found[-1].span(1) if found else None


def _list_functions(blank: str) -> Iterator[FunctionText]:
    for match in _HEAD.finditer(blank):
        if match[1] in _NO_NAME:
            continue
        closing = find_closing(blank, match.end() - 1)
        after = _AFTER.match(blank, closing + 1)
        if after is None or not _begins_declaration(blank, match.start()):
            continue
        start = after.end()
        names = (_find_parameter_name(part) for part in split_arguments(blank[match.end() : closing]))
        head = read_statement_head(blank, match.start())
        body = start, find_closing(blank, start - 1)
        yield FunctionText(match[1], tuple(names), body, is_kernel_head(head), _list_templates(head))


def _list_macro_kernels(blank: str) -> Iterator[FunctionText]:
    """Yield the kernels that macros make, each with the body of its macro.

    >>> [one.name for one in _list_macro_kernels("#define F(N) __global__ void f##N() { }\\nF(1) F(2)")]
    ['f1', 'f2']
    """
    for macro in MACRO.finditer(blank):
        if macro[2].startswith("(") and _is_closed(macro) and is_kernel_head(macro[2]):
            body = _find_body(blank, macro)
            for use in re.finditer(rf"\b{macro[1]}\s*\(", blank[macro.end() :]):
                first = macro.end() + use.end()
                expanded = expand_macro(blank, macro[1], blank[first : find_closing(blank, first - 1)])
                yield from (replace(one, body=body) for one in _list_functions(expanded) if one.kernel)


def _find_body(blank: str, macro: re.Match[str]) -> Span:
    return blank.find("{", macro.start()) + 1, macro.end()


def _is_closed(macro: re.Match[str]) -> bool:
    return macro[2].count("{") == macro[2].count("}")


def _is_unused(blank: str, macro: re.Match[str]) -> bool:
    """Return whether nothing of a text uses a macro that defines a kernel."""
    return "{" in macro[2] and is_kernel_head(macro[2]) and len(re.findall(rf"\b{macro[1]}\b", blank)) == 1


def _list_heads(blank: str) -> Iterator[re.Match[str]]:
    """Yield the macros that begin a kernel whose body ends outside of them."""
    return (macro for macro in MACRO.finditer(blank) if is_kernel_head(macro[2]) and not _is_closed(macro))


def _list_templates(head: str) -> tuple[str, ...]:
    match = re.search(r"\btemplate\s*<([^<>]*)>", head)
    return tuple(_find_parameter_name(part) for part in split_arguments(match[1])) if match else ()


def _begins_declaration(blank: str, at: int) -> bool:
    """Return whether a type or a specifier precedes a name."""
    before = read_statement_head(blank, at).rstrip()
    return bool(before) and (before[-1].isalnum() or before[-1] in "_*&>)")


def _find_parameter_name(part: str) -> str:
    """Return the name of a parameter: the last name before its array brackets and its default."""
    inner = re.search(r"\(\s*[&*]\s*([A-Za-z_]\w*)\s*\)", part)
    if inner:
        return inner[1]
    names: list[str] = re.findall(r"[A-Za-z_]\w*", re.sub(r"=.*|\[[^\]]*\]", "", part, flags=re.S))
    return names[-1] if names else ""
