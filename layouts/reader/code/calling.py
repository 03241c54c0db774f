"""Calls: which function is meant, what its parameters are bound to, what an unknown one may change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, CHAR, LONG, PYTHON, ULONG, IntegerType, common
from lanescope.reader.code import traits, tree, word
from lanescope.reader.code.calls import MISSING, known
from lanescope.reader.code.constness import const_of, pointee_const
from lanescope.reader.code.lifetimes import MADE, PASSED
from lanescope.reader.code.lookup import find_name, namespace_of, this_of
from lanescope.reader.code.naming import key_of
from lanescope.reader.code.overloads import Argument, Candidate, accepts_count, choose, rank_of
from lanescope.reader.code.paths import Left
from lanescope.reader.code.templates import match_one, matcher, mentions, same_argument, same_type, text_of
from lanescope.reader.code.values import (
    PLACES,
    Address,
    Array,
    Blurred,
    Cell,
    Closure,
    Deref,
    Either,
    Enumeration,
    Kind,
    Object,
    Pack,
    Part,
    Pointer,
    Record,
    Referred,
    Scope,
    Split,
    Template,
    Term,
    moved,
    number,
    short,
    size_bytes,
)
from lanescope.reader.code.word import UNKNOWN, Int, Span, free
from lanescope.reader.code.writes import only_uses, used_names

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_RANGES = frozenset("begin cbegin end cend data size empty".split())  # of std, of an array
UNEVALUATED = ("noexcept", "typeid", "declval")  # whose operands are not evaluated
_SILENT = re.compile(r"use$|f?printf$|puts$|mem\w+$|cuda|cu[A-Z]|__")  # functions of C that throw nothing
_PURE = frozenset(  # functions of std that write no argument
    "min max move forward abs size bit_cast popcount countl_zero countr_zero bit_width as_const printf fprintf puts"
    " to_string distance make_pair make_tuple get".split()
)


@dataclass(frozen=True, slots=True)
class Braced:
    """An argument in braces, whose type its parameter decides."""

    items: tree.Items
    scope: Scope


def evaluate_call(ev: Evaluator, one: tree.Call, scope: Scope) -> Any:
    """What a call gives; Referred where the function returns a reference."""
    function = one.function
    if isinstance(function, tree.Name) and function.last in UNEVALUATED and not ev.python:
        return free(ev.words(one), BOOL)
    named = {name: ev.value(value, scope) for name, value in one.named}
    target, name, templates = ev.find_called(function, scope, named)
    if isinstance(target, PLACES):
        target = ev.load(target, function)
        if isinstance(target, Closure) and not ev.python and _is_set(target):  # its type chose one of these
            ev.forget_call(ev.arguments(one, scope), target)
            return Term(ev.fresh(ev.words(one)), span=one.span)
    if ev.python:
        return _python_call(ev, one, target, name=name, templates=templates, named=named, scope=scope)
    if name == "get" and templates and len(one.arguments) == 1 and not isinstance(target, Closure):
        return _tuple_item(ev, one, templates, scope)
    arguments = ev.arguments(one, scope)
    if isinstance(target, Object):
        made = ev.operator("()", target, None, one, arguments=arguments, constant=const_of(ev, function, scope))
        if made is not None:
            return made
    if isinstance(target, Either):
        return _call_either(ev, one, target, arguments, named, scope)
    if isinstance(target, Closure):
        target = declared_before(target, one.span[0])
    if target is None or isinstance(target, Closure):
        target = _with_associated(ev, target, name, function, arguments)
    if isinstance(target, Closure):
        if isinstance(function, tree.Name) and len(function.path) > 1:
            target = replace(target, direct=True)  # Base::f() calls no override
        return ev.call(_with_this(ev, target, scope), arguments, named, one.span, one)
    if name == "swap" and len(arguments) == 2:
        return _swap(ev, arguments, one)
    return _other_call(ev, one, target, name=name, templates=templates, arguments=arguments, named=named, scope=scope)


def _call_either(
    ev: Evaluator,
    one: tree.Call,
    target: Closure | Either,
    arguments: list[Argument],
    named: dict[str, Any],
    scope: Scope,
) -> Any:
    """A call of two functions that a condition decides between: each is called apart."""
    if isinstance(target, Closure):
        return ev.call(_with_this(ev, target, scope), arguments, named, one.span, one)
    given: list[Any] = []

    def run(function: Closure | Either) -> Any:
        return lambda: given.append(_call_either(ev, one, function, arguments, named, scope))

    ev.alternatives([(target.condition, run(target.yes)), (f"!({target.condition})", run(target.no))])
    return ev.merge(target.condition, *given) if len(given) == 2 else Term(ev.words(one), span=one.span)


def find_called(ev: Evaluator, function: tree.Expression, scope: Scope, named: Any) -> tuple[Any, str, tuple[Any, ...]]:
    """(what is called, its name, template arguments of a function that the text does not have)."""
    if isinstance(function, tree.Name | tree.Type):
        target = ev.resolve(function.path, scope, function.span[0])
        given = function.path[-1][1] if function.path else None
        missing = target is None or isinstance(target, Term | Kind)
        templates = tuple(ev.template_arguments(given, scope)) if missing and given else ()
        return target, function.path[-1][0] if function.path else "", templates
    if isinstance(function, tree.Member):
        target = _method(ev, function, scope, named)
        templates = ()
        if function.templates and not isinstance(target, Closure):
            templates = tuple(ev.template_arguments(function.templates, scope))
        return target, function.name, templates
    return _launched(ev, function, scope), ev.words(function), ()


# arguments -------------------------------------------------------------------------------------------------------


def arguments(ev: Evaluator, one: tree.Call, scope: Scope) -> list[Argument]:
    """The arguments of a call, evaluated from left to right, with their types."""
    out: list[Argument] = []
    for argument in one.arguments[:64]:
        if isinstance(argument, tree.Unary) and argument.op == "...":
            inner = argument.value
            for each in ev.pack_scopes(inner, scope):
                out.append(ev.evaluate_argument(inner, each))
        else:
            out.append(ev.evaluate_argument(argument, scope))
    return out


def evaluate_argument(ev: Evaluator, one: Any, scope: Scope) -> Argument:
    if isinstance(one, tree.Items) and one.type is None:
        return Argument(Braced(one, scope), None, braced=len(one.items) + 1)
    if isinstance(one, tree.Items) and one.type is not None:
        return Argument(ev.value(one, scope), ev.kind(one.type, scope))
    forwarded: Argument | None = _forwarded(ev, one, scope)
    if forwarded is not None:
        return forwarded
    if is_move(one) and not isinstance(ev.resolve(one.function.path, scope), Closure):
        place = ev.place(one.arguments[0], scope)
        if isinstance(place, PLACES):
            value = ev.load(place, one)
            const = is_const(ev, place, scope, one.arguments[0])
            return Argument(value, ev.declared_kind(place, value), False, const, where=place)
    place = ev.place(one, scope)
    if isinstance(place, Referred):
        place = place.place
    if isinstance(place, PLACES):
        value = ev.load(place, one)
        kind = ev.declared_kind(place, value)
        return Argument(value, kind, True, is_const(ev, place, scope, one), where=place)
    made: Argument = ev.argument_of(place)
    text = ev.words(one) if isinstance(one, tree.Num) else ""
    return replace(made, zero=isinstance(one, tree.Num) and one.value == 0, null=text == "nullptr")


def _forwarded(ev: Evaluator, one: tree.Expression, scope: Scope) -> Argument | None:
    """std::forward<T>(name): an lvalue where T is a reference, else an rvalue."""
    if not isinstance(one, tree.Call) or not isinstance(one.function, tree.Name) or one.function.last != "forward":
        return None
    given = one.function.path[-1][1]
    if not given or len(one.arguments) != 1:
        return None
    kind, place = ev.template_argument(given[0], scope), ev.place(one.arguments[0], scope)
    if not isinstance(place, PLACES) or not isinstance(kind, Kind):
        return None
    value = ev.load(place, one)
    own = ev.declared_kind(place, value)
    return Argument(value, own, kind.reference == "&", is_const(ev, place, scope, one.arguments[0]), where=place)


def argument_of(ev: Evaluator, value: Any) -> Argument:
    """A value that no variable holds, as an argument."""
    if isinstance(value, Argument):
        return value
    if isinstance(value, Address):
        inner = ev.load(value.place, tree.Other(""))
        pointed = value.element or ev.declared_kind(value.place, inner)
        kind = replace(pointed, pointers=pointed.pointers + 1, reference="") if pointed is not None else None
        return Argument(value, kind)
    if isinstance(value, Term) and value.kind is None:
        return Argument(value, None)
    if isinstance(value, str):
        array = (Int(len(value) + 1, ULONG),) if "\\" not in value else ()
        return Argument(value, Kind("char", CHAR, 8, pointers=not array, dims=array, const=True), True, True)
    return Argument(value, ev.kind_of(value) if not isinstance(value, Closure) else None)


def declared_kind(ev: Evaluator, place: Any, value: Any) -> Kind | None:
    """The type of what a place holds: as it was declared, else that of its value."""
    if isinstance(place, Cell) and place.kind is not None and place.kind.name not in ("auto", ""):
        return replace(place.kind, reference="", const=place.const or place.kind.const)
    if isinstance(place, Part) and place.field.inner is not None:
        return Kind(place.field.inner.name, record=place.field.inner)
    if isinstance(place, Part) and place.field.whole is not None:
        return Kind(place.field.whole.name, place.field.whole, place.field.whole.bits)
    if isinstance(value, Term):
        return value.kind
    if isinstance(value, Array) and value.typed is None:
        e = value.element
        return None if e is None else replace(e, dims=(Int(len(value.cells)), *e.dims))
    if isinstance(value, Array):
        return value.typed if isinstance(value.typed, Kind) else None
    if isinstance(value, Address | Closure):
        return ev.argument_of(value).kind if isinstance(value, Address) else None
    found: Kind | None = ev.kind_of(value)
    return found


def is_const(ev: Evaluator, place: Any, scope: Scope, one: tree.Expression) -> bool | None:
    """Whether a place cannot be written; None where that is not known."""
    if isinstance(place, Cell) and (
        place.const or (place.kind is not None and place.kind.const and not place.kind.pointers)
    ):
        return True
    return const_of(ev, one, scope)


# which function --------------------------------------------------------------------------------------------------


def chosen(ev: Evaluator, closure: Closure, arguments: list[Argument]) -> Candidate | None:
    """The function of a name that some arguments choose; None where that is not known."""
    functions = [f for f in closure.functions if f.specialized is None]
    if any(f.qualifier for f in functions) and len(functions) > 1:
        return None  # by the value category of the object
    if closure.constant is None and len({f.const for f in functions if not f.static}) > 1:
        of_variable, of_constant = (
            ev.chosen(replace(closure, constant=constant), arguments) for constant in (False, True)
        )
        same = of_variable is not None and of_constant is not None and of_variable.function is of_constant.function
        return of_variable if same else None
    functions = _of_constness(functions, closure.constant)
    if closure.templates is not None and any(f.templates for f in functions):
        functions = [f for f in functions if f.templates]
    fitting = [f for f in functions if accepts_count(f, len(arguments))]
    if len(fitting) != 1:
        fitting = fitting or functions
    made = [_candidate(ev, closure, f, arguments) for f in fitting]
    candidates = [one for one in made if one is not None]
    if len(candidates) > 1:
        allowed = [(one, _enabled(ev, closure, one)) for one in candidates]
        if any(allows is None for _, allows in allowed):
            candidates = [one for one, allows in allowed if allows is not False]
            if len(candidates) > 1:
                return None
        candidates = [one for one, allows in allowed if allows is not False]
    best = candidates[0] if len(candidates) == 1 else choose(candidates, arguments)
    if best is None or not best.function.templates:
        return best
    specials = [f for f in closure.functions if f.specialized is not None]
    return _specialized(ev, closure, best, specials, arguments) if specials else best


def _candidate(ev: Evaluator, closure: Closure, function: tree.Function, arguments: list[Argument]) -> Candidate | None:
    """A function with the types of its parameters for some arguments; None where no template arguments follow."""
    scope = Scope(closure.home(function))
    deduced: dict[str, Any] = {}
    if function.templates:
        found = _deduced(ev, closure, function, arguments)
        if found is None:
            return None
        deduced = found
        _enter_template(ev, function, deduced, scope)
    kinds: list[Kind | None] = []
    for parameter in function.parameters:
        count = max(len(arguments) - len(function.parameters) + 1, 0) if parameter.pack else 1
        kind = ev.kind(parameter.type, scope) if parameter.type is not None and not parameter.pack else None
        ellipsis = parameter.type is not None and parameter.type.name == "..."
        kinds += [Kind("..." if ellipsis else "auto")] * count if parameter.pack else [kind]
    return Candidate(function, tuple(kinds), deduced)


def _enter_template(ev: Evaluator, function: tree.Function, deduced: dict[str, Any], scope: Scope) -> None:
    for parameter in function.templates:
        value = deduced.get(parameter.name)
        if isinstance(value, Pack):
            scope.names[parameter.name] = Pack(ev.template_argument_value(parameter, v, scope) for v in value)
        elif parameter.pack:
            scope.names[parameter.name] = Pack()
        elif parameter.name or parameter.default is not None:
            scope.names[parameter.name] = ev.template_argument_value(parameter, value, scope)


def _deduced(
    ev: Evaluator, closure: Closure, function: tree.Function, arguments: list[Argument]
) -> dict[str, Any] | None:
    """Template arguments, as given and as they follow from a call's; None where they contradict."""
    match = matcher(function.templates)
    given = list(closure.templates or ())
    for n, parameter in enumerate(function.templates):
        if parameter.pack:
            if given[n:]:
                match.bound[parameter.name] = Pack(given[n:])
            break
        if n < len(given):
            if parameter.is_type and not isinstance(given[n], Kind | Template | Term):
                return None
            if not parameter.is_type and isinstance(given[n], Kind):
                return None
            match.bound[parameter.name] = given[n]
    explicit = frozenset(match.bound)
    evaluate = ev.pattern_evaluator(closure.home(function))
    for n, parameter in enumerate(function.parameters):
        pattern = parameter.type
        if pattern is None or n >= len(arguments) or not mentions(pattern, match.names - explicit):
            continue
        if parameter.pack:
            _deduce_pack(ev, match, pattern, arguments[n:])
            continue
        kind = _adjusted(pattern, arguments[n])
        if kind is None:  # whatever type it has, it keeps
            names = [name for name, given in pattern.path if given is None and name in match.names]
            if len(pattern.path) == 1 and names:
                match.bound.setdefault(names[0], Kind(names[0]))
            continue
        bare = tree.Type(pattern.path, pattern.pointers, "", pattern.dims, None, False, span=pattern.span)
        if pattern.pointers and pattern.const:
            kind = replace(kind, const=False)
        if not match_one(match, bare, kind, evaluate):
            return None
    return match.bound


