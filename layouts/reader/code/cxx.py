"""C++ and CUDA → the tree of layouts/reader/code/tree.py, by tree-sitter's CUDA grammar. Pieces it could not parse are
left out; nothing is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import tree_sitter
import tree_sitter_cuda

from layouts.reader.code import tree
from layouts.reader.code.ctype import BOOL
from layouts.reader.code.cxx_expressions import Expressions
from layouts.reader.code.nodes import MOST_DEPTH
from layouts.reader.code.preprocess import Source

MOST_PROGRESS = 900  # calls of the parser's progress function: a bound on its work, whatever the text


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def bounded(parser: tree_sitter.Parser, text: str) -> tree_sitter.Node | None:
    """The tree of a text of ASCII characters; None where it takes more work than any kernel does."""
    data = text.encode("ascii", "replace")
    calls = 0

    def stop(offset: int, error: bool) -> bool:
        nonlocal calls
        calls += 1
        return calls > MOST_PROGRESS

    try:
        return parser.parse(lambda at, _: data[at : at + (1 << 16)], progress_callback=stop).root_node
    except ValueError:
        parser.reset()
        return None


def read(source: Source) -> tuple[tree.Statement, ...]:
    """The statements of a text, whole functions and loose lines alike."""
    root = bounded(_parser(), source.text)
    return tuple(Lowering(source).statements(root)) if root else ()


class Lowering(Expressions):
    """One text's nodes → the tree."""

    def statements(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self.statement(child)

    def statement(self, node: tree_sitter.Node, templates: tuple[tree.Parameter, ...] = ()) -> Iterator[tree.Statement]:
        kind = node.type
        if kind == "ERROR":
            yield from self._salvage(node)
            return
        if self.depth > MOST_DEPTH:
            return
        self.depth += 1
        try:
            own = _STATEMENTS.get(kind)
            if kind == "template_declaration":
                given = self._parameters(node.child_by_field_name("parameters"))
                for child in node.named_children:
                    if child.type not in ("template_parameter_list", "requires_clause"):
                        yield from self.statement(child, templates + given)
            elif kind == "function_definition":
                yield from self._function(node, templates)
            elif kind in ("struct_specifier", "union_specifier", "class_specifier"):
                made = self._struct(node, templates)
                if made:
                    yield made
            elif kind in ("declaration", "field_declaration"):
                yield from self._declaration(node, templates)
            elif (
                kind
                in (
                    "namespace_definition linkage_specification declaration_list labeled_statement case_statement"
                    " field_declaration_list translation_unit"
                ).split()
            ):
                body = node.child_by_field_name("body")
                yield from self.statements(body or node)
            elif own:
                made_one = own(self, node)
                if made_one:
                    yield made_one
            elif kind.endswith(("_expression", "_literal")) or kind in ("identifier", "qualified_identifier"):
                yield tree.Do(self.expression(node), span=self.span(node))
        finally:
            self.depth -= 1

    def _salvage(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        """Whole statements and definitions inside a part that did not parse."""
        for child in node.named_children:
            if child.type.endswith("_statement") or child.type in ("declaration", "function_definition", "ERROR"):
                yield from self.statement(child)

    def _block(self, node: tree_sitter.Node) -> tree.Statement:
        return tree.Block(tuple(self.statements(node)), span=self.span(node))

    def _later(self, node: tree_sitter.Node) -> tree.Statement:
        """The block of a function, made when it is run."""
        deep = self.depth

        @cache
        def make() -> tree.Statement:
            self.depth = deep
            return self._block(node)

        return tree.Deferred(make, span=self.span(node))

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
        value = node.child_by_field_name("value") if node.type == "condition_clause" else node
        return self.expression(value or node)

    def _if(self, node: tree_sitter.Node) -> tree.Statement:
        yes = self._one(node.child_by_field_name("consequence")) or tree.Block(())
        condition = self._condition(node.child_by_field_name("condition"))
        return tree.If(condition, yes, self._one(node.child_by_field_name("alternative")), span=self.span(node))

    def _for(self, node: tree_sitter.Node) -> tree.Statement:
        start = node.child_by_field_name("initializer")
        condition, step = node.child_by_field_name("condition"), node.child_by_field_name("update")
        return tree.Loop(
            self._one(start) if start else None,
            self.expression(condition) if condition else None,
            self.expression(step) if step else None,
            self._one(node.child_by_field_name("body")) or tree.Block(()),
            span=self.span(node),
        )

    def _while(self, node: tree_sitter.Node) -> tree.Statement:
        body = self._one(node.child_by_field_name("body")) or tree.Block(())
        condition = self._condition(node.child_by_field_name("condition"))
        return tree.Loop(None, condition, None, body, node.type == "do_statement", span=self.span(node))

    def _each(self, node: tree_sitter.Node) -> tree.Statement:
        name = self.text(node.child_by_field_name("declarator"))
        values = node.child_by_field_name("right")
        body = self._one(node.child_by_field_name("body")) or tree.Block(())
        return tree.Each((name,), self.expression(values) if values else tree.Other(""), body, span=self.span(node))

    def _switch(self, node: tree_sitter.Node) -> tree.Statement:
        body = node.child_by_field_name("body")
        cases: list[tuple[tree.Expression | None, tuple[tree.Statement, ...]]] = []
        for child in body.named_children if body else ():
            if child.type == "case_statement":
                value = child.child_by_field_name("value")
                inside = [c for c in child.named_children if value is None or c.id != value.id]
                cases.append(
                    (self.expression(value) if value else None, tuple(s for c in inside for s in self.statement(c)))
                )
        return tree.Switch(self._condition(node.child_by_field_name("condition")), tuple(cases), span=self.span(node))

    def _return(self, node: tree_sitter.Node) -> tree.Statement:
        inner = [child for child in node.named_children if child.type != "comment"]
        return tree.Return(self.expression(inner[0]) if inner else None, span=self.span(node))

    def _jump(self, node: tree_sitter.Node) -> tree.Statement:
        return tree.Jump(node.type.partition("_")[0], span=self.span(node))

    def _do(self, node: tree_sitter.Node) -> tree.Statement | None:
        inner = [child for child in node.named_children if child.type != "comment"]
        if inner and inner[0].type == "gnu_asm_expression":
            return self._assembly(inner[0])
        return tree.Do(self.expression(inner[0]), span=self.span(inner[0])) if inner else None

    def _assembly(self, node: tree_sitter.Node) -> tree.Statement:
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
        return tree.Assembly(code, tuple(operands), tuple(names), span=self.span(node))

    def _alias(self, node: tree_sitter.Node) -> tree.Statement | None:
        named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        type_node = node.child_by_field_name("type")
        if named is None or type_node is None:
            return None
        if type_node.type in ("struct_specifier", "union_specifier", "class_specifier"):
            made = self._struct(type_node, ())
            return tree.Struct(self.text(named), made.members, made.union, span=made.span) if made else None
        if type_node.type == "enum_specifier":
            made_enum = self._enum(type_node)
            return tree.Enum(self.text(named), made_enum.members, span=made_enum.span)
        made_type, name = self._declared(self.type(type_node), named)
        return tree.Alias(name, made_type, span=self.span(node))

    def _enum(self, node: tree_sitter.Node) -> tree.Enum:
        members = []
        body = node.child_by_field_name("body")
        for child in body.named_children if body else ():
            if child.type == "enumerator":
                value = child.child_by_field_name("value")
                name = self.text(child.child_by_field_name("name"))
                members.append((name, self.expression(value) if value else None, self.span(child)))
        return tree.Enum(self.text(node.child_by_field_name("name")), tuple(members), span=self.span(node))

    def _struct(self, node: tree_sitter.Node, templates: tuple[tree.Parameter, ...]) -> tree.Struct | None:
        body = node.child_by_field_name("body")
        if body is None:
            return None
        named = node.child_by_field_name("name")
        if named is not None and named.type == "template_type":
            named = named.child_by_field_name("name")
        bases = [
            self.text(child).partition("<")[0].split("::")[-1]
            for clause in node.named_children
            if clause.type == "base_class_clause"
            for child in clause.named_children
            if child.type in ("type_identifier", "template_type", "qualified_identifier")
        ]
        union = node.type == "union_specifier"
        return tree.Struct(
            self.text(named), tuple(self.statements(body)), union, templates, tuple(bases), span=self.span(node)
        )

    def _declaration(
        self, node: tree_sitter.Node, templates: tuple[tree.Parameter, ...] = ()
    ) -> Iterator[tree.Statement]:
        type_node = node.child_by_field_name("type")
        if type_node is None:
            return
        body: tree.Struct | tree.Enum | None = None
        if type_node.type in ("struct_specifier", "union_specifier", "class_specifier"):
            made_struct = body = self._struct(type_node, templates)
            if made_struct and made_struct.name:
                yield made_struct
        elif type_node.type == "enum_specifier":
            body = self._enum(type_node)
            if type_node.child_by_field_name("body"):
                yield body
        base = self.type(type_node)
        if body is not None:
            base = tree.Type(base.path, body=body, span=base.span)
        static = any(self.text(c) in ("static", "constexpr") for c in node.children)
        yield from self._declarators(node, base, static, body)

    def _declarators(
        self, node: tree_sitter.Node, base: tree.Type, static: bool, body: tree.Statement | None
    ) -> Iterator[tree.Statement]:
        children = node.children
        found = False
        for at, child in enumerate(children):
            if node.field_name_for_child(at) != "declarator":
                continue
            found = True
            value = next_value = None
            arguments = None
            inner: tree_sitter.Node | None = child
            if child.type == "init_declarator":
                inner = child.child_by_field_name("declarator")
                next_value = child.child_by_field_name("value")
            else:
                follow = [c for c in children[at + 1 : at + 4] if c.type not in ("comment",)]
                if len(follow) > 1 and follow[0].type == "=":
                    next_value = follow[1]
                elif follow and follow[0].type == "initializer_list":
                    next_value = follow[0]
            bits = next((c for c in children[at + 1 : at + 2] if c.type == "bitfield_clause"), None)
            if inner is None:
                continue
            if inner.type == "structured_binding_declarator":
                names = tuple(self.text(c) for c in inner.named_children)
                if next_value:
                    yield tree.Unpack(names, self.expression(next_value), span=self.span(node))
                continue
            if inner.type == "function_declarator" and next_value is None:
                arguments = self._called_like(inner)
                if arguments is None:
                    continue
                inner = inner.child_by_field_name("declarator") or inner
            if next_value is not None and next_value.type == "argument_list":
                arguments = tuple(self.expression(c) for c in next_value.named_children if c.type != "comment")
            elif next_value is not None:
                value = self.expression(next_value)
            made, name = self._declared(base, inner)
            width = self.expression(bits.named_children[0]) if bits and bits.named_children else None
            yield tree.Declare(made, name, value, arguments, width, static, span=self.span(child))
        if not found and isinstance(body, tree.Struct) and not body.name:
            yield tree.Declare(base, "", span=self.span(node))
        bits = next((c for c in children if c.type == "bitfield_clause"), None)
        if not found and bits and bits.named_children:
            yield tree.Declare(base, "", bits=self.expression(bits.named_children[0]), span=self.span(node))

    def _called_like(self, node: tree_sitter.Node) -> tuple[tree.Expression, ...] | None:
        """`T x(a, b)` reads as a function of types a and b: its arguments where they can be values, else None."""
        out: list[tree.Expression] = []
        listed = node.child_by_field_name("parameters")
        for child in listed.named_children if listed else ():
            type_node = child.child_by_field_name("type")
            plain = child.type == "parameter_declaration" and child.child_by_field_name("declarator") is None
            if not plain or type_node is None or type_node.type == "primitive_type" or child.named_child_count != 1:
                return None
            path = self._path(type_node)
            out.append(tree.Name(path, span=self.span(child)))
        return tuple(out) or None

    def _function(self, node: tree_sitter.Node, templates: tuple[tree.Parameter, ...]) -> Iterator[tree.Statement]:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        while declarator is not None and declarator.type in ("pointer_declarator", "reference_declarator"):
            declarator = next((c for c in declarator.named_children if c.type.endswith("declarator")), None)
        if declarator is None or body is None:
            return
        returns = node.child_by_field_name("type")
        named = declarator.child_by_field_name("declarator") if declarator.type == "function_declarator" else declarator
        if declarator.type == "operator_cast":
            name = "operator " + self.text(declarator.child_by_field_name("type"))
            parameters: tuple[tree.Parameter, ...] = ()
        else:
            name = self._path(named)[-1][0] if named else ""
            parameters = self._parameters(declarator.child_by_field_name("parameters"))
        starts: list[tuple[str, tuple[tree.Expression, ...]]] = []
        for clause in node.named_children:
            for child in clause.named_children if clause.type == "field_initializer_list" else ():
                parts = child.named_children
                if child.type == "field_initializer" and parts:
                    given = parts[1].named_children if len(parts) > 1 else ()
                    starts.append((self.text(parts[0]), tuple(self.expression(c) for c in given)))
        yield tree.Function(
            name, parameters, self._later(body), templates, tuple(starts),
            self.returned(declarator) or (self.type(returns) if returns else None), span=self.span(node),
        )  # fmt: skip


_STATEMENTS: dict[str, Callable[[Lowering, tree_sitter.Node], tree.Statement | None]] = {
    "compound_statement": Lowering._block,
    "if_statement": Lowering._if,
    "for_statement": Lowering._for,
    "while_statement": Lowering._while,
    "do_statement": Lowering._while,
    "for_range_loop": Lowering._each,
    "switch_statement": Lowering._switch,
    "return_statement": Lowering._return,
    "break_statement": Lowering._jump,
    "continue_statement": Lowering._jump,
    "expression_statement": Lowering._do,
    "alias_declaration": Lowering._alias,
    "type_definition": Lowering._alias,
    "enum_specifier": Lowering._enum,
    "gnu_asm_expression": Lowering._assembly,
}
