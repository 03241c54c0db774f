"""Python → the tree of layouts/reader/code/tree.py, by tree-sitter's Python grammar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING

from lanescope.cxx.integers import PYTHON
from lanescope.reader.code import tree
from lanescope.reader.code.cxx_parsing import parse_bounded
from lanescope.reader.code.nodes import MOST_DEPTH, Nodes, Readers, parser_installed
from lanescope.reader.code.source import plain
from lanescope.reader.code.word import Span

if TYPE_CHECKING:
    import tree_sitter


@cache
def _language() -> tree_sitter.Language:
    with parser_installed():
        import tree_sitter
        import tree_sitter_python

    return tree_sitter.Language(tree_sitter_python.language())


def read(text: str) -> tuple[tree.Statement, ...]:
    """The statements of a text; one that is indented as a whole is read as if it were not."""
    ascii_text = re.sub(r"[^\x00-\x7f]", "?", text.replace("\t", " "))
    shift = 0
    first = next((line for line in ascii_text.split("\n") if line.strip()), "")
    if first[:1] == " " and dedent(ascii_text) != ascii_text:
        ascii_text = "if 1:\n" + ascii_text
        shift = 6
    root = parse_bounded(_language(), plain(ascii_text))
    if root is None:
        return ()
    made = tuple(Lowering(ascii_text, shift).statements(root))
    if shift and len(made) == 1 and isinstance(made[0], tree.If) and isinstance(made[0].yes, tree.Block):
        return made[0].yes.body
    return made


class Lowering(Nodes):
    """One text's nodes → the tree. shift: characters put before the text."""

    def __init__(self, text: str, shift: int) -> None:
        super().__init__(text)
        self.shift = shift

    def readers(self) -> Readers:
        return _EXPRESSIONS

    def span(self, node: tree_sitter.Node) -> Span:
        return max(node.start_byte - self.shift, 0), max(node.end_byte - self.shift, 0)

    # statements ------------------------------------------------------------------------------------------------------

    def statements(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self.statement(child)

    def block(self, node: tree_sitter.Node | None) -> tree.Block:
        return tree.Block(tuple(self.statements(node)) if node else (), scoped=False)

    def statement(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        read = _STATEMENTS.get(node.type)
        if read is None or self.depth > MOST_DEPTH:
            return
        self.depth += 1
        try:
            yield from read(self, node)
        finally:
            self.depth -= 1

    def _lines(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self._simple(child)

    def _body(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        yield from self.statements(node.child_by_field_name("body") or node)

    def _decorated(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        inner = node.child_by_field_name("definition")
        if inner:
            yield from self.statement(inner)

    def _for(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        target = node.child_by_field_name("left")
        several = target.named_children if target else ()
        names = tuple(self.text(c) for c in several) if several else (self.text(target),)
        body = self.block(node.child_by_field_name("body"))
        yield tree.Each(names, self._field(node, "right"), body, span=self.span(node))

    def _while(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        body = self.block(node.child_by_field_name("body"))
        yield tree.Loop(None, self._field(node, "condition"), None, body, span=self.span(node))

    def _return(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        inner = node.named_children
        yield tree.Return(self.expression(inner[0]) if inner else None, span=self.span(node))

    def _jump(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        yield tree.Jump(node.type.partition("_")[0], span=self.span(node))

    def _simple(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        if node.type == "assignment":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or right is None:
                if left is not None and node.child_by_field_name("type") is not None:
                    yield tree.Declare(None, self.text(left), span=self.span(node))
                return
            if left.type in ("pattern_list", "tuple_pattern", "list_pattern"):
                targets = left.named_children
                if all(c.type == "identifier" for c in targets):
                    yield tree.Unpack(
                        tuple(self.text(c) for c in targets), self.expression(right), span=self.span(node)
                    )
                else:
                    items = tree.Items(tuple(("", self.expression(c)) for c in targets), span=self.span(left))
                    yield tree.Do(
                        tree.Assign(items, "", self.expression(right), span=self.span(node)), span=self.span(node)
                    )
                return
            yield tree.Do(
                tree.Assign(self.expression(left), "", self.expression(right), span=self.span(node)),
                span=self.span(node),
            )
        elif node.type == "augmented_assignment":
            op = self.text(node.child_by_field_name("operator")).removesuffix("=")
            yield tree.Do(
                tree.Assign(self._field(node, "left"), op, self._field(node, "right"), span=self.span(node)),
                span=self.span(node),
            )
        else:
            yield tree.Do(self.expression(node), span=self.span(node))

    def _if(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        chain: tree.Statement | None = None
        for child in reversed(node.named_children):
            if child.type == "else_clause":
                chain = self.block(child.child_by_field_name("body"))
            elif child.type == "elif_clause":
                chain = self._branch(child, chain)
        yield self._branch(node, chain)

    def _branch(self, node: tree_sitter.Node, other: tree.Statement | None) -> tree.If:
        """An `if` or `elif`, with what follows where it does not hold."""
        yes = self.block(node.child_by_field_name("consequence"))
        return tree.If(self._field(node, "condition"), yes, other, span=self.span(node))

    def _function(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        name = self.text(node.child_by_field_name("name"))
        listed = node.child_by_field_name("parameters")
        yield tree.Function(
            name,
            self._parameters(listed),
            self.block(node.child_by_field_name("body")),
            python=True,
            span=self.span(node),
        )

    def _parameters(self, node: tree_sitter.Node | None) -> tuple[tree.Parameter, ...]:
        out = []
        for child in node.named_children if node else ():
            default = child.child_by_field_name("value")
            named = child.child_by_field_name("name") or (
                child if child.type == "identifier" else next(iter(child.named_children), None)
            )
            pack = child.type in ("list_splat_pattern", "dictionary_splat_pattern")
            if named is not None and child.type not in ("keyword_separator", "positional_separator", "comment"):
                out.append(
                    tree.Parameter(
                        self.text(named),
                        None,
                        self.expression(default) if default else None,
                        pack=pack,
                        span=self.span(child),
                    )
                )
        return tuple(out)

    def _class(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        name = self.text(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        bases = self.text(node.child_by_field_name("superclasses"))
        members = list(self.statements(body)) if body else []
        fields: list[tree.Statement] = []
        for one in members:
            if (
                isinstance(one, tree.Do)
                and isinstance(one.value, tree.Assign)
                and isinstance(one.value.target, tree.Name)
            ):
                fields.append(tree.Declare(None, one.value.target.last, one.value.value, static=True, span=one.span))
            else:
                fields.append(one)
        if "Enum" in bases or "Flag" in bases:
            listed = [(f.name, f.value, f.span) for f in fields if isinstance(f, tree.Declare)]
            yield tree.Enum(name, tuple(listed), span=self.span(node))
            return
        yield tree.Struct(name, tuple(fields), bases=tuple(re.findall(r"\w+", bases)), span=self.span(node))

    # expressions -----------------------------------------------------------------------------------------------------

    def _integer(self, node: tree_sitter.Node) -> tree.Expression:
        try:
            return tree.Num(int(self.text(node).rstrip("lL"), 0), PYTHON, span=self.span(node))
        except ValueError:
            return tree.Other(self.text(node), span=self.span(node))

    def _name(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Name(((self.text(node), None),), span=self.span(node))

    def _inside(self, node: tree_sitter.Node) -> tree.Expression:
        inner = [c for c in node.named_children if c.type != "comment"]
        return self.expression(inner[0]) if inner else tree.Other("", span=self.span(node))

    def _binary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.text(node.child_by_field_name("operator"))
        op = {"and": "&&", "or": "||"}.get(op, op)
        return tree.Binary(op, self._field(node, "left"), self._field(node, "right"), span=self.span(node))

    def _compared(self, node: tree_sitter.Node) -> tree.Expression:
        parts = node.named_children
        ops = [c.type for c in node.children if not c.is_named]
        if len(parts) != 2 or len(ops) != 1 or ops[0] not in _COMPARISONS:
            return tree.Other(" ".join(self.text(node).split())[:80], span=self.span(node))
        op = {"is": "==", "is not": "!="}.get(ops[0], ops[0])
        return tree.Binary(op, self.expression(parts[0]), self.expression(parts[1]), span=self.span(node))

    def _unary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.text(node.child_by_field_name("operator")) or "!"
        return tree.Unary(op, self._field(node, "argument"), span=self.span(node))

    def _choice(self, node: tree_sitter.Node) -> tree.Expression:
        parts = [c for c in node.named_children if c.type != "comment"]
        if len(parts) != 3:
            return tree.Other(self.text(node)[:80], span=self.span(node))
        yes, condition, no = (self.expression(c) for c in parts)
        return tree.Choice(condition, yes, no, span=self.span(node))

    def _call(self, node: tree_sitter.Node) -> tree.Expression:
        listed = node.child_by_field_name("arguments")
        given: list[tree.Expression] = []
        named: list[tuple[str, tree.Expression]] = []
        for child in listed.named_children if listed else ():
            if child.type == "keyword_argument":
                named.append((self.text(child.child_by_field_name("name")), self._field(child, "value")))
            elif child.type == "list_splat":
                given.append(tree.Unary("*", self._inside(child), span=self.span(child)))
            elif child.type != "comment":
                given.append(self.expression(child))
        return tree.Call(self._field(node, "function"), tuple(given), tuple(named), span=self.span(node))

    def _member(self, node: tree_sitter.Node) -> tree.Expression:
        name = self.text(node.child_by_field_name("attribute"))
        return tree.Member(self._field(node, "object"), name, span=self.span(node))

    def _index(self, node: tree_sitter.Node) -> tree.Expression:
        indices = [c for n, c in enumerate(node.children) if node.field_name_for_child(n) == "subscript"]
        return tree.Index(self._field(node, "value"), tuple(self.expression(c) for c in indices), span=self.span(node))

    def _items(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Items(
            tuple(("", self.expression(c)) for c in node.named_children if c.type != "comment"), span=self.span(node)
        )

    def _table(self, node: tree_sitter.Node) -> tree.Expression:
        pairs = [c for c in node.named_children if c.type == "pair"]
        return tree.Table(tuple((self._field(c, "key"), self._field(c, "value")) for c in pairs), span=self.span(node))

    def _string(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Text(self.text(node).lstrip("rbfuRBFU").strip("\"'"), span=self.span(node))

    def _truth(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Num(int(node.type == "true"), PYTHON, span=self.span(node))

    def _lambda(self, node: tree_sitter.Node) -> tree.Expression:
        body = self._field(node, "body")
        parameters = self._parameters(node.child_by_field_name("parameters"))
        block = tree.Block((tree.Return(body, span=body.span),), scoped=False)
        return tree.Lambda(
            tree.Function("", parameters, block, python=True, span=self.span(node)), span=self.span(node)
        )

    def _assigned(self, node: tree_sitter.Node) -> tree.Expression:
        """The inner one of `a = b = 1`, and `(a := 1)`."""
        name = "name" if node.type == "named_expression" else "left"
        value = "value" if node.type == "named_expression" else "right"
        return tree.Assign(self._field(node, name), "", self._field(node, value), span=self.span(node))


_STATEMENTS: dict[str, Callable[[Lowering, tree_sitter.Node], Iterator[tree.Statement]]] = {
    "expression_statement": Lowering._lines,
    **dict.fromkeys("module block ERROR with_statement try_statement".split(), Lowering._body),
    "decorated_definition": Lowering._decorated,
    "function_definition": Lowering._function,
    "class_definition": Lowering._class,
    "if_statement": Lowering._if,
    "for_statement": Lowering._for,
    "while_statement": Lowering._while,
    "return_statement": Lowering._return,
    **dict.fromkeys("break_statement continue_statement".split(), Lowering._jump),
}
_COMPARISONS = ("<", ">", "<=", ">=", "==", "!=", "is", "is not")
_EXPRESSIONS: dict[str, Callable[[Lowering, tree_sitter.Node], tree.Expression]] = {
    "integer": Lowering._integer,
    "identifier": Lowering._name,
    "parenthesized_expression": Lowering._inside,
    "binary_operator": Lowering._binary,
    "boolean_operator": Lowering._binary,
    "comparison_operator": Lowering._compared,
    "unary_operator": Lowering._unary,
    "not_operator": Lowering._unary,
    "conditional_expression": Lowering._choice,
    "call": Lowering._call,
    "attribute": Lowering._member,
    "subscript": Lowering._index,
    **dict.fromkeys("list tuple expression_list set".split(), Lowering._items),
    "dictionary": Lowering._table,
    **dict.fromkeys("string concatenated_string".split(), Lowering._string),
    **dict.fromkeys("true false".split(), Lowering._truth),
    "lambda": Lowering._lambda,
    **dict.fromkeys("assignment named_expression".split(), Lowering._assigned),
}