def _deduce_pack(ev: Evaluator, match: Any, pattern: tree.Type, arguments: list[Argument]) -> None:
    names = [name for name, _ in pattern.path if name in match.packs]
    if len(pattern.path) == 1 and names and not pattern.pointers and names[0] not in match.bound:
        kinds = [_adjusted(pattern, a) or Kind("?") for a in arguments]
        match.bound[names[0]] = Pack(kinds)


def _enabled(ev: Evaluator, closure: Closure, one: Candidate) -> bool | None:
    """Whether a candidate's constraints hold (enable_if among its types, its requires clause); None: not known."""
    function = one.function
    conditions = list(_conditions(function))
    if function.deleted:
        return False
    if not conditions:
        return None if _opaque_constraint(function) else True
    scope = Scope(closure.home(function))
    _enter_template(ev, function, one.deduced, scope)
    answers = [ev.truth(ev.value(condition, scope)) for condition in conditions]
    return False if False in answers else None if None in answers else True


def _specialized(
    ev: Evaluator, closure: Closure, one: Candidate, specials: list[tree.Function], arguments: list[Argument]
) -> Candidate | None:
    """The explicit specialization of a function template for the arguments it was chosen with, or itself."""
    scope = Scope(closure.home(one.function))
    _enter_template(ev, one.function, one.deduced, scope)
    mine = [scope.names.get(p.name) for p in one.function.templates]
    kinds = [ev.kind(p.type, scope) if p.type is not None else None for p in one.function.parameters]
    unsure = False
    for special in specials:
        home = Scope(closure.home(special))
        given = ev.template_arguments(special.specialized or (), home)
        alike = [same_argument(a, b) for a, b in zip(mine, given, strict=False)]
        types = [ev.kind(p.type, home) if p.type is not None else None for p in special.parameters]
        if len(types) != len(kinds):
            continue
        if types:
            alike += [same_type(a, b) if a and b else None for a, b in zip(kinds, types, strict=True)]
        if False in alike:
            continue
        if None in alike:
            unsure = True
        else:
            return Candidate(special, tuple(types), {})
    return None if unsure else one


