"""Parse Python into the tree of layouts/reader/code/syntax/tree.py, with tree-sitter's Python grammar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING

from lanescope.cxx.integers import PYTHON
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.cxx_parsing import parse_bounded
from lanescope.reader.code.syntax.nodes import MOST_DEPTH, NodeReader, Readers, require_parser
from lanescope.reader.code.syntax.source import make_plain_source
from lanescope.reader.code.syntax.tree_statements import Block, ExpressionStatement, If, Jump, Loop, RangeLoop, Return

if TYPE_CHECKING:
    import tree_sitter


@cache
def _load_language() -> tree_sitter.Language:
    with require_parser():
        import tree_sitter
        import tree_sitter_python

    return tree_sitter.Language(tree_sitter_python.language())


def parse_python(text: str) -> tuple[tree.Statement, ...]:
    """Parse a text into statements; a common indentation is ignored."""
    ascii_text = re.sub(r"[^\x00-\x7f]", "?", text.replace("\t", " "))
    shift = 0
    first = next((line for line in ascii_text.split("\n") if line.strip()), "")
    if first[:1] == " " and dedent(ascii_text) != ascii_text:
        ascii_text = "if 1:\n" + ascii_text
        shift = 6
    root = parse_bounded(_load_language(), make_plain_source(ascii_text))
    if root is None:
        return ()
    statements = tuple(PythonLowering(ascii_text, shift).lower_statements(root))
    if shift and len(statements) == 1 and isinstance(statements[0], If) and isinstance(statements[0].yes, Block):
        return statements[0].yes.body
    return statements


class PythonLowering(NodeReader):
    """The lowering of one text. shift: number of characters inserted before the text."""

    def __init__(self, text: str, shift: int) -> None:
        super().__init__(text)
        self.shift = shift

    def list_readers(self) -> Readers:
        return _EXPRESSIONS

    def get_span(self, node: tree_sitter.Node) -> Span:
        return max(node.start_byte - self.shift, 0), max(node.end_byte - self.shift, 0)

    # statements ------------------------------------------------------------------------------------------------------

    def lower_statements(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self.lower_statement(child)

    def lower_block(self, node: tree_sitter.Node | None) -> Block:
        return Block(tuple(self.lower_statements(node)) if node else (), scoped=False)

    def lower_statement(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        read = _STATEMENTS.get(node.type)
        if read is None or self.depth > MOST_DEPTH:
            return
        self.depth += 1
        try:
            yield from read(self, node)
        finally:
            self.depth -= 1

    def _lower_lines(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self._lower_simple(child)

    def _lower_body(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        yield from self.lower_statements(node.child_by_field_name("body") or node)

    def _lower_decorated(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        inner = node.child_by_field_name("definition")
        if inner:
            yield from self.lower_statement(inner)

    def _lower_for(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        target = node.child_by_field_name("left")
        targets = target.named_children if target else ()
        names = tuple(self.get_text(c) for c in targets) if targets else (self.get_text(target),)
        body = self.lower_block(node.child_by_field_name("body"))
        yield RangeLoop(names, self._lower_field(node, "right"), body, span=self.get_span(node))

    def _lower_while(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        body = self.lower_block(node.child_by_field_name("body"))
        yield Loop(None, self._lower_field(node, "condition"), None, body, span=self.get_span(node))

    def _lower_return(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        inner = node.named_children
        yield Return(self.lower_expression(inner[0]) if inner else None, span=self.get_span(node))

    def _lower_jump(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        yield Jump(node.type.partition("_")[0], span=self.get_span(node))

    def _lower_simple(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        if node.type == "assignment":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or right is None:
                if left is not None and node.child_by_field_name("type") is not None:
                    yield tree.Declaration(None, self.get_text(left), span=self.get_span(node))
                return
            if left.type in ("pattern_list", "tuple_pattern", "list_pattern"):
                targets = left.named_children
                if all(c.type == "identifier" for c in targets):
                    yield tree.UnpackDeclaration(
                        tuple(self.get_text(c) for c in targets), self.lower_expression(right), span=self.get_span(node)
                    )
                else:
                    items = tree.ItemList(
                        tuple(("", self.lower_expression(c)) for c in targets), span=self.get_span(left)
                    )
                    yield ExpressionStatement(
                        tree.Assignment(items, "", self.lower_expression(right), span=self.get_span(node)),
                        span=self.get_span(node),
                    )
                return
            yield ExpressionStatement(
                tree.Assignment(
                    self.lower_expression(left), "", self.lower_expression(right), span=self.get_span(node)
                ),
                span=self.get_span(node),
            )
        elif node.type == "augmented_assignment":
            op = self.get_text(node.child_by_field_name("operator")).removesuffix("=")
            yield ExpressionStatement(
                tree.Assignment(
                    self._lower_field(node, "left"), op, self._lower_field(node, "right"), span=self.get_span(node)
                ),
                span=self.get_span(node),
            )
        else:
            yield ExpressionStatement(self.lower_expression(node), span=self.get_span(node))

    def _lower_if(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        chain: tree.Statement | None = None
        for child in reversed(node.named_children):
            if child.type == "else_clause":
                chain = self.lower_block(child.child_by_field_name("body"))
            elif child.type == "elif_clause":
                chain = self._lower_branch(child, chain)
        yield self._lower_branch(node, chain)

    def _lower_branch(self, node: tree_sitter.Node, other: tree.Statement | None) -> If:
        """Lower an `if` or `elif`; other: the statement for a false condition."""
        yes = self.lower_block(node.child_by_field_name("consequence"))
        return If(self._lower_field(node, "condition"), yes, other, span=self.get_span(node))

    def _lower_function(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        name = self.get_text(node.child_by_field_name("name"))
        parameters = node.child_by_field_name("parameters")
        yield tree.Function(
            name,
            self._lower_parameters(parameters),
            self.lower_block(node.child_by_field_name("body")),
            python=True,
            span=self.get_span(node),
        )

    def _lower_parameters(self, node: tree_sitter.Node | None) -> tuple[tree.Parameter, ...]:
        parameters = []
        for child in node.named_children if node else ():
            default = child.child_by_field_name("value")
            named = child.child_by_field_name("name") or (
                child if child.type == "identifier" else next(iter(child.named_children), None)
            )
            pack = child.type in ("list_splat_pattern", "dictionary_splat_pattern")
            if named is not None and child.type not in ("keyword_separator", "positional_separator", "comment"):
                parameters.append(
                    tree.Parameter(
                        self.get_text(named),
                        None,
                        self.lower_expression(default) if default else None,
                        pack=pack,
                        span=self.get_span(child),
                    )
                )
        return tuple(parameters)

    def _lower_class(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        name = self.get_text(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        bases = self.get_text(node.child_by_field_name("superclasses"))
        members = list(self.lower_statements(body)) if body else []
        fields: list[tree.Statement] = []
        for member in members:
            if (
                isinstance(member, ExpressionStatement)
                and isinstance(member.value, tree.Assignment)
                and isinstance(member.value.target, tree.Name)
            ):
                fields.append(
                    tree.Declaration(None, member.value.target.last, member.value.value, static=True, span=member.span)
                )
            else:
                fields.append(member)
        if "Enum" in bases or "Flag" in bases:
            enumerators = [(f.name, f.value, f.span) for f in fields if isinstance(f, tree.Declaration)]
            yield tree.Enum(name, tuple(enumerators), span=self.get_span(node))
            return
        yield tree.StructDefinition(
            name,
            tuple(fields),
            bases=tuple(tree.Type(((base, None),)) for base in re.findall(r"\w+", bases)),
            span=self.get_span(node),
        )

    # expressions -----------------------------------------------------------------------------------------------------

    def _lower_integer(self, node: tree_sitter.Node) -> tree.Expression:
        try:
            return tree.NumberLiteral(int(self.get_text(node).rstrip("lL"), 0), PYTHON, span=self.get_span(node))
        except ValueError:
            return tree.OpaqueExpression(self.get_text(node), span=self.get_span(node))

    def _lower_name(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Name(((self.get_text(node), None),), span=self.get_span(node))

    def _lower_parenthesized(self, node: tree_sitter.Node) -> tree.Expression:
        inner = [c for c in node.named_children if c.type != "comment"]
        return self.lower_expression(inner[0]) if inner else tree.OpaqueExpression("", span=self.get_span(node))

    def _lower_binary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.get_text(node.child_by_field_name("operator"))
        op = {"and": "&&", "or": "||"}.get(op, op)
        return tree.Binary(
            op, self._lower_field(node, "left"), self._lower_field(node, "right"), span=self.get_span(node)
        )

    def _lower_comparison(self, node: tree_sitter.Node) -> tree.Expression:
        parts = node.named_children
        ops = [c.type for c in node.children if not c.is_named]
        if len(parts) != 2 or len(ops) != 1 or ops[0] not in _COMPARISONS:
            return tree.OpaqueExpression(" ".join(self.get_text(node).split())[:80], span=self.get_span(node))
        op = {"is": "==", "is not": "!="}.get(ops[0], ops[0])
        return tree.Binary(
            op, self.lower_expression(parts[0]), self.lower_expression(parts[1]), span=self.get_span(node)
        )

    def _lower_unary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.get_text(node.child_by_field_name("operator")) or "!"
        return tree.Unary(op, self._lower_field(node, "argument"), span=self.get_span(node))

    def _lower_choice(self, node: tree_sitter.Node) -> tree.Expression:
        parts = [c for c in node.named_children if c.type != "comment"]
        if len(parts) != 3:
            return tree.OpaqueExpression(self.get_text(node)[:80], span=self.get_span(node))
        yes, condition, no = (self.lower_expression(c) for c in parts)
        return tree.ConditionalExpression(condition, yes, no, span=self.get_span(node))

    def _lower_call(self, node: tree_sitter.Node) -> tree.Expression:
        argument_list = node.child_by_field_name("arguments")
        expressions: list[tree.Expression] = []
        named: list[tuple[str, tree.Expression]] = []
        for child in argument_list.named_children if argument_list else ():
            if child.type == "keyword_argument":
                named.append((self.get_text(child.child_by_field_name("name")), self._lower_field(child, "value")))
            elif child.type == "list_splat":
                expressions.append(tree.Unary("*", self._lower_parenthesized(child), span=self.get_span(child)))
            elif child.type != "comment":
                expressions.append(self.lower_expression(child))
        return tree.Call(
            self._lower_field(node, "function"), tuple(expressions), tuple(named), span=self.get_span(node)
        )

    def _lower_member(self, node: tree_sitter.Node) -> tree.Expression:
        name = self.get_text(node.child_by_field_name("attribute"))
        return tree.Member(self._lower_field(node, "object"), name, span=self.get_span(node))

    def _lower_index(self, node: tree_sitter.Node) -> tree.Expression:
        indices = [c for n, c in enumerate(node.children) if node.field_name_for_child(n) == "subscript"]
        return tree.Index(
            self._lower_field(node, "value"), tuple(self.lower_expression(c) for c in indices), span=self.get_span(node)
        )

    def _lower_items(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.ItemList(
            tuple(("", self.lower_expression(c)) for c in node.named_children if c.type != "comment"),
            span=self.get_span(node),
        )

    def _lower_dict(self, node: tree_sitter.Node) -> tree.Expression:
        pairs = [c for c in node.named_children if c.type == "pair"]
        return tree.DictLiteral(
            tuple((self._lower_field(c, "key"), self._lower_field(c, "value")) for c in pairs), span=self.get_span(node)
        )

    def _lower_string(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.StringLiteral(self.get_text(node).lstrip("rbfuRBFU").strip("\"'"), span=self.get_span(node))

    def _lower_boolean(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.NumberLiteral(int(node.type == "true"), PYTHON, span=self.get_span(node))

    def _lower_lambda(self, node: tree_sitter.Node) -> tree.Expression:
        body = self._lower_field(node, "body")
        parameters = self._lower_parameters(node.child_by_field_name("parameters"))
        block = Block((Return(body, span=body.span),), scoped=False)
        return tree.Lambda(
            tree.Function("", parameters, block, python=True, span=self.get_span(node)), span=self.get_span(node)
        )

    def _lower_inner_assignment(self, node: tree_sitter.Node) -> tree.Expression:
        """Lower the inner assignment of `a = b = 1`, and `(a := 1)`."""
        name = "name" if node.type == "named_expression" else "left"
        value = "value" if node.type == "named_expression" else "right"
        return tree.Assignment(
            self._lower_field(node, name), "", self._lower_field(node, value), span=self.get_span(node)
        )


_STATEMENTS: dict[str, Callable[[PythonLowering, tree_sitter.Node], Iterator[tree.Statement]]] = {
    "expression_statement": PythonLowering._lower_lines,
    **dict.fromkeys("module block ERROR with_statement try_statement".split(), PythonLowering._lower_body),
    "decorated_definition": PythonLowering._lower_decorated,
    "function_definition": PythonLowering._lower_function,
    "class_definition": PythonLowering._lower_class,
    "if_statement": PythonLowering._lower_if,
    "for_statement": PythonLowering._lower_for,
    "while_statement": PythonLowering._lower_while,
    "return_statement": PythonLowering._lower_return,
    **dict.fromkeys("break_statement continue_statement".split(), PythonLowering._lower_jump),
}
_COMPARISONS = ("<", ">", "<=", ">=", "==", "!=", "is", "is not")
_EXPRESSIONS: dict[str, Callable[[PythonLowering, tree_sitter.Node], tree.Expression]] = {
    "integer": PythonLowering._lower_integer,
    "identifier": PythonLowering._lower_name,
    "parenthesized_expression": PythonLowering._lower_parenthesized,
    "binary_operator": PythonLowering._lower_binary,
    "boolean_operator": PythonLowering._lower_binary,
    "comparison_operator": PythonLowering._lower_comparison,
    "unary_operator": PythonLowering._lower_unary,
    "not_operator": PythonLowering._lower_unary,
    "conditional_expression": PythonLowering._lower_choice,
    "call": PythonLowering._lower_call,
    "attribute": PythonLowering._lower_member,
    "subscript": PythonLowering._lower_index,
    **dict.fromkeys("list tuple expression_list set".split(), PythonLowering._lower_items),
    "dictionary": PythonLowering._lower_dict,
    **dict.fromkeys("string concatenated_string".split(), PythonLowering._lower_string),
    **dict.fromkeys("true false".split(), PythonLowering._lower_boolean),
    "lambda": PythonLowering._lower_lambda,
    **dict.fromkeys("assignment named_expression".split(), PythonLowering._lower_inner_assignment),
}
