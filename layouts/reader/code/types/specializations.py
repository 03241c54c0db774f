"""Choose specializations, and compare the patterns of templates: which fits, and which is more specialized.

ISO C++20: [temp.spec.partial], [temp.func.order].
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.templates import Evaluate, get_single_name, make_match, match_arguments

_Segment = tuple[str, tuple[tree.Expression, ...] | None]  # a part of a::b<c>


def choose_special(
    specials: Sequence[tree.StructDefinition | tree.Declaration], arguments: Sequence[Any], evaluate: Evaluate
) -> tuple[Any, dict[str, Any]] | None:
    """Return (specialization chosen by some arguments, bindings of its parameters).

    (None, {}) for the primary template, None if unknown.
    """
    fitting: list[tuple[Any, dict[str, Any]]] = []
    unsure = False
    for special in specials:
        match = make_match(special.templates)
        if not match_arguments(match, special.specialized or (), arguments, evaluate):
            continue
        if not match.sure:
            unsure = True
        else:
            fitting.append((special, match.bound))
    full = [one for one in fitting if not one[0].templates]
    if full:
        return full[0]  # a program has one with these arguments, and none is more specialized
    if unsure:
        return None
    if len(fitting) < 2:
        return fitting[0] if fitting else (None, {})
    best = [
        candidate
        for candidate in fitting
        if all(candidate is other or is_more_special(candidate[0], other[0]) for other in fitting)
    ]
    return best[0] if len(best) == 1 else None


def is_more_special(
    first: tree.StructDefinition | tree.Declaration, second: tree.StructDefinition | tree.Declaration
) -> bool:
    """Return whether the first specialization is more specialized than the second."""
    patterns, others = first.specialized or (), second.specialized or ()
    return fits_pattern(patterns, others, second.templates) and not fits_pattern(others, patterns, first.templates)


def fits_pattern(
    expressions: Sequence[tree.Expression],
    patterns: Sequence[tree.Expression],
    parameters: Sequence[tree.Parameter],
) -> bool:
    """Return whether patterns, with their parameters as distinct types, match other patterns."""
    return _PatternFit(frozenset(p.name for p in parameters)).fit_all(expressions, patterns)


@dataclass(frozen=True, slots=True)
class _PatternFit:
    """The state of matching patterns with patterns. names: parameters; bound: parameter → matched text."""

    names: frozenset[str]
    bound: dict[str, str] = field(default_factory=dict)

    def fit_all(self, arguments: Sequence[Any], patterns: Sequence[Any]) -> bool:
        if patterns and _is_pack(patterns[-1]):
            return len(arguments) >= len(patterns) - 1 and all(map(self.fit, arguments, patterns[:-1]))
        return len(arguments) == len(patterns) and all(map(self.fit, arguments, patterns))

    def fit(self, argument: Any, pattern: Any) -> bool:
        if _is_pack(pattern) or _is_pack(argument):
            return _is_pack(pattern)
        name = get_single_name(pattern) if isinstance(pattern, tree.Expression) else ""
        if name in self.names:
            return self._bind(name, format_placeless(argument))
        if isinstance(pattern, tree.Type | tree.Name) and isinstance(argument, tree.Type | tree.Name):
            return self._fit_type(argument, pattern)
        return format_placeless(argument) == format_placeless(pattern)

    def _bind(self, name: str, text: str) -> bool:
        return self.bound.setdefault(name, text) == text

    def _fit_type(self, node: tree.Type | tree.Name, pattern: tree.Type | tree.Name) -> bool:
        """Match pointers, reference and const, then the parameter or path."""
        pointers, reference, const = _get_shape(node)
        least, needed, constant = _get_shape(pattern)
        if least > pointers or (needed and reference != needed) or (constant and not const):
            return False
        rest = (pointers - least, reference if not needed else "", const and not constant)
        if len(pattern.path) == 1 and pattern.path[0][1] is None and pattern.path[0][0] in self.names:
            return self._bind(pattern.path[0][0], f"{rest} {_format_path(node.path)}")
        if rest != (0, "", False) or len(node.path) != len(pattern.path):
            return False
        return all(map(self._fit_segment, node.path, pattern.path))

    def _fit_segment(self, segment: _Segment, pattern: _Segment) -> bool:
        (left, left_given), (right, right_given) = segment, pattern
        if left != right and right not in self.names:
            return False
        if (left_given is None) != (right_given is None):
            return False
        return self.fit_all(left_given or (), right_given or ())


def _is_pack(node: Any) -> bool:
    return isinstance(node, tree.Unary) and node.op == "..."


def _get_shape(node: tree.Type | tree.Name) -> tuple[int, str, bool]:
    if isinstance(node, tree.Type):
        return node.pointers + len(node.dims), node.reference, node.const
    return 0, "", False


def _format_path(path: tree.Path) -> str:
    return "::".join(
        name
        + (
            ""
            if template_arguments is None
            else f"<{', '.join(format_placeless(argument) for argument in template_arguments)}>"
        )
        for name, template_arguments in path
    )


def format_placeless(node: Any) -> str:
    """Format an expression or type as text that does not depend on its place."""
    if isinstance(node, tree.Name | tree.Type):
        pointers, reference, const = _get_shape(node)
        dims = node.dims if reference and isinstance(node, tree.Type) else ()  # T (&)[4]; others decay to pointers
        sizes = "".join(f"[{format_placeless(dim)}]" for dim in dims)
        return f"{'const ' * const}{_format_path(node.path)}{'*' * pointers}{reference}{sizes}"
    if isinstance(node, tree.NumberLiteral):
        return str(node.value)
    if isinstance(node, tree.SyntaxNode):
        parts = (getattr(node, slot) for slot in type(node).__slots__ if slot != "span")
        return f"{type(node).__name__}({', '.join(map(format_placeless, parts))})"
    if isinstance(node, tuple):
        return f"({', '.join(map(format_placeless, node))})"
    return str(node)


def make_signature(function: tree.Function) -> str:
    """Make a key of a function's template parameters and parameter types, equal for its redeclarations."""
    names = {p.name: f"#{n}" for n, p in enumerate(function.templates) if p.name}

    def renamed(node: Any) -> str:
        text = format_placeless(node)
        for name, new in names.items():
            text = re.sub(rf"\b{re.escape(name)}\b", new, text)
        return text

    kinds = [renamed(p.type) + "..." * p.pack for p in function.parameters]
    heads = [f"{p.is_type}{renamed(p.type)}" for p in function.templates]
    constraint = renamed(function.constraint) if function.constraint else ""
    returns = renamed(function.returns) if function.templates else ""
    return (
        f"{heads} {kinds} {function.const}{function.qualifier} {constraint} {returns}"
        f" {format_placeless(function.specialized)}"
    )