def _with_associated(
    ev: Evaluator, target: Closure | None, name: str, function: tree.Expression, arguments: list[Argument]
) -> Closure | None:
    """A function's overloads with those of the namespaces of its arguments: [basic.lookup.argdep]."""
    plain = isinstance(function, tree.Name) and len(function.path) == 1
    if not plain or (target is not None and (target.this is not None or target.captured is not None)):
        return target
    if target is not None and isinstance(target.home(target.functions[0]).owner, Record):
        return target
    for home in dict.fromkeys(home for argument in arguments for home in _associated(ev, argument)):
        found = home.names.get(name)
        if isinstance(found, Closure):
            target = found if target is None else target.joined(found)
    return target


def _with_this(ev: Evaluator, closure: Closure, scope: Scope) -> Closure:
    """A member function called by its name alone has the object that the calling one has."""
    owner = closure.home(closure.functions[0]).owner
    if closure.this is not None or not isinstance(owner, Record):
        return closure
    inner = this_of(scope)
    closure = replace(closure, constant=pointee_const(ev, tree.Name((("this", None),)), scope))
    if isinstance(inner, Object) and inner.record.descends(owner):
        return replace(closure, this=inner)
    if isinstance(inner, Object) and inner.whole is not None and inner.whole.record.descends(owner):
        return replace(closure, this=inner.whole)
    return replace(closure, this=inner) if isinstance(inner, Part | Term) else closure


# binding and running ---------------------------------------------------------------------------------------------


def call(
    ev: Evaluator, closure: Closure, given: list[Any], named: dict[str, Any], span: Span, at: tree.Call | None = None
) -> Any:
    """The value a function of the text gives for arguments; None of a void one. at: the call as it is written."""
    arguments = [ev.argument_of(one) for one in given] if not ev.python else given
    if ev.python:
        chosen: Candidate | None = Candidate(_python_overload(ev, closure, len(given) + len(named)), (), {})
    else:
        chosen = ev.chosen(closure, arguments)
    if chosen is not None and not ev.python:
        closure, chosen = _dispatched(ev, closure, chosen, len(arguments))
    if closure.this is not None and not isinstance(closure.this, Object | Part) and not ev.python:
        ev.forget_alike(closure.this, chosen.function if chosen is not None else None)
    if chosen is None or chosen.function.body is None or _endless_call(ev, chosen.function):
        name = closure.functions[0].name
        if not ev.python:
            ev.forget_call(arguments, closure)
            may_throw(ev, name)
        inner = ", ".join(short(a.value if isinstance(a, Argument) else a) for a in arguments)
        return Term(
            ev.fresh(f"{name}({inner})"[:120]) if not ev.python else f"{name}({inner})"[:120],
            _return_kind(ev, closure),
            name,
            span=span,
        )
    function = chosen.function
    scope = ev.bound(closure, chosen, arguments, named)
    ev.called.add(id(function))
    known_before = len(ev.found)
    refers = function.returns is not None and bool(function.returns.reference) and not ev.python
    ev.enter(function.name, span, passed=_passed(function, closure, at), refers=refers, constant=function.const)
    ev.frames[-1].returns = ev.return_kind(function, scope)
    ev.frames[-1].instance = _instance_key(ev, closure, function, scope)
    ev.frames[-1].single = not ev.python and _returns_once(ev, function)
    try:
        value = ev.finish(ev.run_body(function, scope), scope)
    finally:
        ev.leave()
    if ev.is_descriptor(value, function.name):
        del ev.found[known_before:]
    if isinstance(value, Object) and value.record.ends and not value.held and not ev.python:
        ev.temporaries.append((value, MADE))
    return value


def _returns_once(ev: Evaluator, function: tree.Function) -> bool:
    return len(re.findall(r"\breturn\b", ev.text[slice(*function.span)])) == 1


def _dispatched(ev: Evaluator, closure: Closure, chosen: Candidate, count: int) -> tuple[Closure, Candidate | None]:
    """The function that a call of a virtual one runs, by the class of the object; None where that is not known."""
    function, this = chosen.function, closure.this
    owner = closure.home(function).owner
    if closure.direct or this is None or not isinstance(owner, Record) or not owner.polymorphic or function.static:
        return closure, chosen
    whole = (this.whole or this) if isinstance(this, Object) else None
    dynamic = (whole.dynamic or whole.record) if whole is not None else None
    open_ = whole is None or (whole.loose and not whole.dynamic)
    if dynamic is owner and not open_:
        return closure, chosen
    virtual = _declared_virtual(ev, owner, function)
    if virtual is False or (virtual is None and open_):
        return closure, chosen
    if open_ or virtual is None or dynamic is None:
        return closure, None
    found = _final_override(ev, dynamic, function, owner)
    if found is None or (found[0] is not function and count < len(function.parameters)):
        return closure, None
    other, home = found
    if other is function:
        return closure, chosen
    made = Closure((other,), home.scope, whole, closure.templates, constant=closure.constant)
    return made, replace(chosen, function=other)


def _declared_virtual(ev: Evaluator, owner: Record, function: tree.Function) -> bool | None:
    """Whether a member function is virtual: it says so, or a base's that it overrides does."""
    if function.virtual:
        return True
    if owner.opaque:
        return None
    answers: list[bool | None] = [False]
    for base in owner.bases:
        answers.append(_declared_virtual_like(ev, base, function, owner))
    return True if True in answers else None if None in answers else False


def _declared_virtual_like(ev: Evaluator, record: Record, function: tree.Function, owner: Record) -> bool | None:
    answers = [_declared_virtual_like(ev, base, function, owner) for base in record.bases]
    for one in _own_functions(record, function.name):
        same = _overrides(ev, function, owner, one, record)
        answers.append(None if same is None else same and one.virtual)
    return True if True in answers else None if None in answers else False


def _overrides(ev: Evaluator, one: tree.Function, home: Record, two: tree.Function, other: Record) -> bool | None:
    """Whether a function of a derived class has the parameters of one of a base."""
    if len(one.parameters) != len(two.parameters) or one.const != two.const or one.templates or two.templates:
        return False
    answers: list[bool | None] = []
    for a, b in zip(one.parameters, two.parameters, strict=True):
        if a.type is None or b.type is None:
            return None
        mine, theirs = ev.kind(a.type, home.scope), ev.kind(b.type, other.scope)
        bare = [k if k.pointers or k.reference else replace(k, const=False) for k in (mine, theirs)]
        answers.append(same_type(*bare))
    return False if False in answers else None if None in answers else True


def _final_override(
    ev: Evaluator, record: Record, function: tree.Function, owner: Record
) -> tuple[tree.Function, Record] | None:
    """The function of a class that overrides another's, and the class that has it; None where that is not known."""
    if record is owner:
        return function, owner
    for one in _own_functions(record, function.name):
        same = _overrides(ev, one, record, function, owner)
        if same is None:
            return None
        if same:
            return one, record
    bases = [base for base in record.bases if base.descends(owner)]
    if len(bases) != 1 or record.opaque:
        return None
    found: tuple[tree.Function, Record] | None = _final_override(ev, bases[0], function, owner)
    return found


def _instance_key(ev: Evaluator, closure: Closure, function: tree.Function, scope: Scope) -> str:
    """What tells instances of a function template, or of a member of a class template, apart."""
    owner = closure.home(function).owner
    bound = [find_name(scope, p.name)[0] for p in function.templates if p.name]
    keys = [key_of(one.value if isinstance(one, Cell) else one) for one in bound if not isinstance(one, Pack)]
    return f"{id(owner) if isinstance(owner, Record) else 0} {keys}"


def return_kind(ev: Evaluator, function: tree.Function, scope: Scope) -> Kind | None:
    """The type that a function says it returns, None for auto and void."""
    returns = function.returns
    if returns is None or (returns.name in ("auto", "void", "decltype", "decltype(auto)") and not returns.pointers):
        return None
    kind: Kind = ev.kind(returns, scope)
    return kind


