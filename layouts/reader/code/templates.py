"""Compare types, deduce template arguments, and choose specializations.

ISO C++20: [temp.deduct.call], [temp.spec.partial], [temp.type]. Every comparison returns True, False or None (unknown).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lanescope.reader.code import tree
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.number_classes import are_other_classes, is_number_class
from lanescope.reader.code.scopes import Cell
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.values import ArrayValue, OpaqueValue, ParameterPack, Pointer, ResolvedType, TemplateEntity

_Segment = tuple[str, tuple[tree.Expression, ...] | None]  # a part of a::b<c>
_BUILTIN = frozenset("float double void long-double nullptr_t".split())  # types that no name is an alias of


def is_same_type(left: ResolvedType, right: ResolvedType) -> bool | None:
    """Return whether two types are the same, including const and reference; None if unknown."""
    if _get_declarators(left) != _get_declarators(right):
        return False if _is_known_type(left) and _is_known_type(right) else None
    same_sizes = _join_answers(list(map(_is_same_size, left.dims, right.dims)))
    if not same_sizes:
        return same_sizes
    if left.integer is not None and right.integer is not None:
        return left.integer == right.integer
    if left.record is not None and right.record is not None:
        return left.record is right.record
    if left.name.rpartition("::")[2] == right.name.rpartition("::")[2]:
        return _is_same_arguments(left.arguments, right.arguments)
    if _is_known_type(left) and _is_known_type(right):
        return False
    return False if are_other_classes(left.name, right.name) or _is_class_and_builtin(left, right) else None


def _is_class_and_builtin(left: ResolvedType, right: ResolvedType) -> bool:
    """Return whether one type is a number class of a library and the other a built-in type."""
    pairs = ((left, right), (right, left))
    return any(is_number_class(a.name) and b.record is None and _is_known_type(b) for a, b in pairs)


def _is_same_size(left: SymbolicInt, right: SymbolicInt) -> bool | None:
    return None if left.known is None or right.known is None else left.known == right.known


def _join_answers(answers: Sequence[bool | None]) -> bool | None:
    """Return whether all answers are True; None if that is unknown."""
    return False if False in answers else None if None in answers else True


def _get_declarators(kind: ResolvedType) -> tuple[int, str, bool, int]:
    return kind.pointers, kind.reference, kind.const, len(kind.dims)


def _is_same_arguments(left: Sequence[Any], right: Sequence[Any]) -> bool | None:
    left_items, right_items = flatten_packs(left), flatten_packs(right)
    if len(left_items) != len(right_items):
        return False
    return _join_answers(list(map(is_same_argument, left_items, right_items)))


def _is_known_type(kind: ResolvedType) -> bool:
    return kind.integer is not None or kind.record is not None or kind.name in _BUILTIN


def is_same_argument(left: Any, right: Any) -> bool | None:
    """Return whether two template arguments are the same: types, values or templates."""
    if isinstance(left, ResolvedType) and isinstance(right, ResolvedType):
        return is_same_type(left, right)
    if isinstance(left, TemplateEntity) or isinstance(right, TemplateEntity):
        return left is right
    if isinstance(left, ResolvedType) != isinstance(right, ResolvedType):
        return None if isinstance(left, OpaqueValue) or isinstance(right, OpaqueValue) else False
    left_value, right_value = get_argument_value(left), get_argument_value(right)
    if left_value is None or right_value is None or left_value.known is None or right_value.known is None:
        return None
    return left_value.known == right_value.known


def get_argument_value(argument: Any) -> SymbolicInt | None:
    """Return the integer of a template argument."""
    inner = argument.value if isinstance(argument, Cell) else argument
    return get_integer(inner) if not isinstance(inner, ResolvedType | TemplateEntity | ParameterPack) else None


@dataclass(slots=True)
class TemplateMatch:
    """The state of matching template parameters. bound: parameter → argument; sure: False if something was unknown."""

    names: frozenset[str]
    packs: frozenset[str]
    bound: dict[str, Any] = field(default_factory=dict)
    sure: bool = True

    def bind_parameter(self, name: str, value: Any) -> bool:
        known = self.bound.get(name)
        if known is None:
            self.bound[name] = value
            return True
        same = is_same_argument(known, value)
        if same is None:
            self.sure = False
        return same is not False


Evaluate = Callable[[tree.Expression, dict[str, Any]], Any]  # an expression with what is bound so far


def make_match(parameters: Sequence[tree.Parameter]) -> TemplateMatch:
    return TemplateMatch(
        frozenset(p.name for p in parameters if p.name), frozenset(p.name for p in parameters if p.pack and p.name)
    )


def match_arguments(
    match: TemplateMatch, patterns: Sequence[tree.Expression], arguments: Sequence[Any], evaluate: Evaluate
) -> bool:
    """Match template arguments with patterns; return False if they cannot match."""
    flat = flatten_packs(arguments)
    for n, pattern in enumerate(patterns):
        if isinstance(pattern, tree.Unary) and pattern.op == "...":
            inner = pattern.value
            if _get_single_name(inner) in match.packs:
                match.bound[_get_single_name(inner)] = ParameterPack(flat[n:])
            else:
                match.sure = False
            return True
        if n >= len(flat) or not match_argument(match, pattern, flat[n], evaluate):
            return False
    return len(flat) == len(patterns)


def flatten_packs(arguments: Sequence[Any]) -> list[Any]:
    """Flatten arguments with the items of their packs."""
    packs: list[Any] = []
    for argument in arguments:
        packs.extend(argument) if isinstance(argument, ParameterPack) else packs.append(argument)
    return packs


def _get_single_name(pattern: tree.Expression) -> str:
    """Return the name if a pattern is a plain name, else ""."""
    if isinstance(pattern, tree.Type) and (pattern.pointers or pattern.reference or pattern.dims or pattern.const):
        return ""
    if isinstance(pattern, tree.Type | tree.Name) and len(pattern.path) == 1 and pattern.path[0][1] is None:
        return pattern.path[0][0]
    return ""


def has_names(pattern: Any, names: frozenset[str]) -> bool:
    """Return whether an expression or type contains one of some names."""
    if isinstance(pattern, tree.Type | tree.Name):
        inner = pattern.dims if isinstance(pattern, tree.Type) else ()
        return any(
            part in names or any(has_names(inner_pattern, names) for inner_pattern in template_arguments or ())
            for part, template_arguments in pattern.path
        ) or any(has_names(inner_pattern, names) for inner_pattern in inner)
    if isinstance(pattern, tree.SyntaxNode):
        return any(has_names(getattr(pattern, slot), names) for slot in type(pattern).__slots__ if slot != "span")
    if isinstance(pattern, tuple):
        return any(has_names(inner_pattern, names) for inner_pattern in pattern)
    return False


def match_argument(match: TemplateMatch, pattern: tree.Expression, value: Any, evaluate: Evaluate) -> bool:
    """Match a template argument, or the type of a function argument, with its pattern."""
    name = _get_single_name(pattern)
    if name in match.names:
        return match.bind_parameter(name, value)
    if not has_names(pattern, match.names):
        same = is_same_argument(evaluate(pattern, match.bound), value)
        if same is None:
            match.sure = False
        return same is not False
    if not isinstance(pattern, tree.Type | tree.Name):
        match.sure = False  # N + 1: not deduced
        return True
    if not isinstance(value, ResolvedType):
        return _match_template_name(match, pattern, value)
    if isinstance(pattern, tree.Type):
        if pattern.const and not value.const:
            return _reject_known_type(match, value)
        stripped = _strip_pattern(pattern, value)
        if stripped is None:
            return _reject_known_type(match, value)
        for size, dim in zip(pattern.dims, value.dims, strict=False):
            if size is not None and not match_argument(match, size, dim, evaluate):
                return False
        value = stripped
        path_type = tree.Type(pattern.path, span=pattern.span)
        if (name := _get_single_name(path_type)) in match.names:
            return match.bind_parameter(name, value)
    return _match_path(match, pattern.path, value, evaluate)


def _reject_known_type(match: TemplateMatch, value: ResolvedType) -> bool:
    """Return False for a known type, which cannot be the pattern's."""
    if _is_known_type(value) or value.pointers:
        return False
    match.sure = False
    return True


