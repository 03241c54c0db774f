"""Faults of a Python source: one small change each, as text, so that the rest of the file stays as it is written."""

from __future__ import annotations

import ast
import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass

ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Add, ast.FloorDiv), ast.FloorDiv: (ast.Mult, ast.Mod),
    ast.Div: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,), ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,), ast.BitXor: (ast.BitOr,),
}  # fmt: skip
COMPARISON: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
# Calls that a type checker reads, or that only save time.
NAMES = {"cast", "TypeVar", "NewType", "lru_cache", "dataclass_transform"}
ASSURING = {"strict"}  # keywords that make sure of what holds anyway
SYMMETRIC = {"max", "min", "gcd", "lcm", "maximum", "minimum"}  # their arguments have no order


@dataclass(frozen=True)
class Mutant:
    """Bytes start:stop of the file become `new`. `old` is what stood there, `text` the line's own text, by which an
    equivalent mutant is known; `first` to `last` are the lines of the statement, or of its head; `local` says that it
    stands in a function.
    """

    file: str
    line: int
    first: int
    last: int
    operator: str
    start: int
    stop: int
    old: str
    new: str
    text: str
    local: bool = True

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.stop :]

    @property
    def change(self) -> str:
        return f"{flat(self.old)} → {flat(self.new)}"

    @property
    def known_by(self) -> tuple[str, str, str]:
        """What it is known by when its line has moved."""
        return self.file, self.text, self.change


def flat(text: str) -> str:
    return " ".join(text.split())


def spoiled(text: str) -> str:
    """The text with two letters too many in its middle: a test that quotes only its beginning or its end does not
    notice.
    """
    middle = len(text) // 2
    return f"{text[:middle]}XX{text[middle:]}"


class Mutations:
    """Every mutant of one file, in the order of its text."""

    def __init__(self, file: str, source: str) -> None:
        self.file, self.source = file, source.encode()
        self.rows = source.splitlines()
        self.starts = [0]
        for row in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(row.encode()))
        self.tree = ast.parse(source)
        self.head, self.depth = (1, 1), 0

    def __iter__(self) -> Iterator[Mutant]:
        yield from self.within(self.tree, None)

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def mutant(self, node: ast.AST, operator: str, new: str) -> Iterator[Mutant]:
        start, stop = self.span(node)
        old = self.source[start:stop].decode()
        line = node.lineno  # type: ignore[attr-defined]
        if flat(old) != flat(new):
            yield Mutant(
                self.file,
                line,
                min(line, self.head[0]),
                max(line, self.head[1]),
                operator,
                start,
                stop,
                old,
                new,
                self.rows[line - 1].strip(),
                self.depth > 0,
            )

    def within(self, node: ast.AST, joined: ast.JoinedStr | None) -> Iterator[Mutant]:
        """The mutants of a node and below. Inside an f-string the whole string is written anew: positions within it are
        not the file's.
        """
        if unread(node):
            return
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            held, self.head = self.head, head(node)
            yield from self.of_node(node, joined)
            self.head = held
        else:
            yield from self.of_node(node, joined)

    def of_node(self, node: ast.AST, joined: ast.JoinedStr | None) -> Iterator[Mutant]:
        for operator, changed in changes(node):
            if isinstance(changed, str):
                yield from self.mutant(node, operator, changed)
            elif joined is None:
                text = ast.unparse(changed)
                yield from self.mutant(
                    node,
                    operator,
                    text if isinstance(changed, (ast.Constant, ast.JoinedStr, ast.stmt)) else f"({text})",
                )
            else:
                with contextlib.suppress(ValueError):  # what Python 3.11 cannot write between the quotes
                    yield from self.mutant(joined, operator, ast.unparse(replacing(joined, node, changed)))
        if joined is None and (test := condition(node)) is not None:
            start, stop = self.span(test)
            yield from self.mutant(test, "condition negated", f"(not ({self.source[start:stop].decode()}))")
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_params"):
                continue
            local = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and name == "body"
            self.depth += local
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST) or is_docstring(node, child):
                    continue
                yield from self.within(child, joined or (node if isinstance(node, ast.JoinedStr) else None))
            self.depth -= local


def head(node: ast.AST) -> tuple[int, int]:
    """First and last line of a statement, or of what stands before its body."""
    inside = node.pattern if isinstance(node, ast.match_case) else node
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    first = inside.lineno  # type: ignore[attr-defined]
    if not body:
        return first, inside.end_lineno  # type: ignore[attr-defined]
    below = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
    return first, max(first, below - 1)