def _return_kind(ev: Evaluator, closure: Closure) -> Kind | None:
    """The type of what a call gives that is not evaluated, where its function's declaration alone says it."""
    kinds = {f.returns.name for f in closure.functions if f.returns is not None}
    function = closure.functions[0]
    if len(kinds) != 1 or function.templates or function.returns is None:
        return None
    kind: Kind = ev.kind(function.returns, closure.home(function))
    return None if kind.open else replace(kind, reference="")


def _endless_call(ev: Evaluator, function: tree.Function) -> bool:
    """Whether a call goes deeper than any that ends: a function that calls its namesake of a library, or itself
    under a condition that the text leaves open. What it gives is not known.
    """
    if len(ev.frames) > ev.most_calls:
        ev.bottomless.add(id(function))
        return True
    return id(function) in ev.bottomless and any(frame.name == function.name for frame in ev.frames)


def this_scope(ev: Evaluator, home: Scope, this: Any, record: Record | None) -> Scope:
    """A scope with the members of an object by their names, as functions of a class see them."""
    outer = Scope(home)
    if isinstance(this, Object):
        seen = record or this.record
        for name in (*(this.record.fields or {}), *this.members):
            if seen is not this.record and name not in seen.members and name not in (seen.fields or {}):
                continue
            if name in this.record.hidden and seen is not this.record:
                outer.names[name] = Cell(Term(f"{seen.name}::{name}"), name=name)
            elif name not in seen.dependent or find_name(home, name)[0] is None:
                outer.names[name] = ev.member(this, name, (0, 0))
        kind = Kind(seen.name, record=seen, bits=seen.bits or None, arguments=seen.arguments)
        part = this if seen is this.record or this.record.hidden else ev.upcast(this, seen)
        outer.names["this"] = Cell(Address(Cell(part, kind, this.store.name)), name="this")
    elif isinstance(this, Part) and this.field.inner is not None:
        for name in this.field.inner.fields or {}:
            outer.names[name] = ev.member(this, name, (0, 0))
        outer.names["this"] = Cell(Address(this), name="this")
    elif isinstance(this, Term) and this.kind and this.kind.record:
        for name in this.kind.record.members:
            outer.names[name] = Cell(ev.member(this, name, (0, 0)), name=name)
        outer.names["this"] = Cell(this, name="this")
    return outer


def bound(
    ev: Evaluator, closure: Closure, chosen: Candidate, given: list[Any], named: dict[str, Any], symbolic: bool = False
) -> Scope:
    """The scope of a call: template arguments given, deduced or free; parameters with their values."""
    function = chosen.function
    home = closure.captured or closure.home(function)
    owner = closure.home(function).owner
    outer = ev.this_scope(home, closure.this, owner if isinstance(owner, Record) else None)
    if function.const:
        outer.consts.add("this")
    scope = Scope(outer, "function")
    parameters = list(function.parameters)
    if ev.python and closure.this is not None and parameters and parameters[0].name in ("self", "cls"):
        scope.names[parameters.pop(0).name] = Cell(closure.this, name="self")
    if symbolic:
        for parameter in function.templates:
            value = None if parameter.is_type or parameter.default is None else free(parameter.name, UNKNOWN)
            outer.names[parameter.name] = (
                Pack() if parameter.pack else ev.template_argument_value(parameter, value, outer)
            )
    else:
        _enter_template(ev, function, chosen.deduced, outer)
    for n, parameter in enumerate(parameters):
        if parameter.pack:
            rest = [one.value if isinstance(one, Argument) else one for one in given[n:]]
            packed: Any = Pack(_pack_items(ev, parameter, given[n:], outer))
            scope.names[parameter.name] = packed if not ev.python else Cell(Array([Cell(v) for v in rest]))
            break
        kind = ev.kind(parameter.type, outer) if parameter.type is not None else None
        if kind is not None and not kind.reference:
            scope.consts.add(f"({parameter.name})")
        if n < len(given):
            scope.names[parameter.name] = _bind_argument(ev, given[n], kind, parameter)
            _mark_const(ev, scope, parameter, kind, given[n])
        elif parameter.name in named:
            scope.names[parameter.name] = _bind_argument(ev, named[parameter.name], kind, parameter)
        elif parameter.default is not None and not symbolic:
            value = ev.initial(parameter.default, kind, outer, parameter.name)
            scope.names[parameter.name] = _bind_argument(ev, value, kind, parameter)
        else:
            scope.names[parameter.name] = _parameter(ev, kind, parameter)
    return scope


def _mark_const(ev: Evaluator, scope: Scope, parameter: tree.Parameter, kind: Kind | None, given: Any) -> None:
    """Say of a reference whether what it names is const."""
    if kind is None or not kind.reference or kind.pointers or ev.python:
        return
    const = getattr(given, "const", None) if kind.name == "auto" else None
    if kind.const or const is True:
        scope.consts.add(parameter.name)
    elif getattr(given, "const", False) is None and (kind.name == "auto" or kind.record is not None):
        scope.consts.add(f"?{parameter.name}")


def _pack_items(ev: Evaluator, parameter: tree.Parameter, given: list[Any], outer: Scope) -> Iterator[Any]:
    for n, inner in enumerate(ev.pack_scopes(parameter.type, outer) or [outer] * len(given)):
        kind = ev.kind(parameter.type, inner) if parameter.type is not None else None
        if n < len(given):
            yield _bind_argument(ev, given[n], kind, parameter)


def _bind_argument(ev: Evaluator, given: Any, kind: Kind | None, parameter: tree.Parameter) -> Any:
    """What a parameter is for an argument: the very place for a reference, else a variable of its own."""
    argument = given if isinstance(given, Argument) else None
    value = argument.value if argument is not None else given
    if isinstance(value, Braced):
        value = ev.initial(value.items, kind, value.scope, parameter.name)
    const = bool(kind is not None and kind.const and not kind.pointers)
    if kind is not None and kind.reference and argument is not None and isinstance(argument.where, PLACES):
        same = argument.kind is None or kind.name == "auto" or _alike(argument.kind, kind)
        if same and isinstance(value, Object) and kind.record is not None and value.record is not kind.record:
            return Cell(ev.upcast(value, kind.record), kind, parameter.name, parameter.span)
        if same and isinstance(argument.where, Cell) and const and not argument.where.const:
            where = argument.where
            return where
        if same:
            return argument.where
    if isinstance(value, Object) and argument is not None and argument.where is not None and not ev.python:
        value = ev.copy_constructed(ev.sliced_to(value, kind), argument)
    record = kind.record if kind is not None and kind.reference else None
    derived = isinstance(value, Object) and record is not None and value.record is not record and not ev.python
    if derived and record is not None and value.record.descends(record):  # a temporary, seen as its base
        return Cell(ev.upcast(value, record), kind, parameter.name, parameter.span)
    lvalue = kind is not None and kind.record is None and kind.reference == "&" and not kind.const
    if lvalue and isinstance(value, Object) and kind is not None:  # its conversion gives the reference
        ev.forget(Cell(value))
        return Cell(Term(ev.fresh(parameter.name)), kind, parameter.name, parameter.span)
    if kind is not None and kind.name not in ("auto", ""):
        value = ev.converted(value, kind, parameter.span, parameter.name)
    elif isinstance(value, Array) and value.typed is None and not ev.python and not (kind and kind.reference):
        value = ev.decayed(value)
    made = ev.copied(value)
    if isinstance(made, Object) and made.record.ends and not (kind is not None and kind.reference):
        ev.temporaries.append((made, PASSED))
    return Cell(made, kind, parameter.name, parameter.span, len(ev.frames), const)


def upcast(ev: Evaluator, value: Object, record: Record) -> Any:
    """A derived object as one of its base: the same members, the base's functions."""
    if not value.record.descends(record):
        return value
    if value.record.hidden:
        ev.forget(Cell(value))
        return Term(f"{record.name}", Kind(record.name, record=record))
    return Object(record, value.store, value.members, True, None, value.whole or value)


