"""Runs statements over values of which some are symbols: no loop without a bound, no step beyond the budget. What it
comes by on the way is kept: values that look like descriptors, calls the text has no body of, and C's pitfalls.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from layouts.reader.code import tree
from layouts.reader.code.ctype import BOOL, PYTHON
from layouts.reader.code.expressions import Expressions
from layouts.reader.code.finding import MOST_ASSEMBLED, Assembled
from layouts.reader.code.loops import Left, Loops
from layouts.reader.code.records import layout_of
from layouts.reader.code.values import (
    Array,
    Cell,
    Closure,
    Enumeration,
    Kind,
    Object,
    Part,
    Pointer,
    Record,
    Scope,
    Template,
    Term,
    number,
    short,
)
from layouts.reader.code.word import Int, add, free, merged

MOST_CALLS = 24  # nested


class Machine(Expressions, Loops):
    """One text's evaluation."""

    # statements ------------------------------------------------------------------------------------------------------

    def run(self, body: Iterable[tree.Statement], scope: Scope) -> Left | None:
        """Execute statements; what ended them early, or None."""
        for statement in body:
            left = self.execute(statement, scope)
            if left is not None:
                return left
        return None

    def execute(self, one: tree.Statement, scope: Scope) -> Left | None:
        self.spend()
        match one:
            case tree.Declare():
                self._declare(one, scope)
            case tree.Do(value=value):
                self.drop(value, scope)
            case tree.Block():
                return self.run(one.body, Scope(scope) if one.scoped else scope)
            case tree.If():
                return self._if(one, scope)
            case tree.Return(value=value):
                result = self.value(value, scope) if value is not None else None
                if self.frames[-1].entry and value is not None:
                    self.notice(result, self.frames[-1].name, value.span)
                return Left("return", result)
            case tree.Jump(word=word):
                return Left(word)
            case tree.Loop():
                return self._loop(one, Scope(scope))
            case tree.Each():
                return self._each(one, scope)
            case tree.Switch():
                return self._switch(one, scope)
            case tree.Assembly():
                self._assembly(one, scope)
            case tree.Unpack():
                self._unpack(one, scope)
            case _:
                self.define(one, scope)
        return None

    def define(self, one: tree.Statement, scope: Scope) -> None:
        """Enter what a statement defines without running anything."""
        match one:
            case tree.Function(name=name):
                known = scope.names.get(name)
                others = known.functions if isinstance(known, Closure) and not one.python else ()
                scope.names[name] = Closure((*others, one), scope)
            case tree.Struct(name=name):
                scope.names[name] = Template(one, scope, one.templates)
            case tree.Alias(name=name):
                scope.names[name] = Template(one, scope)
            case tree.Enum():
                self._enum(one, scope)
            case _:
                return

    def _enum(self, one: tree.Enum, scope: Scope) -> None:
        inner = Scope(scope)
        following = Int(0)
        for name, value, span in one.members:
            if value is not None:
                given = number(self.value(value, inner))
                following = given if given is not None else free(name, BOOL)
            cell = Cell(Int(following.const, following.type, following.pieces, origin=(span,)), name=name)
            inner.names[name] = cell
            scope.names.setdefault(name, cell)
            following = add(following, Int(1))
        if one.name:
            scope.names[one.name] = Enumeration(one.name, inner)

    def _declare(self, one: tree.Declare, scope: Scope) -> None:
        if not one.name:
            if one.type and isinstance(one.type.body, tree.Struct):  # an anonymous union: its members are variables
                made = self.instance(layout_of(self, Record("", one.type.body, scope)), one.name)
                for name in (*made.members, *(made.record.fields or {})):
                    scope.names[name] = Cell(self.member(made, name, one.span), name=name)
            return
        if one.type and isinstance(one.type.body, tree.Struct) and one.type.body.name:
            self.define(one.type.body, scope)
        kind = self.kind(one.type, scope) if one.type else None
        named_auto = one.type is None or one.type.name == "auto"
        if kind is not None and kind.reference and one.value is not None:
            place = self.place(one.value, scope)
            if isinstance(place, Cell):
                scope.names[one.name] = place
                return
            made = self.load(place, one.value)
            if isinstance(made, Term) and made.kind is not None and not isinstance(place, Part):
                scope.names[one.name] = Cell(Term(one.name, made.kind), None, one.name, one.span)
                return
        if one.value is not None:
            value = self.initial(one.value, kind, scope, one.name)
        elif one.arguments is not None:
            value = self.construct(kind, [self.value(a, scope) for a in one.arguments], one, scope)
        else:
            value = self.default(kind, one.name)
        if kind is not None and not named_auto:
            value = self.converted(value, kind, one.span, one.name)
        cell = Cell(self.copied(value), kind if not named_auto else None, one.name, one.span, len(self.frames))
        scope.names[one.name] = cell
        if one.value is not None or one.arguments is not None:
            self.note(cell, one.span)

    def _unpack(self, one: tree.Unpack, scope: Scope) -> None:
        value = self.value(one.value, scope)
        for place, name in enumerate(one.names):
            item = self.item(value, place, one.span)
            self.assign_name(name, item, scope, one.span)

    def _if(self, one: tree.If, scope: Scope) -> Left | None:
        inner = Scope(scope)
        condition = self.truth(self.value(one.condition, inner))
        if condition is not None:
            chosen = one.yes if condition else one.no
            return self.execute(chosen, inner) if chosen is not None else None
        text = self.words(one.condition)
        before = self.journal
        outcomes = []
        for branch in (one.yes, one.no):
            self.journal = {}
            left = self.execute(branch, Scope(inner)) if branch is not None else None
            changed = {key: (cell, cell.value) for key, (cell, _) in self.journal.items()}
            for cell, old in self.journal.values():
                cell.value = old
            outcomes.append((left, changed))
        self.journal = before
        (left, yes), (other, no) = outcomes
        if left is not None and left.word == "return" and other is None:
            self.frames[-1].pending.append((text, left.value))
            yes = no
        elif other is not None and other.word == "return" and left is None:
            self.frames[-1].pending.append((f"!({text})", other.value))
            no = yes
        for key in {**yes, **no}:
            cell = (yes.get(key) or no[key])[0]
            one_value = yes[key][1] if key in yes else cell.value
            other_value = no[key][1] if key in no else cell.value
            self.put(cell, self.merge(text, one_value, other_value))
            self.renote(cell)
        if left is not None and other is not None and left.word == other.word == "return":
            return Left("return", self.merge(text, left.value, other.value))
        return None

    def merge(self, condition: str, yes: Any, no: Any) -> Any:
        """One value for two that a condition of the text decides between."""
        if yes is no or yes == no:
            return yes
        if yes is None or no is None:  # a function that ends in __trap() on one side
            return no if yes is None else yes
        one, two = number(yes), number(no)
        if isinstance(yes, Pointer) and isinstance(no, Pointer):
            return Pointer(merged(condition, self.whole(yes), self.whole(no)).linear(), yes.element)
        if isinstance(yes, Object) and isinstance(no, Object) and one is not None and two is not None:
            return Object(yes.record, Cell(merged(condition, one, two)))
        if one is not None and two is not None:
            return merged(condition, one, two)
        return Term(f"({condition} ? {yes} : {no})")

    def whole(self, value: Any) -> Int:
        found = number(value)
        return found if found is not None else free(str(value), BOOL)

    def _switch(self, one: tree.Switch, scope: Scope) -> Left | None:
        value = number(self.value(one.value, scope))
        cases = [(None if test is None else number(self.value(test, scope)), body) for test, body in one.cases]
        if value is not None and value.known is not None:
            known = [n for n, (test, _) in enumerate(cases) if test is not None and test.known == value.known]
            start = known or [n for n, (test, _) in enumerate(cases) if test is None]
            inner = Scope(scope)
            for _, body in cases[start[0] :] if start else ():
                left = self.run(body, inner)
                if left is not None:
                    return None if left.word == "break" else left
            return None
        text = self.words(one.value)
        chain: tree.Statement | None = None
        for number_of, (test, body) in reversed(list(enumerate(one.cases))):
            own = list(body)
            following = number_of
            while not own and following + 1 < len(one.cases):  # a label that falls through to the next
                following += 1
                own = list(one.cases[following][1])
            block = tree.Block(tuple(s for s in own if not (isinstance(s, tree.Jump) and s.word == "break")))
            if test is None:
                chain = block
            else:
                chain = tree.If(tree.Other(f"{text} == {self.words(test)}"), block, chain, span=one.span)
        return self.execute(chain, scope) if chain is not None else None

    def assign_name(self, name: str, value: Any, scope: Scope, span: tuple[int, int]) -> None:
        if not name or name == "_":
            return
        cell = scope.names.get(name)
        if isinstance(cell, Cell):
            self.put(cell, value)
        else:
            cell = scope.names[name] = Cell(value, None, name, span, len(self.frames))
        self.note(cell, span)

    # inline assembly -------------------------------------------------------------------------------------------------

    def _assembly(self, one: tree.Assembly, scope: Scope) -> None:
        values: list[Any] = []  # what an instruction accumulates into is not looked at
        for kind, value in one.operands:
            values.append(None if kind.startswith("=") or "f" in kind else self.value(value, scope))
        given = [value for value in values if value is not None]
        if len(self.assembled) < MOST_ASSEMBLED:
            self.ran += 1
            held = (None if value is None else number(value) for value in values)
            where = [
                (e.span, ()) if value is None else self.written(e)
                for (_, e), value in zip(one.operands, values, strict=True)
            ]
            told = tuple((kind, value, at[0]) for (kind, _), value, at in zip(one.operands, held, where, strict=True))
            loops = tuple(loop for loop in self.loops if loop[0])
            around = tuple(at[1] for at in where)
            self.assembled.append(
                Assembled(one.text, one.span, one.names, told, loops, self.within(), self.ran, around)
            )
        for kind, value in one.operands:
            if kind.startswith("="):
                place = self.place(value, scope)
                if "cvta.to.shared" in one.text and given:
                    self.store(place, self.shared_address(given[0]), one.span)
                elif "mov.b64" in one.text and len(given) == 2 and "l" in kind:
                    low, high = self.whole(given[0]), self.whole(given[1])
                    self.store(place, self.joined(low, high), one.span)
                elif isinstance(place, Cell) and not isinstance(place.value, Object):
                    self.store(place, self.default(place.kind, place.name, symbolic=True), one.span)
        for (kind, value), own in zip(one.operands, values, strict=True):
            if "l" in kind and own is not None:
                self.notice(own, self.words(value), value.span)

    # functions -------------------------------------------------------------------------------------------------------

    def call(
        self, closure: Closure, given: list[Any], named: dict[str, Any], span: tuple[int, int],
        at: tree.Call | None = None,
    ) -> Any:  # fmt: skip
        """The value a function of the text gives for arguments; None of a void one. at: the call as it is written."""
        function = self.overload(closure, len(given) + len(named))
        if self._endless_call(function):
            return Term(f"{function.name}({', '.join(map(short, given))})"[:120], head=function.name, span=span)
        scope = self.bound(closure, function, given, named)
        self.called.add(id(function))
        known = len(self.found)
        self.enter(function.name, span, passed=_passed(function, closure, at))
        try:
            left = self.run_body(function, scope)
            value = left.value if left is not None and left.word == "return" else None
            for text, other in reversed(self.frames[-1].pending):
                value = self.merge(text, other, value)
        finally:
            self.leave()
        if function.returns is not None and function.returns.name not in ("auto", "void", "decltype"):
            kind = self.kind(function.returns, scope)
            if not kind.reference:
                value = self.converted(value, kind, span, function.name) if value is not None else None
        if self.is_descriptor(value, function.name):
            del self.found[known:]
        return value

    def _endless_call(self, function: tree.Function) -> bool:
        """Whether a call goes deeper than any that ends: a function that calls its namesake of a library, or itself
        under a condition that the text leaves open. What it gives is not known.
        """
        if len(self.frames) > MOST_CALLS:
            self.bottomless.add(id(function))
            return True
        return id(function) in self.bottomless and any(frame.name == function.name for frame in self.frames)

    def run_body(self, function: tree.Function, scope: Scope) -> Left | None:
        body = function.body.make() if isinstance(function.body, tree.Deferred) else function.body
        return self.run(body.body, scope) if isinstance(body, tree.Block) else self.execute(body, scope)

    def entry(self, function: tree.Function, scope: Scope, this: Any = None) -> None:
        """Run a function nothing in the text calls, its parameters as symbols."""
        closure = Closure((function,), scope, this)
        inner = self.bound(closure, function, [], {}, symbolic=True)
        self.called.add(id(function))
        self.enter(function.name, function.span, entry=True)
        try:
            left = self.run_body(function, inner)
            pending = self.frames[-1].pending
            if pending and left is not None:
                value = left.value
                for text, other in reversed(pending):
                    value = self.merge(text, other, value)
                self.notice(value, function.name, function.span, replace=True)
        finally:
            self.leave()

    def joined(self, low: Int, high: Int) -> Int:
        return self.binary("|", low, self.binary("<<", self.cast_int(high, 64), Int(32, PYTHON)))

    def array(self, values: Iterable[Any], element: Kind | None = None, name: str = "") -> Array:
        return Array([Cell(value, element) for value in values], element, name)


def _passed(function: tree.Function, closure: Closure, at: tree.Call | None) -> dict[str, tree.Expression]:
    """Parameter → what a call gives it, as it is written."""
    if at is None:
        return {}
    names = [parameter.name for parameter in function.parameters]
    if function.python and closure.this is not None and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    return {**dict(zip(names, at.arguments, strict=False)), **dict(at.named)}