def unread(node: ast.AST) -> bool:
    """Whether no run of the program depends on it."""
    match node:
        case (
            ast.Import()
            | ast.ImportFrom()
            | ast.If(test=ast.Name(id="TYPE_CHECKING"))
            | ast.Assign(targets=[ast.Name(id="__all__")])
        ):
            return True
        case ast.keyword(arg=name, value=ast.Constant(value=True)):
            return name in ASSURING
        case ast.Call(func=ast.Name(id=name)):
            return name in NAMES
    return False


def symmetric(call: ast.Call) -> bool:
    """Whether it answers alike whatever order its arguments have."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return name in SYMMETRIC and not call.keywords


def is_docstring(parent: ast.AST, child: ast.AST) -> bool:
    return isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) and isinstance(child.value.value, str)


def replacing(root: ast.AST, old: ast.AST, new: ast.AST) -> ast.AST:
    """A copy of the tree with one node exchanged."""
    *way, (name, index) = trail(root, old)
    out = copy.deepcopy(root)
    here: ast.AST = out
    for step, place in way:
        value = getattr(here, step)
        here = value if place is None else value[place]
    if index is None:
        setattr(here, name, new)
    else:
        getattr(here, name)[index] = new
    return out


def trail(root: ast.AST, wanted: ast.AST) -> Iterator[tuple[str, int | None]]:
    """The fields that lead from the root to a node below it."""
    for name, value in ast.iter_fields(root):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if child is wanted:
                yield name, index
                return
            if isinstance(child, ast.AST):
                below = list(trail(child, wanted))
                if below:
                    yield name, index
                    yield from below
                    return


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST | str]]:
    """What may be made of one node: the operator's name, and the changed node or its text."""

    def changed(**fields: object) -> ast.AST:
        other = copy.copy(node)
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    match node:
        case ast.BinOp(op=op) if not (
            isinstance(op, ast.Mod) and isinstance(node.left, (ast.Constant, ast.JoinedStr)) and not number(node.left)
        ):
            yield from (("arithmetic", changed(op=other())) for other in ARITHMETIC.get(type(op), ()))
        case ast.AugAssign(op=op):
            yield from (("arithmetic", changed(op=other())) for other in ARITHMETIC.get(type(op), ()))
            yield "statement removed", "pass"
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                for other in COMPARISON.get(type(op), ()):
                    yield "comparison", changed(ops=[*ops[:place], other(), *ops[place + 1 :]])
        case ast.BoolOp(op=op, values=values):
            yield "boolean", changed(op=ast.Or() if isinstance(op, ast.And) else ast.And())
            if len(values) > 2:
                yield from (
                    ("operand removed", changed(values=[*values[:i], *values[i + 1 :]])) for i in range(len(values))
                )
            else:
                yield from (("operand removed", values[i]) for i in range(2))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "condition negated", operand
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "sign removed", operand
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            yield "inversion removed", operand
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        case ast.Constant(value=float() as value):
            yield "constant", ast.Constant(value * 2 or 1.0)
        case ast.Constant(value=str() as value):
            yield "string", ast.Constant(spoiled(value))
        case ast.Return(value=value) if value is not None and not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield "return", "return None"
        case ast.Raise(exc=ast.Name(id="AssertionError")):
            return  # no input comes there
        case ast.Raise() | ast.Delete():
            yield "statement removed", "pass"
        case ast.Expr(value=value) if not isinstance(value, (ast.Yield, ast.YieldFrom, ast.Constant)):
            yield "statement removed", "pass"
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield "statement removed", "pass"
        case ast.Assign(targets=[target, *_]) if not isinstance(target, (ast.Name, ast.Tuple)):
            yield "statement removed", "pass"
        case ast.Continue():
            yield "loop", "break"
        case ast.Break():
            yield "loop", "continue"
        case ast.Call(args=args, keywords=keywords):
            for i in range(0 if symmetric(node) else len(args) - 1):
                one, two = args[i], args[i + 1]
                if (
                    ast.dump(one) != ast.dump(two)
                    and not isinstance(one, ast.Starred)
                    and not isinstance(two, ast.Starred)
                ):
                    yield "arguments swapped", changed(args=[*args[:i], two, one, *args[i + 2 :]])
            for i in range(len(keywords) - 1):
                first, second = keywords[i], keywords[i + 1]
                if first.arg and second.arg and ast.dump(first.value) != ast.dump(second.value):
                    swapped = [ast.keyword(first.arg, second.value), ast.keyword(second.arg, first.value)]
                    yield "arguments swapped", changed(keywords=[*keywords[:i], *swapped, *keywords[i + 2 :]])


def condition(node: ast.AST) -> ast.AST | None:
    """What decides a branch, a loop or a choice."""
    test = node.test if isinstance(node, (ast.If, ast.IfExp, ast.While)) else None
    return (
        None
        if isinstance(test, ast.Constant) or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))
        else test
    )


def number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