def _parameter(ev: Evaluator, kind: Kind | None, parameter: tree.Parameter) -> Any:
    """A parameter nothing is given for."""
    if kind is not None and kind.record is not None and kind.record.fields is not None and kind.record.bits == 64:
        made = ev.instance(kind.record, parameter.name)
        made.store.value = free(parameter.name, made.store.value.type)
        cell = Cell(made, None, parameter.name, parameter.span)
        return Cell(Address(cell), None, parameter.name) if kind.pointers else cell
    if ev.python:
        return Cell(free(parameter.name, PYTHON), None, parameter.name, parameter.span)
    bare = replace(kind, reference="") if kind is not None else None
    return Cell(ev.symbolic(bare, parameter.name), bare, parameter.name, parameter.span, len(ev.frames))


# calls of what is no function of the text ------------------------------------------------------------------------


def _other_call(
    ev: Evaluator,
    one: tree.Call,
    target: Any,
    *,
    name: str,
    templates: tuple[Any, ...],
    arguments: list[Argument],
    named: dict[str, Any],
    scope: Scope,
) -> Any:
    function = one.function
    given = [ev.argument_value(a) for a in arguments]
    for argument, expression in zip(arguments, one.arguments, strict=False):
        if isinstance(argument.value, Int | Object) and not isinstance(expression, tree.Name):
            ev.notice(argument.value, ev.words(expression), expression.span)
    of_layout = isinstance(target, Term) and target.head == "tile_to_shape" and bool(target.arguments)
    if of_layout or (isinstance(target, Array) and target.typed is not None):  # a slice of it: layout(_, _, 0)
        return target
    held = target.arguments[0] if isinstance(target, Term) and target.arguments else None
    if isinstance(held, Array) and held.typed is not None:
        found = ev.call_array_member(held, name, given)
        if found is not None:
            return found
        _forget_escaped(ev, Cell(held))
    kind = _kind_called(ev, target, one, scope)
    if kind is not None:
        library = _library_call(ev, kind, name, given, one)
        if library is not None:
            return library
        whole = kind.record is not None and not kind.pointers
        return ev.construct(kind, arguments if whole else given, one, scope)
    if name == "memcpy" and len(arguments) == 3:
        return _copy_bytes(ev, arguments, one)
    if name == "memset" and len(arguments) == 3:
        return _set_bytes(ev, arguments, one)
    if target is None and len(given) == 1 and isinstance(given[0], Array) and name in _RANGES:
        found = ev.call_array_member(given[0], name, [])
        if found is not None:
            return found
    if name in ("min", "max") and len(arguments) == 2 and target is None:
        extreme = _extreme(ev, name, arguments, templates)
        if extreme is not None:
            return extreme
    if name == "exchange" and len(arguments) == 2 and isinstance(arguments[0].where, PLACES):
        old = ev.copied(arguments[0].value)
        if isinstance(old, Object) and (old.record.copies or old.record.assigns):
            ev.forget(arguments[0].where)
            ev.forget_globals()
            return ev.forgotten(old)
        ev.store(arguments[0].where, arguments[1].value, one.span)
        return old
    if target is None or isinstance(target, Term):
        limit = _limit(ev, function, scope)
        if limit is not None:
            return limit
        made = known(ev, name, templates, given, one.span)
        if made is not MISSING:
            return made
    if target is None and isinstance(function, tree.Name) and len(given) == 1:
        own = ev.builtin_kind(function.path, scope)
        if own is not None and own.whole is not None:
            return ev.converted(given[0], own, one.span)
    made = _unknown(ev, one, name, templates=templates, given=given, named=named, target=target)
    if not isinstance(function, tree.Name | tree.Type | tree.Member):  # (object.*function)(…)
        ev.forget_names(ev.text[slice(*function.span)], scope)
        ev.forget_globals()
    _forget_unknown(ev, name, arguments, one)
    if isinstance(held, Object) and held.record.opaque:
        ev.forget(Cell(held.whole or held))
    if templates and not ev.python:
        ev.kept_by_library(templates, scope)
    may_throw(ev, name)
    return made


def may_throw(ev: Evaluator, name: str) -> None:
    """A function that is not evaluated may leave by an exception."""
    if ev.tries and not _SILENT.match(name):
        ev.escape("?", Left("throw", None), {})


def call_array_member(ev: Evaluator, array: Array, name: str, given: list[Any]) -> Any:
    """What a member function of std::array gives, or std::begin and its kind of an array; None for another."""
    if array.typed is not None and not (isinstance(array.typed, Kind) and array.typed.name.endswith("array")):
        return None
    at = number(given[0]) if name == "at" and given else None
    if at is not None and at.known is not None and 0 <= at.known < len(array.cells):
        return Referred(array.cells[at.known])
    if name in ("front", "back") and array.cells:
        return Referred(array.cells[0 if name == "front" else -1])
    if name in ("data", "begin", "cbegin") and array.element is not None:
        return ev.decayed(array)
    if name in ("end", "cend") and array.element is not None:
        return moved(ev.decayed(array), Int(len(array.cells), LONG))
    if name == "empty":
        return Int(int(not array.cells), BOOL)
    return Int(len(array.cells), ULONG) if name in ("size", "max_size", "ssize") else None


def _extreme(ev: Evaluator, name: str, arguments: list[Argument], templates: tuple[Any, ...]) -> Any:
    """The smaller or larger of two numbers: that very variable, where both are variables of one type; None where it
    is not known which.
    """
    left, right = (number(argument.value) for argument in arguments)
    if left is None or right is None:
        return None
    places = [argument.where for argument in arguments]
    given = templates[0].whole if templates and isinstance(templates[0], Kind) else None
    if templates and given is None:
        return None
    if left.type != right.type or (given is not None and given != left.type):
        kind = given or common(left.type, right.type)
        left, right, places = word.convert(left, kind), word.convert(right, kind), [None, None]
    second = word.compare("<" if name == "min" else ">", right, left)
    if second is None:
        return None
    chosen = places[int(second)]
    return Referred(chosen) if isinstance(chosen, PLACES) else (left, right)[int(second)]


def argument_value(ev: Evaluator, argument: Argument) -> Any:
    value = argument.value
    return ev.initial(value.items, None, value.scope, "") if isinstance(value, Braced) else value


def _limit(ev: Evaluator, function: tree.Expression, scope: Scope) -> Int | None:
    """std::numeric_limits<T>::max()."""
    if not isinstance(function, tree.Name) or len(function.path) < 2:
        return None
    head, given = function.path[-2]
    if head != "numeric_limits" or not given:
        return None
    kind = ev.template_argument(given[0], scope)
    return traits.limit(kind, function.path[-1][0]) if isinstance(kind, Kind) else None


def _library_call(ev: Evaluator, kind: Kind, name: str, given: list[Any], one: tree.Call) -> Any:
    """A call through a type of the standard library that converts to its value: integral_constant<int, 3>{}()."""
    return None


def _tuple_item(ev: Evaluator, one: tree.Call, templates: tuple[Any, ...], scope: Scope) -> Any:
    """std::get<n>(tuple), as a place."""
    whole = ev.place(one.arguments[0], scope)
    value = ev.load(whole, one.arguments[0]) if isinstance(whole, PLACES) else whole
    at = number(templates[0]) if not isinstance(templates[0], Kind) else None
    if isinstance(value, Array) and at is not None and at.known is not None and 0 <= at.known < len(value.cells):
        return Referred(value.cells[at.known])
    return Term(ev.words(one), span=one.span, head="get", arguments=(value,))


def _swap(ev: Evaluator, arguments: list[Argument], one: tree.Call) -> None:
    """std::swap."""
    left, right = (argument.where for argument in arguments)
    plain = not any(_copies_itself(argument.value) for argument in arguments)
    if plain and isinstance(left, PLACES) and isinstance(right, PLACES):
        values = [argument.value for argument in arguments]
        first, second = (ev.copied(one, 1) if isinstance(one, Object | Part | Array) else one for one in values)
        ev.store(left, second, one.span)
        ev.store(right, first, one.span)
    else:
        ev.forget(left)
        ev.forget(right)
        ev.forget_globals()


def _copy_bytes(ev: Evaluator, arguments: list[Argument], one: tree.Call) -> Any:
    """memcpy(to, from, bytes)."""
    count = number(arguments[2].value)
    bytes_ = count.known if count is not None else None
    bits = IntegerType("bits", 8 * (bytes_ or 0), False)
    if not bytes_ or bytes_ > 512:
        ev.forget(ev.pointee_of(arguments[0].value, one))
        return arguments[0].value
    kind = Kind("bits", bits, bits.bits)
    to = ev.pointee_of(arguments[0].value, one)
    target, origin = (_bytes_at(ev, a.value, kind, one) for a in arguments[:2])
    if isinstance(target, PLACES) and not isinstance(target, Deref):
        copied = ev.load(origin, one) if isinstance(origin, PLACES) else free(ev.fresh("memcpy"), bits)
        ev.store(target, copied, one.span)
    else:
        ev.forget(to)
    return arguments[0].value


