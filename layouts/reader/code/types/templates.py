"""Compare types, and deduce template arguments.

ISO C++20: [temp.deduct.call], [temp.type]. Every comparison returns True, False or None (unknown).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.objects.number_classes import are_other_classes, is_number_class
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import OpaqueValue, ParameterPack, ResolvedType, TemplateEntity

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
            if get_single_name(inner) in match.packs:
                match.bound[get_single_name(inner)] = ParameterPack(flat[n:])
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


def get_single_name(pattern: tree.Expression) -> str:
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
    name = get_single_name(pattern)
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
        if (name := get_single_name(path_type)) in match.names:
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


# the types of values --------------------------------------------------------------------------------------------------
