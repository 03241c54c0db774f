"""Lower tree-sitter nodes of C++ statements to the tree of layouts/reader/code/syntax/tree.py.

Text that did not parse becomes UnreadText; the evaluator makes unknown what it may write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import copy
from functools import cache
from typing import TYPE_CHECKING

from lanescope.cxx.sizes import find_size
from lanescope.deadline import check_deadline, note_reading_place
from lanescope.reader.code.ptx.inline_ptx import join_string_literals
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.brackets import find_declared_types
from lanescope.reader.code.syntax.cxx_control import ControlLowering
from lanescope.reader.code.syntax.cxx_functions import Heads
from lanescope.reader.code.syntax.cxx_types import RECORDS
from lanescope.reader.code.syntax.nodes import MOST_DEPTH
from lanescope.reader.code.syntax.tree_statements import (
    Assembly,
    ExpressionStatement,
    Instantiation,
    Return,
    UnreadText,
)

if TYPE_CHECKING:
    import tree_sitter

_LISTS = frozenset("linkage_specification declaration_list field_declaration_list translation_unit".split())
# Nodes that run no code and define nothing that the evaluator uses.
_SILENT = frozenset(
    "comment access_specifier static_assert_declaration concept_definition attribute_declaration"
    " type_descriptor".split()
)
_CONTROL = re.compile(
    r"\b(?:if|else|for|while|do|switch|case|default|return|goto|break|continue|try|catch|throw)\b|[?:]"
)


_FUNCTION_POINTER = re.compile(r"void\s*\(\s*\*\s*(?:const\s+)?(\w+)\s*\)\s*\(")


class CxxLowering(ControlLowering):
    """The lowering of one text."""

    def lower_statements(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self.lower_statement(child)

    def lower_statement(self, node: tree_sitter.Node, heads: Heads = ()) -> Iterator[tree.Statement]:
        with note_reading_place(lambda: self.get_span(node)[0]):
            check_deadline()
        if node.type == "ERROR":
            yield from self._lower_unread(node)
            return
        if self.depth > MOST_DEPTH:
            yield UnreadText(self.get_text(node), span=self.get_span(node))
            return
        self.depth += 1
        try:
            if node.has_error and node.type in _CHECKED and self._has_own_error(node):
                yield from self._lower_broken(node, heads)
            else:
                yield from self._lower_unbroken(node, heads)
        finally:
            self.depth -= 1

    def _lower_broken(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        """Yield a statement with a parse error: the part that parsed, and its text."""
        if node.type == "return_statement":
            yield Return(tree.OpaqueExpression(self.get_text(node), span=self.get_span(node)), span=self.get_span(node))
            return
        yield from _STATEMENTS[node.type](self, node, heads)
        after = node.next_named_sibling if node.children and node.children[-1].is_missing else None
        text = self.get_text(node) + (self.get_text(after) if after is not None else "")
        yield UnreadText(text, span=self.get_span(node))

    def _lower_unbroken(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        kind = node.type
        if kind in _STATEMENTS:
            yield from _STATEMENTS[kind](self, node, heads)
        elif kind in _LISTS:
            body = node.child_by_field_name("body") or node
            single = kind == "linkage_specification" and body.type != "declaration_list"  # extern "C" void f();
            yield from self.lower_statement(body) if single else self.lower_statements(body)
        elif kind.endswith(("_expression", "_literal")) or kind in ("identifier", "qualified_identifier"):
            yield ExpressionStatement(self.lower_expression(node), span=self.get_span(node))
        elif kind not in _SILENT and not kind.startswith("preproc"):
            yield UnreadText(self.get_text(node), span=self.get_span(node))

    def _has_own_error(self, node: tree_sitter.Node) -> bool:
        """Return whether a statement has a parse error outside its nested statements, which are checked separately."""
        for child in node.children:
            block = node.next_named_sibling
            if child.is_missing and child.type == ";" and block is not None and block.type == "compound_statement":
                return True  # a macro that expands to the head of a loop
            if child.type == "ERROR" or (child.is_missing and child.type in ("identifier", ")")):
                return True
            inside = child.type in ("compound_statement", "field_declaration_list") or child.type.endswith("_statement")
            if child.has_error and not inside and child.type != "else_clause" and self._has_own_error(child):
                return True
        return False

    def _lower_instantiation(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        named = declarator.child_by_field_name("declarator") if declarator is not None else None
        if named is not None and not self.get_text(node).startswith("extern"):
            yield Instantiation(tree.Name(self._lower_path(named), span=self.get_span(named)), span=self.get_span(node))

    def _lower_unread(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        """Yield the complete statements and definitions inside a parse error, and the remaining text."""
        inner: list[tree.Statement] = []
        outside, at = [], node.start_byte
        for child in node.named_children:
            if child.type.endswith("_statement") or child.type in (
                "declaration",
                "function_definition",
                "ERROR",
                "template_declaration",
                *RECORDS,
                "enum_specifier",
            ):
                inner += self.lower_statement(child)
                outside.append(self.text[at : child.start_byte])
                at = child.end_byte
        outside.append(self.text[at : node.end_byte])
        text = " ".join(outside)
        defined = [
            statement
            for statement in inner
            if isinstance(statement, tree.Function | tree.StructDefinition | tree.Alias | tree.Enum)
        ]
        rest = tuple(statement for statement in inner if statement not in defined)
        yield from defined
        if _CONTROL.search(text):
            yield UnreadText(self.get_text(node), rest, span=self.get_span(node))
        else:
            yield from rest
            yield UnreadText(text, span=self.get_span(node))

    def _lower_compound(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        yield self._lower_block(node)

    def _defer_block(self, node: tree_sitter.Node) -> tree.Statement:
        """Return the body of a function, lowered when it is first run."""
        depth = self.depth

        @cache
        def make() -> tree.Statement:
            lowering = copy(self)  # of its own, since threads may share the tree
            lowering.depth = depth
            return lowering._lower_block(node) if node.type != "try_statement" else lowering._lower_function_try(node)

        return tree.DeferredBody(make, span=self.get_span(node))

    def _lower_attributed(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self.lower_statement(child)

    def _lower_expression_statement(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        inner = [child for child in node.named_children if child.type != "comment"]
        if inner and inner[0].type == "gnu_asm_expression":
            yield from self._lower_assembly(inner[0], heads)
        elif inner:
            declared = self._lower_array_reference(inner[0]) or self._lower_function_pointer(inner[0])
            yield declared or ExpressionStatement(self.lower_expression(inner[0]), span=self.get_span(inner[0]))

    def _lower_function_pointer(self, node: tree_sitter.Node) -> tree.Declaration | None:
        """Lower void (*kernel)(T) = f, which the grammar reads as a call of void(*kernel)."""
        sides = _split_assignment(node, "call_expression")
        name = _FUNCTION_POINTER.match(self.get_text(sides[0])) if sides is not None else None
        if sides is None or name is None:
            return None
        value = self.lower_expression(sides[1])
        return tree.Declaration(tree.Type((("auto", None),)), name[1], value, span=self.get_span(node))

    def _lower_array_reference(self, node: tree_sitter.Node) -> tree.Declaration | None:
        """Lower int (&r)[2][3] = t, int (*p)[3] = t and int (*p)[3], which the grammar reads as an item of int(&r).

        half(&r)[3] = t may be an item of what a function returns, unless half is a type or t is cast to a reference.
        """
        target, assigned = _split_assignment(node, "subscript_expression") or (node, None)
        sizes, call = self._list_subscripts(target)
        kind, argument_list = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        children = argument_list.named_children if argument_list is not None else []
        if call.type != "call_expression" or kind is None or [c.type for c in children] != ["pointer_expression"]:
            return None
        value = self.lower_expression(assigned) if assigned is not None else None
        cast = isinstance(value, tree.Cast) and bool(value.type.reference and value.type.dims)
        if kind.type != "primitive_type" and not cast and not self._is_type(kind):
            return None
        sign, named = children[0].children[0].type, children[0].child_by_field_name("argument")
        base, declared = self.lower_type(kind), tree.Type((("auto", None),))
        if sign == "&":
            declared = tree.Type(base.path, 0, "&", sizes, span=base.span)
        return tree.Declaration(declared, self.get_text(named), value, span=self.get_span(node))

    def _is_type(self, node: tree_sitter.Node) -> bool:
        """Return whether a name is that of a built-in type, or of one that the text declares."""
        name = self.get_text(node.child_by_field_name("name") or node)
        return find_size(name) is not None or name in find_declared_types(self.text)

    def _list_subscripts(self, node: tree_sitter.Node) -> tuple[tuple[tree.Expression | None, ...], tree_sitter.Node]:
        """Return (the indices of nested subscripts in their order, the expression that they are applied to)."""
        dims: tuple[tree.Expression | None, ...] = ()
        while node.type == "subscript_expression":
            item, inner = self.lower_expression(node), node.child_by_field_name("argument")
            dims = (*(item.indices if isinstance(item, tree.Index) else ()), *dims)
            if inner is None:
                break
            node = inner
        return dims, node

    def _lower_assembly(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        operands, names = [], []
        for name in ("output_operands", "input_operands"):
            operand_list = node.child_by_field_name(name)
            for child in operand_list.named_children if operand_list else ():
                value = child.child_by_field_name("value")
                if value:
                    constraint = self.get_text(child.child_by_field_name("constraint")).strip('"')
                    operands.append((constraint, self.lower_expression(value)))
                    symbol = child.child_by_field_name("symbol")
                    names.append(self.get_text(symbol).strip("[] ") if symbol else "")
        code = self.get_text(node.child_by_field_name("assembly_code"))
        clobbered = re.findall(r'"([^"]*)"', self.get_text(node.child_by_field_name("clobbers")))
        words = {self.get_text(child).strip("_") for child in node.children if child.type == "gnu_asm_qualifier"}
        ptx_text = join_string_literals(code) if "goto" not in words else None
        yield Assembly(
            code,
            tuple(operands),
            tuple(names),
            tuple(clobbered),
            ptx_text,
            "volatile" in words,
            span=self.get_span(node),
        )
        if "goto" in words:
            yield UnreadText("goto", span=self.get_span(node))


def _split_assignment(node: tree_sitter.Node, kind: str) -> tuple[tree_sitter.Node, tree_sitter.Node] | None:
    """Return (target, value) of an assignment to an expression of a kind; None for another node."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type != "assignment_expression" or left is None or right is None or left.type != kind:
        return None
    return left, right


