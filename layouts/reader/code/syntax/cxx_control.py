"""Lower tree-sitter nodes of C++ control flow: branches, loops, switches, jumps and exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lanescope.cxx.integers import BOOL
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.cxx_declarations import DeclarationLowering
from lanescope.reader.code.syntax.cxx_functions import Heads
from lanescope.reader.code.syntax.tree_statements import (
    Block,
    If,
    Jump,
    LabelStatement,
    Loop,
    RangeLoop,
    Return,
    Switch,
    Throw,
    Try,
    UnreadText,
)

if TYPE_CHECKING:
    import tree_sitter


class ControlLowering(DeclarationLowering):
    """The lowering of blocks and of the statements that decide what runs next."""

    def _lower_block(self, node: tree_sitter.Node) -> tree.Statement:
        return Block(tuple(self.lower_statements(node)), span=self.get_span(node))

    def _lower_function_try(self, node: tree_sitter.Node) -> tree.Statement:
        """Lower a function try block; for a constructor, where it also guards members, to text that may throw."""
        if any(c.type == "field_initializer_list" for c in node.named_children):
            text = self.get_text(node)
            throws = If(tree.OpaqueExpression("?"), Throw(tree.OpaqueExpression("?")), None)
            return Block((UnreadText(text, span=self.get_span(node)), throws), span=self.get_span(node))
        return Block(tuple(self._lower_try(node, ())), span=self.get_span(node))

    def _lower_single(self, node: tree_sitter.Node | None) -> tree.Statement | None:
        if node is None:
            return None
        if node.type == "else_clause":
            inner = [child for child in node.named_children if child.type != "comment"]
            return self._lower_single(inner[-1]) if inner else None
        if node.type == "compound_statement":
            return self._lower_block(node)
        return Block(tuple(self.lower_statement(node)), scoped=False, span=self.get_span(node))

    def _lower_condition(self, node: tree_sitter.Node | None) -> tree.Expression:
        if node is None:
            return tree.NumberLiteral(1, BOOL)
        value = (node.child_by_field_name("value") if node.type == "condition_clause" else node) or node
        if value.type == "declaration":
            declaration = next(
                (statement for statement in self.lower_statement(value) if isinstance(statement, tree.Declaration)),
                None,
            )
            return (
                tree.ConditionDeclaration(declaration, span=self.get_span(value))
                if declaration
                else tree.OpaqueExpression(self.get_text(value))
            )
        return self.lower_expression(value)

    def _lower_condition_start(self, node: tree_sitter.Node | None) -> tree.Statement | None:
        """Lower the init-statement of a condition, `if (int x = 1; …)`."""
        start = node.child_by_field_name("initializer") if node is not None else None
        return Block(tuple(self.lower_statements(start)), scoped=False) if start is not None else None

    def _lower_if(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        yes = self._lower_single(node.child_by_field_name("consequence")) or Block(())
        clause = node.child_by_field_name("condition")
        other = self._lower_single(node.child_by_field_name("alternative"))
        yield If(
            self._lower_condition(clause), yes, other, self._lower_condition_start(clause), span=self.get_span(node)
        )

    def _lower_for(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        start = node.child_by_field_name("initializer")
        condition, step = node.child_by_field_name("condition"), node.child_by_field_name("update")
        yield Loop(
            self._lower_single(start) if start else None,
            self._lower_condition(condition) if condition else None,
            self.lower_expression(step) if step else None,
            self._lower_single(node.child_by_field_name("body")) or Block(()),
            span=self.get_span(node),
        )

    def _lower_while(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        body = self._lower_single(node.child_by_field_name("body")) or Block(())
        condition = self._lower_condition(node.child_by_field_name("condition"))
        yield Loop(None, condition, None, body, node.type == "do_statement", span=self.get_span(node))

    def _lower_range_for(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        type_node, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        base = self.lower_declared_type(node, type_node) if type_node else tree.Type((("auto", None),))
        names: tuple[str, ...] = ()
        if declarator is not None:
            base, inner = self._lower_declared(base, declarator)
            bound = inner.type == "structured_binding_declarator"
            names = tuple(self.get_text(c) for c in inner.named_children) if bound else (self.get_text(inner),)
        values = node.child_by_field_name("right")
        body = self._lower_single(node.child_by_field_name("body")) or Block(())
        yield RangeLoop(
            names,
            self.lower_expression(values) if values else tree.OpaqueExpression(""),
            body,
            base,
            self._lower_condition_start(node),
            span=self.get_span(node),
        )

    def _lower_switch(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        body, clause = node.child_by_field_name("body"), node.child_by_field_name("condition")
        if body is not None and any(_has_case_label(child) for child in body.named_children):
            yield UnreadText(self.get_text(node), span=self.get_span(node))
            return
        cases: list[tuple[tree.Expression | None, tuple[tree.Statement, ...]]] = []
        for child in body.named_children if body else ():
            if child.type == "case_statement":
                value = child.child_by_field_name("value")
                inside = [c for c in child.named_children if value is None or c.id != value.id]
                statements = tuple(s for c in inside for s in self.lower_statement(c))
                cases.append((self.lower_expression(value) if value else None, statements))
            elif cases:  # the grammar ends a case before a static_assert or an alias
                cases[-1] = cases[-1][0], (*cases[-1][1], *self.lower_statement(child))
            elif child.type != "comment":
                cases.append((tree.OpaqueExpression("unreachable"), tuple(self.lower_statement(child))))
        yield Switch(
            self._lower_condition(clause), tuple(cases), self._lower_condition_start(clause), span=self.get_span(node)
        )

    def _lower_exit(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        """Yield a return or a throw."""
        inner = [child for child in node.named_children if child.type != "comment"]
        kind = Return if node.type == "return_statement" else Throw
        yield kind(self.lower_expression(inner[0]) if inner else None, span=self.get_span(node))

    def _lower_jump(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        label = self.get_text(node.child_by_field_name("label"))
        yield Jump(node.type.partition("_")[0], label, span=self.get_span(node))

    def _lower_label(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        named = node.child_by_field_name("label")
        yield LabelStatement(self.get_text(named), span=self.get_span(node))
        for child in node.named_children:
            if named is None or child.id != named.id:
                yield from self.lower_statement(child)

    def _lower_try(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        body = node.child_by_field_name("body")
        handlers = []
        for clause in node.named_children:
            if clause.type == "catch_clause":
                parameters = self._lower_parameters(clause.child_by_field_name("parameters"))
                inner = clause.child_by_field_name("body")
                handlers.append(
                    (parameters[0] if parameters else None, self._lower_block(inner) if inner else Block(()))
                )
        yield Try(self._lower_block(body) if body else Block(()), tuple(handlers), span=self.get_span(node))


def _has_case_label(node: tree_sitter.Node, depth: int = 0) -> bool:
    """Return whether a case label is inside a nested statement of a switch, as in Duff's device."""
    return any(
        (child.type == "case_statement" and bool(depth or node.type != "case_statement"))
        or (
            child.type not in ("switch_statement", "lambda_expression")
            and depth < 40
            and _has_case_label(child, depth + 1)
        )
        for child in node.named_children
    )