def _strip_pattern(pattern: tree.Type, value: ResolvedType) -> ResolvedType | None:
    """Strip the pointers, reference, const and sizes of a pattern from a type; None if they differ."""
    if pattern.pointers > value.pointers or len(pattern.dims) > len(value.dims):
        return None
    if pattern.reference != value.reference:
        return None
    return replace(
        value,
        pointers=value.pointers - pattern.pointers,
        reference="",
        dims=value.dims[len(pattern.dims) :],
        const=value.const and not pattern.const,
    )


def _match_template_name(match: TemplateMatch, pattern: tree.Type | tree.Name, value: Any) -> bool:
    match.sure = False
    return not isinstance(value, SymbolicInt) or len(pattern.path) == 1


def _match_path(match: TemplateMatch, path: tree.Path, value: ResolvedType, evaluate: Evaluate) -> bool:
    """Match S<T, N> against an instance of a template."""
    head, template_arguments = path[-1]
    if template_arguments is None or any(inner is not None for _, inner in path[:-1]):
        match.sure = False  # typename T::type: not deduced
        return True
    record = value.record
    while record is not None:
        template = record.template
        if isinstance(template, TemplateEntity) and head in match.names:
            if not match.bind_parameter(head, template):
                return False
            return match_arguments(match, template_arguments, record.arguments, evaluate)
        if isinstance(template, TemplateEntity) and template.decl.name == head:
            return match_arguments(match, template_arguments, record.arguments, evaluate)
        record = record.bases[0] if len(record.bases) == 1 else None
    if value.record is not None or value.integer is not None:
        return False
    if value.name.rpartition("::")[2] == head and value.arguments:
        return match_arguments(match, template_arguments, value.arguments, evaluate)
    match.sure = False
    return True


