"""Calls: which function an expression names, and how it is run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL
from lanescope.reader.code import tree
from lanescope.reader.code.call_arguments import Invocation
from lanescope.reader.code.candidates import declared_before
from lanescope.reader.code.constness import const_of, pointee_const
from lanescope.reader.code.instances import key_of
from lanescope.reader.code.library_calls import call_library, swap, tuple_item
from lanescope.reader.code.lifetimes import MADE
from lanescope.reader.code.lookup import find_name, this_of
from lanescope.reader.code.operator_calls import with_associated
from lanescope.reader.code.overloads import Argument, Candidate
from lanescope.reader.code.python_calls import call_python, python_overload
from lanescope.reader.code.side_effects import may_throw
from lanescope.reader.code.values import (
    PLACES,
    Array,
    Cell,
    Closure,
    Either,
    Kind,
    Object,
    Pack,
    Part,
    Record,
    Scope,
    Term,
    short,
)
from lanescope.reader.code.virtual_calls import dispatch
from lanescope.reader.code.word import Int, Span, free

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

UNEVALUATED = ("noexcept", "typeid", "declval")  # whose operands are not evaluated


def evaluate_call(ev: Evaluator, one: tree.Call, scope: Scope) -> Any:
    """Return what a call gives; Referred where the function returns a reference."""
    function = one.function
    if isinstance(function, tree.Name) and function.last in UNEVALUATED and not ev.python:
        return free(ev.words(one), BOOL)
    call = _find_called(ev, one, scope)
    if isinstance(call.target, PLACES):
        target = ev.load(call.target, function)
        if isinstance(target, Closure) and not ev.python and _is_set(target):  # its type chose one of these
            ev.forget_call(ev.arguments(one, scope), target)
            return Term(ev.fresh(ev.words(one)), span=one.span)
        call = replace(call, target=target)
    if ev.python:
        return call_python(ev, call)
    if call.name == "get" and call.templates and len(one.arguments) == 1 and not isinstance(call.target, Closure):
        return tuple_item(ev, one, call.templates, scope)
    return _call_target(ev, replace(call, arguments=ev.arguments(one, scope)))


def _call_target(ev: Evaluator, call: Invocation) -> Any:
    """Call what a name of C++ means: an object, a function of the text, or one that it does not have."""
    one, function, target, arguments = call.one, call.one.function, call.target, call.arguments
    if isinstance(target, Object):
        made = ev.operator("()", target, None, one, arguments=arguments, constant=const_of(ev, function, call.scope))
        if made is not None:
            return made
    if isinstance(target, Either):
        return _call_either(ev, call, target)
    if isinstance(target, Closure):
        target = declared_before(target, one.span[0])
    if target is None or isinstance(target, Closure):
        target = with_associated(ev, target, call.name, function, arguments)
    if isinstance(target, Closure):
        if isinstance(function, tree.Name) and len(function.path) > 1:
            target = replace(target, direct=True)  # Base::f() calls no override
        return ev.call(_with_this(ev, target, call.scope), arguments, call.named, one.span, one)
    if call.name == "swap" and len(arguments) == 2:
        return swap(ev, arguments, one)
    return call_library(ev, replace(call, target=target))


def _call_either(ev: Evaluator, call: Invocation, target: Closure | Either) -> Any:
    """Call two functions that a condition decides between, each apart, and join what they give."""
    one = call.one
    if isinstance(target, Closure):
        return ev.call(_with_this(ev, target, call.scope), call.arguments, call.named, one.span, one)
    given: list[Any] = []

    def run(function: Closure | Either) -> Any:
        return lambda: given.append(_call_either(ev, call, function))

    ev.alternatives([(target.condition, run(target.yes)), (f"!({target.condition})", run(target.no))])
    return ev.merge(target.condition, *given) if len(given) == 2 else Term(ev.words(one), span=one.span)


def _find_called(ev: Evaluator, one: tree.Call, scope: Scope) -> Invocation:
    """Return what a call calls, its keyword arguments evaluated."""
    function = one.function
    named = {name: ev.value(value, scope) for name, value in one.named}
    templates: tuple[Any, ...] = ()
    if isinstance(function, tree.Name | tree.Type):
        target = ev.resolve(function.path, scope, function.span[0])
        name, given = function.path[-1] if function.path else ("", None)
        if given and (target is None or isinstance(target, Term | Kind)):
            templates = tuple(ev.template_arguments(given, scope))
    elif isinstance(function, tree.Member):
        target, name = _method(ev, function, scope), function.name
        if function.templates and not isinstance(target, Closure):
            templates = tuple(ev.template_arguments(function.templates, scope))
    else:
        target, name = _launched(ev, function, scope), ev.words(function)
    return Invocation(one, target, name, templates, named, scope)


def _with_this(ev: Evaluator, closure: Closure, scope: Scope) -> Closure:
    """Give a member function that is called by its name alone the object of the calling one."""
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


def call(
    ev: Evaluator, closure: Closure, given: list[Any], named: dict[str, Any], span: Span, at: tree.Call | None = None
) -> Any:
    """Return the value that a function of the text gives, None of a void one. at: the call as it is written."""
    arguments = [ev.argument_of(one) for one in given] if not ev.python else given
    if ev.python:
        chosen: Candidate | None = Candidate(python_overload(ev, closure, len(given) + len(named)), (), {})
    else:
        closure, chosen = _choose(ev, closure, arguments)
    if chosen is None or chosen.function.body is None or _endless_call(ev, chosen.function):
        return _call_unread(ev, closure, arguments, span)
    function = chosen.function
    scope = ev.bound(closure, chosen, arguments, named)
    ev.called.add(id(function))
    known_before = len(ev.found)
    value = _run_called(ev, closure, function, scope, span, at)
    if ev.is_descriptor(value, function.name):
        del ev.found[known_before:]
    if isinstance(value, Object) and value.record.ends and not value.held and not ev.python:
        ev.temporaries.append((value, MADE))
    return value


def _choose(ev: Evaluator, closure: Closure, arguments: list[Argument]) -> tuple[Closure, Candidate | None]:
    """Return the function that a call of C++ runs, as overloads and the object's class decide; None where not known."""
    chosen = ev.chosen(closure, arguments)
    if chosen is not None:
        closure, chosen = dispatch(ev, closure, chosen, len(arguments))
    if closure.this is not None and not isinstance(closure.this, Object | Part):
        ev.forget_alike(closure.this, chosen.function if chosen is not None else None)
    return closure, chosen


