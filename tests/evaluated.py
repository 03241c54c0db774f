"""What layouts/reader/code makes of a text, as lines that say all of it: calls without a body with what they are given,
values that look like descriptors, assembly, pitfalls; and the tree that the text was read into.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from typing import Any

from layouts.reader.code import cxx, python, tree
from layouts.reader.code.evaluate import Evaluation, _without_printed, is_python
from layouts.reader.code.operators import Deref
from layouts.reader.code.preprocess import prepare
from layouts.reader.code.values import (
    Address,
    Array,
    Cell,
    Closure,
    Enumeration,
    Kind,
    Object,
    Part,
    Pointer,
    Record,
    Template,
    Term,
)
from layouts.reader.code.word import Int, Span

DEEPEST = 4


def told(made: Evaluation) -> list[str]:
    """The lines of an evaluation."""
    text = made.text

    def at(span: Span) -> str:
        words = " ".join(text[span[0] : span[1]].split())
        return f"{span[0]}-{span[1]} {words if len(words) < 40 else words[:39] + '…'}"

    def within(loops: Any, calls: Any) -> str:
        turns = ", ".join(f"{name} = {shown(value, at)}" for name, value in loops)
        return (f" for {turns}" if turns else "") + "".join(
            f" in {one[0]} [{at(one[1])}]" if isinstance(one[0], str) else f" in [{at(one)}]" for one in calls
        )

    out = [f"{one.order}. {shown(one.term, at)}{within(one.loops, one.calls)}" for one in made.made]
    for one in made.found:
        kind = f" of {one.kind}" if one.kind else ""
        cell = " kept" if one.cell else ""
        out.append(f"found {one.name}{kind}{cell} [{at(one.span)}] = {shown(one.value, at)}"
                   f"{within(one.loops, one.calls)}")  # fmt: skip
    for asm in made.assembled:
        given = [f"{kind} {'?' if v is None else shown(v, at)} [{at(s)}]" for kind, v, s in asm.given]
        around = [[at(s) for s in spans] for spans in asm.around]
        out.append(
            f"{asm.order}. {asm.text} {asm.names} {given} {around} [{at(asm.span)}]{within(asm.loops, asm.calls)}"
        )
    out += [f"{one.code}: {one.message} [{at(one.span)}]" for one in made.warnings]
    for name in ("unfinished", "endless", "recast", "taken", "widened"):
        if getattr(made, name):
            out.append(f"{name}: {sorted(getattr(made, name))}")
    return [*out, *(["Python"] if made.python else [])]


def shown(value: Any, at: Any, deep: int = 0) -> str:
    """A value with its type, and where it came from."""
    if deep > DEEPEST:
        return "…"

    def each(values: Any) -> str:
        return ", ".join(shown(one, at, deep + 1) for one in values)

    match value:
        case Int():
            return whole(value, at)
        case Kind():
            size = f" {value.bits}" if value.bits is not None else ""
            own = f" as {value.whole.name}" if value.whole else ""
            fields = f" {{{record(value.record)}}}" if value.record and deep < 2 else ""
            dims = f"[{each(value.dims)}]" if value.dims else ""
            given = f"<{each(value.arguments)}>" if value.arguments else ""
            return f"type {value.name}{given}{'*' * value.pointers}{'&' * value.reference}{dims}{own}{size}{fields}"
        case Pointer():
            element = f" to {shown(value.element, at, deep + 1)}" if value.element else ""
            dims = f" [{each(value.dims)}]" if value.dims else ""
            array = f" in {shown(value.array, at, deep + 1)}" if value.array else ""
            return f"*({value.base}){element}{dims}{' shared' * value.shared}{array}"
        case Address():
            return f"&({shown(value.place, at, deep + 1)})"
        case Deref():
            return f"of {shown(value.pointer, at, deep + 1)}"
        case Cell():
            kind = f": {value.kind}" if value.kind else ""
            return f"{value.name}{kind} = {shown(value.value, at, deep + 1)}"
        case Part():
            return f"{value.of}[{value.field.low}+{value.field.width}]"
        case Array():
            cells = ", ".join(
                (f"{c.name}{f': {c.kind}' if c.kind else ''} = " if c.name or c.kind else "")
                + shown(c.value, at, deep + 1)
                for c in value.cells
            )
            element = f" of {value.element}" if value.element else ""
            typed = f" as {value.typed}" if value.typed else ""
            return f"{value.name}{{{cells}}}{element}{typed}"
        case Object():
            members = ", ".join(f".{name}: {shown(c, at, deep + 1)}" for name, c in value.members.items())
            return f"{value.record.name} {shown(value.store, at, deep + 1)} {members}"
        case Closure():
            this = f" of {shown(value.this, at, deep + 2)}" if value.this is not None else ""
            return f"function {value}{this} ×{len(value.functions)}"
        case Template():
            return f"template {value.decl.name}"
        case Enumeration():
            return f"enum {value.name}"
        case Term():
            kind = f": {shown(value.kind, at, deep + 1)}" if value.kind else ""
            if not value.head:
                return f"`{value.text}`{kind}"
            listed = [shown(one, at, deep + 1) for one in value.arguments]
            listed += [f"{name}={shown(one, at, deep + 1)}" for name, one in value.named]
            return f"`{value.text}`{kind} {value.head}({', '.join(listed)})"
        case dict():
            return f"{{{', '.join(f'{key!r}: {shown(one, at, deep + 1)}' for key, one in value.items())}}}"
        case tuple() | list():
            return f"({each(value)})"
    return repr(value)


def whole(value: Int, at: Any) -> str:
    kind = f"{value.type.name}{value.type.bits}{'s' if value.type.signed else 'u'}"
    number = str(value.const) if abs(value.const) < 1 << 20 else hex(value.const)
    if value.plain is not None and value.pieces:
        number = f"{value.plain} <{value.pieces[0].width}>"
    elif value.pieces:
        number += "".join(f" | {p.source} >> {p.shift} at {p.low}+{p.width}" for p in value.pieces)
    marks = "".join(f" {m.bit}@[{at(m.span)}{''.join(f', {at(s)}' for s in m.origin)}]" for m in value.marks)
    low = f" low {value.low}" if value.low else ""
    origin = f" from [{'; '.join(map(at, value.origin))}]" if value.origin else ""
    return f"{number} {kind}{low}{marks}{origin}"


def record(one: Record) -> str:
    fields = [f"{name} {f.low}+{f.width}{f'×{f.count}' if f.count else ''}" for name, f in (one.fields or {}).items()]
    return ", ".join([*fields, *(f"{name}()" for name in one.methods), *(n for n in one.members if not one.fields)])


def read(text: str) -> tuple[tree.Statement, ...]:
    """The tree of a text, as an evaluation reads it."""
    written = _without_printed(text)
    return python.read(written) if is_python(text) else cxx.read(prepare(written))


def checksum(text: str) -> str:
    """Of the tree that a text is read into, its places included."""
    return hashlib.sha256("".join(parts(read(text))).encode()).hexdigest()[:12]


def parts(node: Any) -> Iterator[str]:
    if isinstance(node, tree.Deferred):
        yield from parts(node.make())
    elif dataclasses.is_dataclass(node):
        yield f"{type(node).__name__}("
        for one in dataclasses.fields(node):
            yield from parts(getattr(node, one.name))
        yield ")"
    elif isinstance(node, tuple):
        for one in node:
            yield from parts(one)
            yield ","
    else:
        yield repr(node)