def _bytes_at(ev: Evaluator, value: Any, kind: Kind, one: tree.Expression) -> Any:
    """What a pointer points to, as an integer of so many bits."""
    if isinstance(value, Array) and value.typed is None:
        value = ev.decayed(value)
    element = value.element if isinstance(value, Address | Pointer) else None
    at = value.at.known if isinstance(value, Address | Pointer) and value.at is not None else None
    if isinstance(value, Address) and at is not None and (at == 0 or element is not None):
        size = size_of_kind(ev, element) if at else 0
        return ev.viewed_bits(value.place, kind, at * size * 8) if size is not None else Blurred(value.place)
    if isinstance(value, Pointer) and value.array is not None and at is not None:
        size = size_of_kind(ev, element or value.array.element)
        return ev.viewed_bits(Cell(value.array), kind, at * size * 8) if size else Blurred(Cell(value.array))
    return ev.pointee_of(value, one)


def size_of_kind(ev: Evaluator, kind: Kind | None) -> int | None:
    """sizeof a type where it is known."""
    return size_bytes(kind).known if kind is not None else None


def _set_bytes(ev: Evaluator, arguments: list[Argument], one: tree.Call) -> Any:
    """memset(to, byte, bytes)."""
    count, byte = number(arguments[2].value), number(arguments[1].value)
    to = ev.pointee_of(arguments[0].value, one)
    size = count.known if count is not None else None
    if (
        not isinstance(to, PLACES)
        or isinstance(to, Deref)
        or not size
        or size > 512
        or byte is None
        or byte.known is None
    ):
        ev.forget(to)
        return arguments[0].value
    bits = IntegerType("bits", 8 * size, False)
    target = _bytes_at(ev, arguments[0].value, Kind("bits", bits, bits.bits), one)
    ev.store(target, Int(int.from_bytes(bytes([byte.known & 255]) * size, "little"), bits), one.span)
    return arguments[0].value


def _unknown(
    ev: Evaluator,
    one: tree.Call,
    name: str,
    *,
    templates: tuple[Any, ...],
    given: list[Any],
    named: dict[str, Any],
    target: Any,
) -> Term:
    inner = ", ".join(short(value) for value in given)
    listed = f"<{', '.join(map(short, templates))}>" if templates else ""
    head = "".join(str(one.function)) if isinstance(one.function, tree.Name) else ev.words(one.function)
    this = (target.arguments[0],) if isinstance(target, Term) and target.arguments and target.head == name else ()
    term = Term(
        f"{head}{listed}({inner})"[:120],
        None,
        name,
        tuple(given),
        (*named.items(), *((("<>", templates),) if templates else ()), *((("self", this[0]),) if this else ())),
        one.span,
    )
    ev.kept(term)
    return term


def _forget_unknown(ev: Evaluator, name: str, arguments: list[Argument], one: tree.Call) -> None:
    """Forget what a function that the text does not have may write: what its pointers point to, and, unless its
    name says that it only uses them, the variables that it is given.
    """
    std = isinstance(one.function, tree.Name) and one.function.path[0][0] == "std" and name not in _PURE
    uses = len(arguments) >= 12 or (only_uses(one.function, name) and not std)  # 12: cuTensorMapEncodeTiled
    for argument in arguments:
        value = argument.value
        if isinstance(value, Closure):
            _forget_used(ev, value)
        elif isinstance(value, Address):
            ev.forget(value.place, integers=True, quiet=True)
            kept = value.place.value if isinstance(value.place, Cell) and value.place.name == "new" else None
            if isinstance(kept, Object) and kept.record.ends and ev.haunting is not None:
                ev.haunting.append(kept)
        elif isinstance(value, Pointer) and value.array is not None and not uses:
            ev.forget(Cell(value.array), integers=True, quiet=True)
        elif argument.place and argument.const is not True and not uses and isinstance(argument.where, Cell | Part):
            inner = argument.where.value if isinstance(argument.where, Cell) else None
            kept = not isinstance(inner, Int | Object | Array) and not isinstance(argument.where, Part)
            if std and not kept:  # std::tie, std::ref: what they give refers to it
                _forget_escaped(ev, argument.where)
            elif not kept and id(one) in ev.statements:
                ev.forget(argument.where, integers=True, quiet=True)


def _forget_used(ev: Evaluator, closure: Closure, seen: frozenset[int] = frozenset()) -> None:
    """Forget what a function may write that something unknown may call, and what those may that it calls."""
    function = closure.functions[0]
    if function.body is None or id(function) in seen:
        return
    home = closure.captured or closure.scope
    for name in ev.summaries.of(function.body).names:
        found = find_name(home, name)[0]
        if isinstance(found, PLACES):
            ev.forget(found, integers=True, quiet=True)
    for name in used_names(function):
        found = find_name(home, name)[0]
        inner = found.value if isinstance(found, Cell) else found
        if isinstance(inner, Closure):
            _forget_used(ev, inner, seen | {id(function)})


def forget_call(ev: Evaluator, arguments: list[Argument], closure: Closure) -> None:
    """Forget what a function of the text may write that is not evaluated: what its parameters refer or point to
    unless that is const, and what can be reached from there. It may keep all of these, so that later calls of such
    functions write them, too.
    """
    for n, argument in enumerate(arguments):
        value, writes = argument.value, _may_write(ev, closure, n)
        if isinstance(value, Closure):
            _forget_used(ev, value)
            continue
        if argument.place and argument.const is not True and writes:
            _forget_escaped(ev, argument.where)
        direct = not writes and isinstance(value, Address | Pointer)  # what a pointer to const points to
        for place in list(reachable(value))[direct:]:
            _forget_escaped(ev, place)
    if isinstance(closure.this, Object):
        whole = closure.this.whole or closure.this
        _forget_escaped(ev, Cell(whole))
        for place in reachable(whole):
            _forget_escaped(ev, place)
    if closure.captured is not None:
        for cell in closure.captured.names.values():
            ev.forget(cell)
    ev.forget_globals()


def _forget_escaped(ev: Evaluator, place: Any) -> None:
    ev.forget(place)
    inner = place.value if isinstance(place, Cell) else None
    key = id(inner if isinstance(inner, Object | Array) else place.of if isinstance(place, Part) else place)
    ev.escaped.setdefault(key, place if key != id(getattr(place, "of", None)) else Cell(place.of))


def _may_write(ev: Evaluator, closure: Closure, n: int) -> bool:
    """Whether one of some functions may write what its argument no. n is, or points to, by their declarations."""
    for function in closure.functions:
        parameter = function.parameters[n] if n < len(function.parameters) else None
        if parameter is None or parameter.type is None or parameter.pack:
            return True
        scope = Scope(closure.home(function))
        _enter_template(ev, function, {}, scope)
        kind = ev.kind(parameter.type, scope)
        steps = kind.pointers + len(kind.dims) + bool(kind.reference)
        if steps and not (kind.const and steps == 1):
            return True
        if not steps and kind.open and parameter.type.path[-1][0] not in {p.name for p in function.templates}:
            return True
    return False


# operators -------------------------------------------------------------------------------------------------------


def operator(
    ev: Evaluator,
    op: str,
    left: Any,
    right: Any,
    at: tree.Expression,
    *,
    arguments: list[Argument] | None = None,
    constant: bool | None = None,
) -> Any:
    """What an operator that the text defines gives; None where it defines none for such operands."""
    name = f"operator{op}"
    if ev.python:
        if not isinstance(left, Object):
            return None
        found = left.record.methods.get({"+": "__add__", "|": "__or__"}.get(op, ""))
        return ev.call(replace(found, this=left), [right], {}, at.span) if found is not None else None
    given = arguments if arguments is not None else [] if right is None else [_operand(ev, right)]
    own = left if isinstance(left, Argument) else None
    left = left.value if isinstance(left, Argument) else left
    method = left.record.methods.get(name) if isinstance(left, Object) else None
    if isinstance(left, Part) and left.field.inner is not None:
        method = left.field.inner.methods.get(name)
    if method is not None and arguments is None:
        counted = [f for f in method.functions if accepts_count(f, len(given))]
        if not any(_may_fit(ev, method, f, given) for f in counted):
            method = None
    free = None
    if op not in ("()", "[]", "->", "=") and name in ev.operators:
        operands = [own or _operand(ev, left), *given]
        free = _free_operator(ev, ev.operators[name], operands, at) if any(map(_of_class, operands)) else None
    if method is not None and free is not None:  # one overload set: which is better is not looked into
        ev.forget_call(operands, free)
        if not all(f.const for f in method.functions):
            ev.forget_call(given, replace(method, this=left))
        return Term(ev.fresh(ev.words(at)), span=at.span)
    if method is not None:
        constant = own.const if own is not None and own.place else constant
        return ev.call(replace(method, this=left, constant=constant), given, {}, at.span)
    return ev.call(free, operands, {}, at.span) if free is not None else None