def _call_unread(ev: Evaluator, closure: Closure, arguments: list[Any], span: Span) -> Term:
    """Return a call that is not evaluated: no function is chosen, or it has no body, or it does not end."""
    name = closure.functions[0].name
    if not ev.python:
        ev.forget_call(arguments, closure)
        may_throw(ev, name)
    inner = ", ".join(short(a.value if isinstance(a, Argument) else a) for a in arguments)
    text = f"{name}({inner})"[:120]
    return Term(ev.fresh(text) if not ev.python else text, _return_kind(ev, closure), name, span=span)


def _run_called(
    ev: Evaluator, closure: Closure, function: tree.Function, scope: Scope, span: Span, at: tree.Call | None
) -> Any:
    """Run the body of a function in a frame of its own; return its value."""
    refers = function.returns is not None and bool(function.returns.reference) and not ev.python
    ev.enter(function.name, span, passed=_passed(function, closure, at), refers=refers, constant=function.const)
    frame = ev.frames[-1]
    frame.returns = ev.return_kind(function, scope)
    frame.instance = _instance_key(ev, closure, function, scope)
    frame.single = not ev.python and _returns_once(ev, function)
    try:
        return ev.finish(ev.run_body(function, scope), scope)
    finally:
        ev.leave()


def _returns_once(ev: Evaluator, function: tree.Function) -> bool:
    """Return whether a function has one return statement."""
    return len(re.findall(r"\breturn\b", ev.text[slice(*function.span)])) == 1


def _instance_key(ev: Evaluator, closure: Closure, function: tree.Function, scope: Scope) -> str:
    """Return what tells instances of a function template, or of a member of a class template, apart."""
    owner = closure.home(function).owner
    bound = [find_name(scope, p.name)[0] for p in function.templates if p.name]
    keys = [key_of(one.value if isinstance(one, Cell) else one) for one in bound if not isinstance(one, Pack)]
    return f"{id(owner) if isinstance(owner, Record) else 0} {keys}"


def return_kind(ev: Evaluator, function: tree.Function, scope: Scope) -> Kind | None:
    """Return the type that a function says it returns, None for auto and void."""
    returns = function.returns
    if returns is None or (returns.name in ("auto", "void", "decltype", "decltype(auto)") and not returns.pointers):
        return None
    kind: Kind = ev.kind(returns, scope)
    return kind


def _return_kind(ev: Evaluator, closure: Closure) -> Kind | None:
    """Return the type of what a call gives that is not evaluated, where its function's declaration alone says it."""
    kinds = {f.returns.name for f in closure.functions if f.returns is not None}
    function = closure.functions[0]
    if len(kinds) != 1 or function.templates or function.returns is None:
        return None
    kind: Kind = ev.kind(function.returns, closure.home(function))
    return None if kind.open else replace(kind, reference="")


def _endless_call(ev: Evaluator, function: tree.Function) -> bool:
    """Return whether a call goes deeper than any that ends: a function that calls its namesake of a library, or itself
    under a condition that the text leaves open. What it gives is not known.
    """
    if len(ev.frames) > ev.most_calls:
        ev.bottomless.add(id(function))
        return True
    return id(function) in ev.bottomless and any(frame.name == function.name for frame in ev.frames)


def _launched(ev: Evaluator, function: tree.Expression, scope: Any) -> Any:
    """Return what an expression is that is called; kernel[grid] of Triton is the kernel."""
    if ev.python and isinstance(function, tree.Index) and isinstance(function.value, tree.Name):
        found = ev.resolve(function.value.path, scope)
        if isinstance(found, Closure):
            return found
    return ev.value(function, scope)


def _method(ev: Evaluator, function: tree.Member, scope: Scope) -> Any:
    """Return the member function that a call names, with its object; a term for one that the text lacks."""
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


def _is_set(closure: Closure) -> bool:
    """Return whether what a variable holds is a set of overloads or a template, and no lambda."""
    if closure.captured is not None or closure.this is not None:
        return False
    return len(closure.functions) > 1 or bool(closure.functions[0].templates and closure.templates is None)


def _passed(function: tree.Function, closure: Closure, at: tree.Call | None) -> dict[str, tree.Expression]:
    """Return what a call gives each parameter, as it is written."""
    if at is None:
        return {}
    names = [parameter.name for parameter in function.parameters]
    if function.python and closure.this is not None and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    return {**dict(zip(names, at.arguments, strict=False)), **dict(at.named)}