_Reader = Callable[[CxxLowering, "tree_sitter.Node", Heads], Iterator[tree.Statement]]
_STATEMENTS: dict[str, _Reader] = {
    "template_declaration": CxxLowering._lower_template,
    "template_instantiation": CxxLowering._lower_instantiation,
    "namespace_definition": CxxLowering._lower_namespace,
    "namespace_alias_definition": CxxLowering._lower_namespace_alias,
    "using_declaration": CxxLowering._lower_using,
    "friend_declaration": CxxLowering._lower_friend,
    "function_definition": CxxLowering._lower_function,
    **dict.fromkeys(RECORDS, CxxLowering._record),
    "declaration": CxxLowering._lower_declaration,
    "field_declaration": CxxLowering._lower_declaration,
    "compound_statement": CxxLowering._lower_compound,
    "if_statement": CxxLowering._lower_if,
    "for_statement": CxxLowering._lower_for,
    "while_statement": CxxLowering._lower_while,
    "do_statement": CxxLowering._lower_while,
    "for_range_loop": CxxLowering._lower_range_for,
    "switch_statement": CxxLowering._lower_switch,
    "return_statement": CxxLowering._lower_exit,
    "break_statement": CxxLowering._lower_jump,
    "continue_statement": CxxLowering._lower_jump,
    "goto_statement": CxxLowering._lower_jump,
    "labeled_statement": CxxLowering._lower_label,
    "attributed_statement": CxxLowering._lower_attributed,
    "try_statement": CxxLowering._lower_try,
    "throw_statement": CxxLowering._lower_exit,
    "expression_statement": CxxLowering._lower_expression_statement,
    "alias_declaration": CxxLowering._lower_alias,
    "type_definition": CxxLowering._lower_alias,
    "enum_specifier": CxxLowering._lower_enum,
    "gnu_asm_expression": CxxLowering._lower_assembly,
}
# Statements that are unread as a whole if a part did not parse.
_CHECKED = frozenset(
    "declaration if_statement for_statement while_statement do_statement for_range_loop switch_statement"
    " return_statement expression_statement try_statement throw_statement".split()
)