def _free_operator(ev: Evaluator, closure: Closure, operands: list[Argument], at: tree.Expression) -> Closure | None:
    """The operators outside classes that may be meant for some operands; None where there is none. Where one that
    the lookup by the operands' types does not find may be meant, they have no body.
    """
    closure = declared_before(closure, at.span[0])
    counted = [f for f in closure.functions if accepts_count(f, len(operands))]
    fitting = [f for f in counted if _may_fit(ev, closure, f, operands)]
    if not fitting:
        return None
    homes = tuple(closure.home(f) for f in fitting)
    near = {id(ev.globals), *(id(home) for a in operands for home in _associated(ev, a))}
    if not all(id(namespace_of(home)) in near for home in homes):
        fitting = [replace(f, body=None) for f in fitting]
    return replace(closure, functions=tuple(fitting), homes=homes)


def _associated(ev: Evaluator, argument: Argument) -> list[Scope]:
    """The namespaces in which a function is looked up because of an argument: [basic.lookup.argdep]."""
    home = ev.enumerations.get(_enum_name(argument))
    waiting = [argument.kind.record] if argument.kind is not None else []
    out = [] if home is None else [namespace_of(home)]
    seen: set[int] = set()
    while waiting:
        record = waiting.pop()
        if record is not None and id(record) not in seen:  # struct V : Ops<V>
            seen.add(id(record))
            out.append(namespace_of(record.scope))
            waiting += [*record.bases, *(a.record for a in record.arguments if isinstance(a, Kind))]
    return out


def _operand(ev: Evaluator, value: Any) -> Argument:
    """An operand of an operator: what a place holds, the place itself for a reference."""
    if isinstance(value, Argument):
        return value
    if isinstance(value, PLACES):
        inner = ev.load(value, tree.Other(""))
        return Argument(inner, ev.declared_kind(value, inner), True, False, where=value)
    made: Argument = ev.argument_of(value)
    if isinstance(value, Object):
        return replace(made, place=True, const=None, loose=True, where=Cell(value, made.kind))
    return made


def _may_fit(ev: Evaluator, closure: Closure, function: tree.Function, operands: list[Argument]) -> bool:
    """Whether a function could take operands."""
    one = _candidate(ev, closure, function, operands)
    return one is not None and all(_could(a, k) for a, k in zip(operands, one.kinds, strict=False))


# Python and what both have ----------------------------------------------------------------------------------------


def _python_call(
    ev: Evaluator,
    one: tree.Call,
    target: Any,
    *,
    name: str,
    templates: tuple[Any, ...],
    named: dict[str, Any],
    scope: Scope,
) -> Any:
    if isinstance(target, Closure):
        given: list[Any] = []
        for argument in one.arguments[:64]:
            unpacked = _unpacked(ev, argument, scope)
            given += unpacked if unpacked is not None else [ev.value(argument, scope)]
        return ev.call(target, given, named, one.span, one)
    given = ev.evaluate_arguments(one, scope)
    kind = _kind_called(ev, target, one, scope)
    if kind is not None:
        if kind.record is not None:
            made = ev.instance(kind.record, name)
            _python_made(ev, made, given, named, one)
            return made
        return ev.construct(kind, given, one, scope)
    if target is None or isinstance(target, Term):
        made = known(ev, name, templates, given, one.span)
        if made is not MISSING:
            return made
    if isinstance(target, Term) and target.arguments and isinstance(target.arguments[0], Int | Pointer):
        made = known(ev, name, templates, [target.arguments[0], *given], one.span)
        if made is not MISSING and name in ("bit_length", "to", "cast"):
            return made
    return _unknown(ev, one, name, templates=templates, given=given, named=named, target=target)


def _python_overload(ev: Evaluator, closure: Closure, count: int) -> tree.Function:
    return next((f for f in closure.functions if accepts_count(f, count)), closure.functions[0])


def _launched(ev: Evaluator, function: tree.Expression, scope: Any) -> Any:
    """What an expression is that is called; kernel[grid] of Triton is the kernel."""
    if ev.python and isinstance(function, tree.Index) and isinstance(function.value, tree.Name):
        found = ev.resolve(function.value.path, scope)
        if isinstance(found, Closure):
            return found
    return ev.value(function, scope)


def _kind_called(ev: Evaluator, target: Any, one: tree.Call, scope: Any) -> Kind | None:
    if isinstance(target, Template):
        path = one.function.path if isinstance(one.function, tree.Name | tree.Type) else ()
        made: Kind | None = ev.kind(tree.Type(path, span=one.span), scope) if path else ev.applied(target, [])
        return made
    if isinstance(target, Enumeration):
        return target.kind if not ev.python else None
    return target if isinstance(target, Kind) else None


def _python_made(ev: Evaluator, made: Object, given: list[Any], named: dict[str, Any], one: tree.Call) -> None:
    """An instance of a Python class: __init__, or a dataclass's fields."""
    record = made.record
    if "__init__" in record.methods:
        ev.call(replace(record.methods["__init__"], this=made), given, named, one.span)
        return
    for place, member in enumerate(record.members):
        if place < len(given):
            made.members[member] = Cell(given[place], None, member)
        elif member in named:
            made.members[member] = Cell(named[member], None, member)


def _method(ev: Evaluator, function: tree.Member, scope: Any, named: dict[str, Any]) -> Any:
    if not ev.python and (function.owner or function.arrow):
        found = ev.place(function, scope)
        if isinstance(found, Closure):
            inner = function.value
            const = pointee_const(ev, inner, scope) if function.arrow else const_of(ev, inner, scope)
            found = replace(found, constant=const, direct=bool(function.owner))
    else:
        whole = ev.place(function.value, scope)
        value = ev.load(whole, function.value) if isinstance(whole, PLACES) and not isinstance(whole, Part) else whole
        if isinstance(value, Array) and not ev.python and value.typed is not None:
            return Term(ev.words(function), head=function.name, arguments=(value,))
        if isinstance(value, Int | str | Array):
            return Term(f"{ev.words(function)}", head=function.name, arguments=(value,))
        found = ev.member(whole, function.name, function.span, None)
        if isinstance(found, Closure):
            found = replace(found, constant=const_of(ev, function.value, scope))
    if isinstance(found, Closure) and function.templates:
        return replace(found, templates=tuple(ev.template_arguments(function.templates, scope)))
    return found


def evaluate_arguments(ev: Evaluator, one: tree.Call, scope: Any) -> list[Any]:
    out: list[Any] = []
    for argument in one.arguments[:64]:
        if (unpacked := _unpacked(ev, argument, scope)) is not None:
            out.extend(unpacked)
            continue
        value = ev.value(argument, scope)
        if isinstance(value, Int | Object) and not isinstance(argument, tree.Name):
            ev.notice(value, ev.words(argument), argument.span)
        out.append(value)
    return out


def _unpacked(ev: Evaluator, argument: tree.Expression, scope: Any) -> list[Any] | None:
    """The items of `*name` among Python's arguments."""
    if not (ev.python and isinstance(argument, tree.Unary) and argument.op == "*"):
        return None
    value = ev.value(argument.value, scope)
    return [cell.value for cell in value.cells] if isinstance(value, Array) else None


def item(ev: Evaluator, value: Any, place: int, span: Span) -> Any:
    """An item of a tuple that is taken apart."""
    if isinstance(value, Array) and place < len(value.cells):
        return value.cells[place].value
    if isinstance(value, Object) and not ev.python:
        names = list(value.record.members)
        if place < len(names) and not value.record.hidden and not value.record.bases:
            return ev.load(ev.member(value, names[place], span), tree.Other("", span=span))
    if isinstance(value, Term) and value.arguments and value.head in ("make_tuple", "zip"):
        return value.arguments[place] if place < len(value.arguments) else Term("")
    return Term(f"{value}[{place}]", span=span)