# specializations ------------------------------------------------------------------------------------------------------


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
        name = _get_single_name(pattern) if isinstance(pattern, tree.Expression) else ""
        if name in self.names:
            return self._bind(name, _format_expression(argument))
        if isinstance(pattern, tree.Type | tree.Name) and isinstance(argument, tree.Type | tree.Name):
            return self._fit_type(argument, pattern)
        return _format_expression(argument) == _format_expression(pattern)

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
            else f"<{', '.join(_format_expression(argument) for argument in template_arguments)}>"
        )
        for name, template_arguments in path
    )


def format_placeless(node: Any) -> str:
    """Format an expression or type as text that does not depend on its place."""
    return _format_expression(node)


def _format_expression(node: Any) -> str:
    """Format an expression as text without its places."""
    if isinstance(node, tree.Name | tree.Type):
        pointers, reference, const = _get_shape(node)
        dims = node.dims if reference and isinstance(node, tree.Type) else ()  # T (&)[4]; others decay to pointers
        sizes = "".join(f"[{_format_expression(dim)}]" for dim in dims)
        return f"{'const ' * const}{_format_path(node.path)}{'*' * pointers}{reference}{sizes}"
    if isinstance(node, tree.NumberLiteral):
        return str(node.value)
    if isinstance(node, tree.SyntaxNode):
        parts = (getattr(node, slot) for slot in type(node).__slots__ if slot != "span")
        return f"{type(node).__name__}({', '.join(map(_format_expression, parts))})"
    if isinstance(node, tuple):
        return f"({', '.join(map(_format_expression, node))})"
    return str(node)


def make_signature(function: tree.Function) -> str:
    """Make a key of a function's template parameters and parameter types, equal for its redeclarations."""
    names = {p.name: f"#{n}" for n, p in enumerate(function.templates) if p.name}

    def renamed(node: Any) -> str:
        text = _format_expression(node)
        for name, new in names.items():
            text = _replace_name(text, name, new)
        return text

    kinds = [renamed(p.type) + "..." * p.pack for p in function.parameters]
    heads = [f"{p.is_type}{renamed(p.type)}" for p in function.templates]
    constraint = renamed(function.constraint) if function.constraint else ""
    returns = renamed(function.returns) if function.templates else ""
    return (
        f"{heads} {kinds} {function.const}{function.qualifier} {constraint} {returns}"
        f" {_format_expression(function.specialized)}"
    )


def _replace_name(text: str, name: str, new: str) -> str:
    import re

    return re.sub(rf"\b{re.escape(name)}\b", new, text)


# the types of values --------------------------------------------------------------------------------------------------


def get_value_type(value: Any) -> ResolvedType | None:
    """Return the type of a value, None if unknown."""
    if isinstance(value, SymbolicInt):
        return ResolvedType(value.type.name, value.type, value.type.bits or None)
    if isinstance(value, Pointer):
        e = value.element
        return None if e is None else replace(e, pointers=e.pointers + 1, reference="", const=False)
    if isinstance(value, ArrayValue):
        if isinstance(value.typed, ResolvedType):
            return value.typed
        e = value.element
        return None if e is None else replace(e, dims=(SymbolicInt(len(value.cells)), *e.dims))
    if isinstance(value, ResolvedType):
        return value
    return None
