"""C++ and CUDA → the tree of layouts/reader/code/tree.py, by tree-sitter's CUDA grammar. What the parser cannot read
becomes Unread: the evaluator forgets what such text may write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from lanescope.cxx.integers import BOOL
from lanescope.deadline import check_deadline, reading_at
from lanescope.reader.code import topmost, tree
from lanescope.reader.code.cxx_declarations import Declarations, Heads
from lanescope.reader.code.cxx_parsing import cuda_language, parse_bounded
from lanescope.reader.code.cxx_types import RECORDS
from lanescope.reader.code.inline_ptx import string
from lanescope.reader.code.nodes import MOST_DEPTH
from lanescope.reader.code.source import Source
from lanescope.reader.code.word import Span

if TYPE_CHECKING:
    import tree_sitter

PART = 4000  # characters of the declarations that are parsed together where a whole text takes too much
MOST_FAILED = 32  # parts that may take too much

_LISTS = frozenset("linkage_specification declaration_list field_declaration_list translation_unit".split())
# What runs no code and defines nothing that the evaluator knows.
_SILENT = frozenset(
    "comment access_specifier static_assert_declaration template_instantiation concept_definition attribute_declaration"
    " type_descriptor".split()
)
_CONTROL = re.compile(
    r"\b(?:if|else|for|while|do|switch|case|default|return|goto|break|continue|try|catch|throw)\b|[?:]"
)


def well_formed(source: Source) -> bool:
    """Whether the whole of a text follows the grammar."""
    root = parse_bounded(cuda_language(), source)
    return root is not None and not root.has_error


def read(source: Source) -> tuple[tree.Statement, ...]:
    """The statements of a text, whole functions and loose lines alike."""
    return read_parts(source)[0]


def read_parts(source: Source) -> tuple[tuple[tree.Statement, ...], tuple[Span, ...]]:
    """The statements of a text, and the places in it of declarations whose parsing takes too much work: a text that is
    too much as a whole is read declaration by declaration.
    """
    root = parse_bounded(cuda_language(), source)
    if root is not None:
        return tuple(Lowering(source).statements(root)), ()
    out: list[tree.Statement] = []
    unread: list[Span] = []
    lowering = Lowering(source)
    failed = 0
    for part in topmost.parts(source.text, PART):
        ranges = [_range(*span) for span in part.spans()]
        root = parse_bounded(cuda_language(), source, ranges) if failed < MOST_FAILED else None
        if root is None:
            failed += 1
            unread.append(source.original(part.start, part.end))
        else:
            out += lowering.statements(root)
    return tuple(out), tuple(unread)


def _range(start: int, end: int) -> tree_sitter.Range:
    import tree_sitter

    return tree_sitter.Range((0, start), (0, end), start, end)


class Lowering(Declarations):
    """One text's nodes → the tree."""

    def statements(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self.statement(child)

    def statement(self, node: tree_sitter.Node, heads: Heads = ()) -> Iterator[tree.Statement]:
        with reading_at(lambda: self.span(node)[0]):
            check_deadline()
        if node.type == "ERROR":
            yield from self._unread(node)
            return
        if self.depth > MOST_DEPTH:
            yield tree.Unread(self.text(node), span=self.span(node))
            return
        self.depth += 1
        try:
            if node.has_error and node.type in _CHECKED and self._has_own_error(node):
                yield from self._broken(node, heads)
            else:
                yield from self._unbroken(node, heads)
        finally:
            self.depth -= 1

    def _broken(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        """A statement of which a part did not parse: what could be read of it, and its text."""
        if node.type == "return_statement":
            yield tree.Return(tree.Other(self.text(node), span=self.span(node)), span=self.span(node))
            return
        yield from _STATEMENTS[node.type](self, node, heads)
        after = node.next_named_sibling if node.children and node.children[-1].is_missing else None
        text = self.text(node) + (self.text(after) if after is not None else "")
        yield tree.Unread(text, span=self.span(node))

    def _unbroken(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        kind = node.type
        if kind in _STATEMENTS:
            yield from _STATEMENTS[kind](self, node, heads)
        elif kind in _LISTS:
            yield from self.statements(node.child_by_field_name("body") or node)
        elif kind.endswith(("_expression", "_literal")) or kind in ("identifier", "qualified_identifier"):
            yield tree.Do(self.expression(node), span=self.span(node))
        elif kind not in _SILENT and not kind.startswith("preproc"):
            yield tree.Unread(self.text(node), span=self.span(node))

    def _has_own_error(self, node: tree_sitter.Node) -> bool:
        """Whether a part of a statement did not parse; statements in blocks below it are asked by themselves."""
        for child in node.children:
            block = node.next_named_sibling
            if child.is_missing and child.type == ";" and block is not None and block.type == "compound_statement":
                return True  # a macro that stands for the head of a loop
            if child.type == "ERROR" or (child.is_missing and child.type in ("identifier", ")")):
                return True
            inside = child.type in ("compound_statement", "field_declaration_list") or child.type.endswith("_statement")
            if child.has_error and not inside and child.type != "else_clause" and self._has_own_error(child):
                return True
        return False

    def _unread(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        """A part that did not parse: the whole statements and definitions in it, and the text around them."""
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
                inner += self.statement(child)
                outside.append(self.whole[at : child.start_byte])
                at = child.end_byte
        outside.append(self.whole[at : node.end_byte])
        text = " ".join(outside)
        defined = [one for one in inner if isinstance(one, tree.Function | tree.Struct | tree.Alias | tree.Enum)]
        rest = tuple(one for one in inner if one not in defined)
        yield from defined
        if _CONTROL.search(text):
            yield tree.Unread(self.text(node), rest, span=self.span(node))
        else:
            yield from rest
            yield tree.Unread(text, span=self.span(node))

    # templates and namespaces ----------------------------------------------------------------------------------------

    # blocks ----------------------------------------------------------------------------------------------------------

    def _block(self, node: tree_sitter.Node) -> tree.Statement:
        return tree.Block(tuple(self.statements(node)), span=self.span(node))

    def _compound(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        yield self._block(node)

    def _later(self, node: tree_sitter.Node) -> tree.Statement:
        """The block of a function, made when it is run."""
        deep = self.depth

        @cache
        def make() -> tree.Statement:
            self.depth = deep
            return self._block(node) if node.type != "try_statement" else self._tried(node)

        return tree.Deferred(make, span=self.span(node))

    def _tried(self, node: tree_sitter.Node) -> tree.Statement:
        """The function try block of a function; of a constructor, whose members it guards too, text that may throw."""
        if any(c.type == "field_initializer_list" for c in node.named_children):
            text = self.text(node)
            throws = tree.If(tree.Other("?"), tree.Throw(tree.Other("?")), None)
            return tree.Block((tree.Unread(text, span=self.span(node)), throws), span=self.span(node))
        return tree.Block(tuple(self._try(node, ())), span=self.span(node))

    def _one(self, node: tree_sitter.Node | None) -> tree.Statement | None:
        if node is None:
            return None
        if node.type == "else_clause":
            inner = [child for child in node.named_children if child.type != "comment"]
            return self._one(inner[-1]) if inner else None
        if node.type == "compound_statement":
            return self._block(node)
        return tree.Block(tuple(self.statement(node)), scoped=False, span=self.span(node))

    def _condition(self, node: tree_sitter.Node | None) -> tree.Expression:
        if node is None:
            return tree.Num(1, BOOL)
        value = (node.child_by_field_name("value") if node.type == "condition_clause" else node) or node
        if value.type == "declaration":
            made = next((one for one in self.statement(value) if isinstance(one, tree.Declare)), None)
            return tree.Declared(made, span=self.span(value)) if made else tree.Other(self.text(value))
        return self.expression(value)

    def _start(self, node: tree_sitter.Node | None) -> tree.Statement | None:
        """The statement in front of a condition, `if (int x = 1; …)`."""
        start = node.child_by_field_name("initializer") if node is not None else None
        return tree.Block(tuple(self.statements(start)), scoped=False) if start is not None else None

    def _if(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        yes = self._one(node.child_by_field_name("consequence")) or tree.Block(())
        clause = node.child_by_field_name("condition")
        other = self._one(node.child_by_field_name("alternative"))
        yield tree.If(self._condition(clause), yes, other, self._start(clause), span=self.span(node))

    def _for(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        start = node.child_by_field_name("initializer")
        condition, step = node.child_by_field_name("condition"), node.child_by_field_name("update")
        yield tree.Loop(
            self._one(start) if start else None,
            self._condition(condition) if condition else None,
            self.expression(step) if step else None,
            self._one(node.child_by_field_name("body")) or tree.Block(()),
            span=self.span(node),
        )

    def _while(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        body = self._one(node.child_by_field_name("body")) or tree.Block(())
        condition = self._condition(node.child_by_field_name("condition"))
        yield tree.Loop(None, condition, None, body, node.type == "do_statement", span=self.span(node))

    def _each(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        type_node, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        base = self.typed(node, type_node) if type_node else tree.Type((("auto", None),))
        names: tuple[str, ...] = ()
        if declarator is not None:
            base, inner = self._declared(base, declarator)
            bound = inner.type == "structured_binding_declarator"
            names = tuple(self.text(c) for c in inner.named_children) if bound else (self.text(inner),)
        values = node.child_by_field_name("right")
        body = self._one(node.child_by_field_name("body")) or tree.Block(())
        yield tree.Each(
            names,
            self.expression(values) if values else tree.Other(""),
            body,
            base,
            self._start(node),
            span=self.span(node),
        )

    def _switch(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        body, clause = node.child_by_field_name("body"), node.child_by_field_name("condition")
        if body is not None and any(_has_label(child) for child in body.named_children):
            yield tree.Unread(self.text(node), span=self.span(node))
            return
        cases: list[tuple[tree.Expression | None, tuple[tree.Statement, ...]]] = []
        for child in body.named_children if body else ():
            if child.type == "case_statement":
                value = child.child_by_field_name("value")
                inside = [c for c in child.named_children if value is None or c.id != value.id]
                own = tuple(s for c in inside for s in self.statement(c))
                cases.append((self.expression(value) if value else None, own))
            elif child.type != "comment":
                cases.append((tree.Other("unreachable"), tuple(self.statement(child))))
        yield tree.Switch(self._condition(clause), tuple(cases), self._start(clause), span=self.span(node))

    def _return(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        inner = [child for child in node.named_children if child.type != "comment"]
        yield tree.Return(self.expression(inner[0]) if inner else None, span=self.span(node))

    def _jump(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        label = self.text(node.child_by_field_name("label"))
        yield tree.Jump(node.type.partition("_")[0], label, span=self.span(node))

    def _label(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        named = node.child_by_field_name("label")
        yield tree.Label(self.text(named), span=self.span(node))
        for child in node.named_children:
            if named is None or child.id != named.id:
                yield from self.statement(child)

    def _attributed(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self.statement(child)

    def _try(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        body = node.child_by_field_name("body")
        handlers = []
        for clause in node.named_children:
            if clause.type == "catch_clause":
                given = self._parameters(clause.child_by_field_name("parameters"))
                inner = clause.child_by_field_name("body")
                handlers.append((given[0] if given else None, self._block(inner) if inner else tree.Block(())))
        yield tree.Try(self._block(body) if body else tree.Block(()), tuple(handlers), span=self.span(node))

    def _throw(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        inner = [child for child in node.named_children if child.type != "comment"]
        yield tree.Throw(self.expression(inner[0]) if inner else None, span=self.span(node))

    def _do(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        inner = [child for child in node.named_children if child.type != "comment"]
        if inner and inner[0].type == "gnu_asm_expression":
            yield from self._assembly(inner[0], heads)
        elif inner:
            declared = self._array_reference(inner[0])
            yield declared or tree.Do(self.expression(inner[0]), span=self.span(inner[0]))

    def _array_reference(self, node: tree_sitter.Node) -> tree.Declare | None:
        """int (&r)[3] = t and int (*p)[3] = t, which the grammar reads as an item of what int(&r) gives."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type != "assignment_expression" or left is None or right is None or left.type != "subscript_expression":
            return None
        call = left.child_by_field_name("argument")
        if call is None or call.type != "call_expression":
            return None
        kind, listed = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        given = listed.named_children if listed is not None else []
        if kind is None or kind.type != "primitive_type" or [one.type for one in given] != ["pointer_expression"]:
            return None
        sign, named = given[0].children[0].type, given[0].child_by_field_name("argument")
        sizes = self.expression(left)
        dims = sizes.indices if isinstance(sizes, tree.Index) else ()
        base = self.type(kind)
        made = tree.Type(base.path, 0, "&", dims, span=base.span) if sign == "&" else tree.Type((("auto", None),))
        return tree.Declare(made, self.text(named), self.expression(right), span=self.span(node))

    def _assembly(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        operands, names = [], []
        for name in ("output_operands", "input_operands"):
            listed = node.child_by_field_name(name)
            for child in listed.named_children if listed else ():
                value = child.child_by_field_name("value")
                if value:
                    constraint = self.text(child.child_by_field_name("constraint")).strip('"')
                    operands.append((constraint, self.expression(value)))
                    symbol = child.child_by_field_name("symbol")
                    names.append(self.text(symbol).strip("[] ") if symbol else "")
        code = self.text(node.child_by_field_name("assembly_code"))
        clobbered = re.findall(r'"([^"]*)"', self.text(node.child_by_field_name("clobbers")))
        words = {self.text(child).strip("_") for child in node.children if child.type == "gnu_asm_qualifier"}
        ptx_text = string(code) if "goto" not in words else None
        yield tree.Assembly(
            code, tuple(operands), tuple(names), tuple(clobbered), ptx_text, "volatile" in words, span=self.span(node)
        )
        if "goto" in words:
            yield tree.Unread("goto", span=self.span(node))

    # types -----------------------------------------------------------------------------------------------------------

    # declarations ----------------------------------------------------------------------------------------------------

    # functions -------------------------------------------------------------------------------------------------------


def _has_label(node: tree_sitter.Node, deep: int = 0) -> bool:
    """Whether a case label stands inside a statement of a switch, as in Duff's device."""
    return any(
        (child.type == "case_statement" and bool(deep or node.type != "case_statement"))
        or (child.type not in ("switch_statement", "lambda_expression") and deep < 40 and _has_label(child, deep + 1))
        for child in node.named_children
    )


_Reader = Callable[[Lowering, "tree_sitter.Node", Heads], Iterator[tree.Statement]]
_STATEMENTS: dict[str, _Reader] = {
    "template_declaration": Lowering._template,
    "namespace_definition": Lowering._namespace,
    "namespace_alias_definition": Lowering._namespace_alias,
    "using_declaration": Lowering._using,
    "friend_declaration": Lowering._friend,
    "function_definition": Lowering._function,
    **dict.fromkeys(RECORDS, Lowering._record),
    "declaration": Lowering._declaration,
    "field_declaration": Lowering._declaration,
    "compound_statement": Lowering._compound,
    "if_statement": Lowering._if,
    "for_statement": Lowering._for,
    "while_statement": Lowering._while,
    "do_statement": Lowering._while,
    "for_range_loop": Lowering._each,
    "switch_statement": Lowering._switch,
    "return_statement": Lowering._return,
    "break_statement": Lowering._jump,
    "continue_statement": Lowering._jump,
    "goto_statement": Lowering._jump,
    "labeled_statement": Lowering._label,
    "attributed_statement": Lowering._attributed,
    "try_statement": Lowering._try,
    "throw_statement": Lowering._throw,
    "expression_statement": Lowering._do,
    "alias_declaration": Lowering._alias,
    "type_definition": Lowering._alias,
    "enum_specifier": Lowering._enum,
    "gnu_asm_expression": Lowering._assembly,
}
# Statements of which no part may be left out.
_CHECKED = frozenset(
    "declaration if_statement for_statement while_statement do_statement for_range_loop switch_statement"
    " return_statement expression_statement try_statement throw_statement".split()
)