def items_of(ev: Evaluator, value: Any, most: int, name: str) -> tuple[list[Any], bool]:
    """What a loop goes through, cut to so many, and whether that is all."""
    if isinstance(value, Array):
        return [cell.value for cell in value.cells[:most]], len(value.cells) <= most
    if isinstance(value, dict):
        keys = [key if isinstance(key, str) else Int(key, PYTHON) for key in list(value)[:most]]
        return keys, len(value) <= most
    if isinstance(value, Term) and value.head == "range":
        read = [number(v) for v in value.arguments]
        bounds = [b for b in read if b is not None]
        if len(bounds) < len(read) or not bounds:
            ev.endless.add(name)
            return [Int(n, PYTHON) for n in range(min(3, most))], False
        kind = PYTHON if ev.python else LONG
        start, end = (Int(0, kind), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        step = bounds[2] if len(bounds) > 2 else Int(1, kind)
        if step.known is None or not step.known:
            return [start], False
        if start.known is not None and end.known is not None:
            every = range(start.known, end.known, step.known)
            return [Int(n, kind) for n in every[:most]], len(every[most:]) == 0
        ev.endless.add(name)
        return [word.add(start, Int(n * step.known, kind)) for n in range(3)], False
    if isinstance(value, Term) and value.head == "enumerate" and value.arguments:
        inner, whole = ev.items_of(value.arguments[0], most, name)
        return [ev.array((Int(n, PYTHON), v)) for n, v in enumerate(inner)], whole
    return [Term(name or str(value))], False


def declared_before(closure: Closure, at: int) -> Closure:
    """The functions of a namespace that are declared before a place; all where none is.

    Explicit specializations are not looked up: one below the place is that of a template above it ([temp.expl.spec]).
    Where a later template may be the one that it specializes, it has no body.
    """
    if len(closure.functions) < 2 or not at:
        return closure

    def seen(one: tree.Function) -> bool:
        return one.first <= at or closure.home(one).owner != "namespace"

    hidden = [f for f in closure.functions if f.specialized is None and not seen(f)]
    if not hidden or not any(f.specialized is None and seen(f) for f in closure.functions):
        return closure
    unsure = any(f.templates for f in hidden)
    kept = [f for f in closure.functions if f.specialized is not None or seen(f)]
    functions = tuple(replace(f, body=None) if unsure and not seen(f) else f for f in kept)
    return replace(closure, functions=functions, homes=tuple(closure.home(f) for f in kept))


def _own_functions(record: Record, name: str) -> list[tree.Function]:
    """The functions of a name that a class itself declares."""
    found = record.methods.get(name)
    return [f for f in found.functions if found.home(f).owner is record] if found is not None else []


def _is_set(closure: Closure) -> bool:
    """Whether what a variable holds is a set of overloads or a template, and no lambda."""
    if closure.captured is not None or closure.this is not None:
        return False
    return len(closure.functions) > 1 or bool(closure.functions[0].templates and closure.templates is None)


def _of_constness(functions: list[tree.Function], constant: bool | None) -> list[tree.Function]:
    """The member functions that a const object, or another, may be called with: of two alike the one of its own."""
    if constant:
        return [f for f in functions if f.const or f.static] or functions
    if constant is None:
        return functions
    mine = [[_kinds_text(p) for p in f.parameters] for f in functions if not f.const]
    return [f for f in functions if not (f.const and [_kinds_text(p) for p in f.parameters] in mine)]


def _kinds_text(parameter: tree.Parameter) -> str:
    return text_of(parameter.type)


def is_move(one: tree.Expression) -> bool:
    """Whether an expression is std::move(name)."""
    if not isinstance(one, tree.Call) or len(one.arguments) != 1 or not isinstance(one.function, tree.Name):
        return False
    return one.function.last == "move"


def reachable(value: Any, deep: int = 0) -> Iterator[Any]:
    """The places that pointers and references in a value lead to, and those in them."""
    if deep > 4:
        return
    if isinstance(value, Address):
        yield value.place
        yield from reachable(value.place, deep + 1)
    elif isinstance(value, Pointer) and value.array is not None:
        yield Cell(value.array)
        yield from reachable(value.array, deep + 1)
    elif isinstance(value, Array):
        for cell in value.cells[:64]:
            yield from reachable(cell.value, deep + 1)
    elif isinstance(value, Object):
        for cell in value.members.values():
            if isinstance(cell.value, PLACES):
                yield cell.value
            yield from reachable(cell.value, deep + 1)
    elif isinstance(value, Cell):
        yield from reachable(value.value, deep + 1)
    elif isinstance(value, Split):
        yield from reachable(value.yes, deep + 1)
        yield from reachable(value.no, deep + 1)


def _adjusted(pattern: tree.Type, argument: Argument) -> Kind | None:
    """The type that a parameter's pattern is matched with: [temp.deduct.call]."""
    kind = argument.kind
    if kind is None:
        return None
    if pattern.reference == "&&" and len(pattern.path) == 1 and not pattern.const:
        return replace(kind, reference="&" if argument.place else "")
    if pattern.reference:
        return replace(kind, reference="", const=(kind.const or argument.const is True) and not pattern.const)
    if kind.dims:
        return replace(kind, dims=kind.dims[1:], pointers=kind.pointers + 1, reference="")
    return replace(kind, reference="", const=kind.const and bool(kind.pointers))


def _alike(one: Kind, two: Kind) -> bool:
    """Whether a reference to one type may bind an object of another without a conversion."""
    if one.record is not None and two.record is not None:
        return one.record.descends(two.record)
    return same_type(replace(one, const=False, reference=""), replace(two, const=False, reference="")) is not False


def _of_class(argument: Argument) -> bool:
    kind = argument.kind
    if kind is None or kind.pointers:
        return isinstance(argument.value, Object)
    return kind.record is not None or bool(_enum_name(argument))


def _copies_itself(value: Any) -> bool:
    """Whether the class of an object says how it is copied."""
    if isinstance(value, Array) and value.typed is None:
        return True  # its items are swapped, and pointers to them stay
    if not isinstance(value, Object):
        return isinstance(value, Term)
    own = value.record.methods.get(value.record.name)
    one_each = own is not None and any(len(f.parameters) == 1 for f in own.functions)
    inner = any(_copies_itself(cell.value) for cell in value.members.values() if not isinstance(cell.value, Term))
    assigns = "operator=" in value.record.methods or value.record.assigns or value.record.copies
    return assigns or one_each or inner


def _enum_name(argument: Argument) -> str:
    whole = argument.kind.whole if argument.kind is not None and not argument.kind.pointers else None
    return getattr(whole, "enumeration", "") or ""


def _could(argument: Argument, kind: Kind | None) -> bool:
    return rank_of(argument, kind) is not None


def _conditions(function: tree.Function) -> Iterator[tree.Expression]:
    """The conditions under which a function template takes part: of enable_if anywhere in its types, of requires."""
    if function.constraint is not None:
        yield function.constraint
    types: list[Any] = [function.returns, *(p.type for p in function.parameters)]
    types += [part for p in function.templates for part in (p.type, p.default)]
    for one in types:
        if isinstance(one, tree.Type | tree.Name):
            for name, given in one.path:
                if name in ("enable_if_t", "enable_if") and given:
                    condition = given[0]
                    yield condition


def _opaque_constraint(function: tree.Function) -> bool:
    """Whether a template may be left out of a call for a reason that is not looked into: void_t, decltype of a call."""
    types: list[Any] = [function.returns, *(part for p in function.templates for part in (p.type, p.default))]
    names = {name for one in types if isinstance(one, tree.Type | tree.Name) for name, _ in one.path}
    return bool(function.templates) and bool(names & {"void_t", "decltype"})


def _passed(function: tree.Function, closure: Closure, at: tree.Call | None) -> dict[str, tree.Expression]:
    """Parameter → what a call gives it, as it is written."""
    if at is None:
        return {}
    names = [parameter.name for parameter in function.parameters]
    if function.python and closure.this is not None and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    return {**dict(zip(names, at.arguments, strict=False)), **dict(at.named)}
