"""Functions that a text uses without writing them: CUDA's and CUTLASS's addresses, casts and tuples, and Python's
built-ins.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from layouts.reader.code import tree, word
from layouts.reader.code.ctype import INT, LONG, PYTHON, UINT, ULONG, CType
from layouts.reader.code.known import ENCODE, IDENTITY, SHARED_ADDRESS, STANDARD
from layouts.reader.code.values import (
    SHARED_BITS,
    Address,
    Array,
    Cell,
    Closure,
    Kind,
    Object,
    Pointer,
    Term,
    number,
    short,
    size_bytes,
)
from layouts.reader.code.word import Int, Span, of_linear, symbol
from layouts.table.descriptors import START

if TYPE_CHECKING:
    from layouts.reader.code.machine import Machine

_MISSING = object()
# Python's integers of a width, of ctypes, NumPy, cuda-python and CuTe's DSL
_WIDTHS = {
    **dict.fromkeys("c_ulonglong c_uint64 uint64 UInt64 Uint64 c_int64 int64 Int64 cuuint64_t".split(), 64),
    **dict.fromkeys("c_uint32 uint32 Uint32 c_int32 int32 Int32 cuuint32_t".split(), 32),
}
_TUPLES = set(
    "make_tuple make_pair make_shape make_stride make_coord tie forward_as_tuple make_uint2 make_tile array tuple"
    " list".split()
)


def shared_address(value: Any) -> Any:
    """__cvta_generic_to_shared: the same place as an address of the shared window."""
    if isinstance(value, Pointer):
        return of_linear(value.base, ULONG, SHARED_BITS)
    if isinstance(value, Term):
        return of_linear(symbol(value.text), ULONG, SHARED_BITS)
    if isinstance(value, Address):
        name = value.place.name if isinstance(value.place, Cell) else str(value.place)
        return of_linear(symbol(f"&{name}"), ULONG, SHARED_BITS)
    if isinstance(value, Array) and value.name:
        return of_linear(symbol(value.name), ULONG, SHARED_BITS)
    given = number(value)
    if given is not None and given.plain is not None and given.pieces:
        return of_linear(given.plain, ULONG, SHARED_BITS)
    return given if given is not None else Term(f"{value}")


@lru_cache(maxsize=2048)
def _gives_address(name: str) -> bool:
    return SHARED_ADDRESS.fullmatch(name) is not None


@lru_cache(maxsize=2048)
def _encodes(name: str) -> bool:
    return ENCODE.fullmatch(name) is not None


def known(machine: Machine, name: str, templates: tuple[Any, ...], given: list[Any], span: Span) -> Any:
    """What a well-known function gives; _MISSING for another."""
    one = given[0] if given else None
    whole = number(one) if len(given) == 1 else None
    if len(given) > IDENTITY.get(name, len(given)):
        return given[IDENTITY[name]]
    if len(given) == 1 and _gives_address(name) and not isinstance(one, str):
        return (
            machine.converted(machine.shared_address(one), Kind("uint32_t", UINT, 32), span)
            if not machine.python
            else shared_address(one)
        )
    if name in machine.standard and given:
        return _standard(machine, machine.standard[name], one, span)
    if whole is not None and _encodes(name):
        machine.taken.setdefault(name)
        wide = whole if machine.python else word.convert(whole, ULONG)
        return word.shifted(word.both(wide, Int(START.mask, wide.type)), -4)
    if name in ("min", "max") and len(given) == 2:
        left, right = number(one), number(given[1])
        if left is not None and right is not None and left.known is not None and right.known is not None:
            return left if (left.known <= right.known) == (name == "min") else right
    if name in ("ceil_div", "cdiv", "div_up", "ceildiv") and len(given) == 2:
        left, right = number(one), number(given[1])
        if left is not None and right is not None and left.known is not None and right.known:
            return Int(-(-left.known // right.known), left.type)
    if name in _TUPLES and not (machine.python and name in ("list", "tuple", "array")):
        return Array([Cell(value) for value in given], None, "", Kind(name))
    if name == "get" and templates and isinstance(one, Array):
        at = number(templates[0])
        if at is not None and at.known is not None and at.known < len(one.cells):
            return one.cells[at.known].value
    if name == "swap" and len(given) == 2:
        return None
    if name == "memcpy" and len(given) == 3:
        target, origin = given[0], given[1]
        if isinstance(target, Address) and isinstance(origin, Address):
            machine.store(target.place, machine.load(origin.place, tree.Other("")), span)
        return one
    if name in ("is_same_v", "is_same") and len(templates) == 2:
        return Int(int(str(templates[0]) == str(templates[1])), INT)
    if name == "sizeof_bits" and templates and isinstance(templates[0], Kind) and templates[0].bits:
        return Int(templates[0].bits, INT)
    if machine.python:
        return _python(machine, name, given, whole, span)
    return _MISSING


def _standard(machine: Machine, mode: str, one: Any, span: Span) -> Int:
    """What a function without code gives that is taken to build the descriptor of a K-major tile: the start's bits, LBO
    1, SBO of eight rows, the swizzle's code.
    """
    width, code = STANDARD[mode]
    address = one if isinstance(one, Int) and not one.pieces else shared_address(one)
    start = word.convert(number(address) or Int(0, ULONG), ULONG)
    low = word.shifted(word.both(start, Int(START.mask, ULONG)), -4)
    rest = Int(1 << 16 | (8 * width >> 4) << 32 | code << 62, ULONG)
    made: Int = machine.binary("|", machine.mark(low, span), machine.mark(rest, span))
    return made


def _python(machine: Machine, name: str, given: list[Any], whole: Int | None, span: Span) -> Any:
    one = given[0] if given else None
    bits = _WIDTHS.get(name)
    if bits and whole is not None:
        cut = word.convert(whole, CType(name, bits, "u" not in name.lower()))
        return word.convert(cut, PYTHON)
    if name in ("int", "constexpr", "hex", "index", "cast", "bool") and (whole is not None or name == "cast"):
        return one
    if name == "len":
        if isinstance(one, Array):
            return Int(len(one.cells), PYTHON)
        return Int(len(one), PYTHON) if isinstance(one, str | dict) else Term(f"len({one})")
    if name == "bit_length" and whole is not None and whole.known is not None:
        return Int(whole.known.bit_length(), PYTHON)
    if name in ("list", "tuple") and isinstance(one, Array):
        return Array([Cell(c.value) for c in one.cells], one.element)
    if name in ("range", "static_range", "range_constexpr", "range_dynamic", "serial", "unroll"):
        return Term(name, head="range", arguments=tuple(given), span=span)
    if name == "enumerate":
        return Term(name, head="enumerate", arguments=tuple(given), span=span)
    if name == "abs" and whole is not None and whole.known is not None:
        return Int(abs(whole.known), PYTHON)
    return _MISSING


class Calls:
    """Calls, operators of structs, and what can be walked through."""

    def _call(self: Any, one: tree.Call, scope: Any) -> Any:
        function = one.function
        named = {name: self.value(value, scope) for name, value in one.named}
        target: Any = None
        templates: tuple[Any, ...] = ()
        if isinstance(function, tree.Name | tree.Type):
            target = self.resolve(function.path, scope)
            given_templates = function.path[-1][1] if function.path else None
            if target is None and given_templates:
                templates = tuple(self.value(t, scope) for t in given_templates)
            name = function.path[-1][0] if function.path else ""
        elif isinstance(function, tree.Member):
            name = function.name
            target = self._method(function, scope, named)
            if function.templates and not isinstance(target, Closure):
                templates = tuple(self.value(t, scope) for t in function.templates)
        else:
            name = self.words(function)
            target = self._launched(function, scope)
        if isinstance(target, Cell):
            target = target.value
        if isinstance(target, Closure):
            given = self._passed_places(target, one, scope)
            return self.call(target, given, named, one.span, one)
        given = self._given(one, scope)
        of_layout = isinstance(target, Term) and target.head == "tile_to_shape" and bool(target.arguments)
        if of_layout or (isinstance(target, Array) and target.typed is not None):  # a slice of it: layout(_, _, 0)
            return target
        if name == "swap" and len(one.arguments) == 2 and target is None:
            left, right = self.place(one.arguments[0], scope), self.place(one.arguments[1], scope)
            if isinstance(left, Cell) and isinstance(right, Cell):
                first, second = left.value, right.value
                self.put(left, second)
                self.put(right, first)
                return None
        kind = self._kind_called(target, one, scope)
        if kind is not None:
            if self.python and kind.record is not None:
                made = self.instance(kind.record, name)
                self._python_made(made, given, named, one)
                return made
            return self.construct(kind, given, one, scope)
        if target is None or isinstance(target, Term):
            made = known(self, name, templates, given, one.span)
            if made is not _MISSING:
                return made
        if (
            isinstance(target, Term)
            and target.arguments
            and isinstance(target.arguments[0], Int | Pointer)
            and self.python
        ):
            made = known(self, name, templates, [target.arguments[0], *given], one.span)
            if made is not _MISSING and name in ("bit_length", "to", "cast"):
                return made
        if target is None and not self.python and isinstance(function, tree.Name) and len(given) == 1:
            own = self.builtin_kind(function.path, scope)
            if own is not None and own.whole is not None:
                return self.converted(given[0], own, one.span)
        return self._unknown(one, name, templates, given, named, target)

    def _launched(self: Any, function: tree.Expression, scope: Any) -> Any:
        """What an expression is that is called; kernel[grid] of Triton is the kernel."""
        if self.python and isinstance(function, tree.Index) and isinstance(function.value, tree.Name):
            found = self.resolve(function.value.path, scope)
            if isinstance(found, Closure):
                return found
        return self.value(function, scope)

    def _kind_called(self: Any, target: Any, one: tree.Call, scope: Any) -> Kind | None:
        from layouts.reader.code.values import Enumeration, Template

        if isinstance(target, Template):
            path = one.function.path if isinstance(one.function, tree.Name | tree.Type) else ()
            made: Kind | None = self.kind(tree.Type(path), scope) if path else self.applied(target, [])
            return made
        if isinstance(target, Enumeration):
            return Kind(target.name, INT, 32) if not self.python else None
        return target if isinstance(target, Kind) else None

    def _python_made(self: Any, made: Object, given: list[Any], named: dict[str, Any], one: tree.Call) -> None:
        """An instance of a Python class: __init__, or a dataclass's fields."""
        record = made.record
        if "__init__" in record.methods:
            self.call(Closure(tuple(record.methods["__init__"]), record.scope, made), given, named, one.span)
            return
        for place, member in enumerate(record.members):
            if place < len(given):
                made.members[member] = Cell(given[place], None, member)
            elif member in named:
                made.members[member] = Cell(named[member], None, member)

    def _method(self: Any, function: tree.Member, scope: Any, named: dict[str, Any]) -> Any:
        whole = self.place(function.value, scope)
        value = whole.value if isinstance(whole, Cell) else whole
        if isinstance(value, Int | str) or (isinstance(value, Array) and not isinstance(value, Term)):
            return Term(f"{self.words(function)}", head=function.name, arguments=(value,))
        found = self.member(whole, function.name, function.span, None)
        if isinstance(found, Closure) and function.templates:
            given = tuple(self.value(t, scope) for t in function.templates)
            return Closure(found.functions, found.scope, found.this, given)
        return found

    def _given(self: Any, one: tree.Call, scope: Any) -> list[Any]:
        out: list[Any] = []
        for argument in one.arguments[:64]:
            if (unpacked := self._unpacked(argument, scope)) is not None:
                out.extend(unpacked)
                continue
            value = self.value(argument, scope)
            if isinstance(value, Int | Object) and not isinstance(argument, tree.Name):
                self.notice(value, self.words(argument), argument.span)
            out.append(value)
        return out

    def _unpacked(self: Any, argument: tree.Expression, scope: Any) -> list[Any] | None:
        """The items of `*name` among Python's arguments."""
        if not (self.python and isinstance(argument, tree.Unary) and argument.op == "*"):
            return None
        value = self.value(argument.value, scope)
        return [cell.value for cell in value.cells] if isinstance(value, Array) else None

    def _passed_places(self: Any, closure: Closure, one: tree.Call, scope: Any) -> list[Any]:
        """Arguments of a function of the text; what a reference parameter is given is passed as a place."""
        function = self.overload(closure, len(one.arguments) + len(one.named))
        given: list[Any] = []
        for n, argument in enumerate(one.arguments[:64]):
            parameter = function.parameters[n] if n < len(function.parameters) else None
            kind = parameter.type if parameter else None
            if (
                kind is not None
                and kind.reference
                and not self.python
                and isinstance(argument, tree.Name | tree.Member | tree.Index | tree.Unary)
            ):
                place = self.place(argument, scope)
                if isinstance(place, Cell) and not isinstance(place.value, Pointer | Array):
                    given.append(Address(place))
                    continue
            if (unpacked := self._unpacked(argument, scope)) is not None:
                given.extend(unpacked)
                continue
            given.append(self.value(argument, scope))
        return given

    def _unknown(
        self: Any,
        one: tree.Call,
        name: str,
        templates: tuple[Any, ...],
        given: list[Any],
        named: dict[str, Any],
        target: Any,
    ) -> Term:
        inner = ", ".join(short(value) for value in given)
        listed = f"<{', '.join(map(short, templates))}>" if templates else ""
        head = "".join(str(one.function)) if isinstance(one.function, tree.Name) else self.words(one.function)
        this = (target.arguments[0],) if isinstance(target, Term) and target.arguments and target.head == name else ()
        term = Term(
            f"{head}{listed}({inner})"[:120], None, name, tuple(given),
            (*named.items(), *((("<>", templates),) if templates else ()), *((("self", this[0]),) if this else ())),
            one.span,
        )  # fmt: skip
        self.kept(term)
        return term

    def operator(self: Any, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
        """A struct's own operator; None where it has none."""
        if not isinstance(left, Object):
            return None
        name = {"+": "__add__", "|": "__or__"}.get(op, "") if self.python else f"operator{op}"
        functions = left.record.methods.get(name) or left.record.methods.get(f"operator {op}")
        if not functions:
            return None
        return self.call(Closure(tuple(functions), left.record.scope, left), [right], {}, at.span)

    def item(self: Any, value: Any, place: int, span: Span) -> Any:
        """An item of a tuple that is taken apart."""
        if isinstance(value, Array) and place < len(value.cells):
            return value.cells[place].value
        if isinstance(value, Term) and value.arguments and value.head in ("make_tuple", "zip"):
            return value.arguments[place] if place < len(value.arguments) else Term("")
        return Term(f"{value}[{place}]", span=span)

    def items_of(self: Any, value: Any, most: int, name: str) -> tuple[list[Any], bool]:
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
                self.endless.add(name)
                return [Int(n, PYTHON) for n in range(min(3, most))], False
            kind = PYTHON if self.python else LONG
            start, end = (Int(0, kind), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
            step = bounds[2] if len(bounds) > 2 else Int(1, kind)
            if step.known is None or not step.known:
                return [start], False
            if start.known is not None and end.known is not None:
                every = range(start.known, end.known, step.known)
                return [Int(n, kind) for n in every[:most]], len(every[most:]) == 0
            self.endless.add(name)
            return [word.add(start, Int(n * step.known, kind)) for n in range(3)], False
        if isinstance(value, Term) and value.head == "enumerate" and value.arguments:
            inner, whole = self.items_of(value.arguments[0], most, name)
            return [self.array((Int(n, PYTHON), v)) for n, v in enumerate(inner)], whole
        return [Term(name or str(value))], False


__all__ = ["Calls", "known", "shared_address", "size_bytes"]
