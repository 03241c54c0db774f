"""C++'s types and expressions, of tree-sitter's nodes → the tree of layouts/reader/code/tree.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tree_sitter

from layouts.reader.code import tree
from layouts.reader.code.ctype import BOOL, CHAR, ULONG, literal
from layouts.reader.code.nodes import Nodes, Readers
from layouts.reader.code.preprocess import Source
from layouts.reader.code.word import Span

_CASTS = {"static_cast", "reinterpret_cast", "const_cast", "bit_cast", "dynamic_cast", "safe_cast"}


class Expressions(Nodes):
    """Types and expressions of one text; Lowering adds the statements."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.text)
        self.source = source

    def readers(self) -> Readers:
        return _EXPRESSIONS

    def span(self, node: tree_sitter.Node) -> Span:
        return self.source.original(node.start_byte, node.end_byte)

    def _declared(self, base: tree.Type, node: tree_sitter.Node) -> tuple[tree.Type, str]:
        """The type and the name of a declarator: pointers, references and array sizes off it."""
        pointers, reference, dims = base.pointers, base.reference, list(base.dims)
        while True:
            kind = node.type
            if kind in ("pointer_declarator", "abstract_pointer_declarator"):
                pointers += 1
            elif kind in ("reference_declarator", "abstract_reference_declarator"):
                reference = True
            elif kind in ("array_declarator", "abstract_array_declarator"):
                size = node.child_by_field_name("size")
                dims.insert(0, self.expression(size) if size else None)
            elif kind not in ("parenthesized_declarator", "init_declarator", "variadic_declarator"):
                break
            inner = node.child_by_field_name("declarator")
            inner = inner or next(
                (c for c in reversed(node.named_children) if c.type.endswith(("declarator", "identifier"))), None
            )
            if inner is None:
                return tree.Type(base.path, pointers, reference, tuple(dims), base.body, span=base.span), ""
            node = inner
        name = self.text(node)
        return tree.Type(base.path, pointers, reference, tuple(dims), base.body, span=base.span), name

    def type(self, node: tree_sitter.Node) -> tree.Type:
        if node.type == "type_descriptor":
            inner = node.child_by_field_name("type")
            base = self.type(inner) if inner else tree.Type(())
            declarator = node.child_by_field_name("declarator")
            return self._declared(base, declarator)[0] if declarator else base
        if node.type in ("struct_specifier", "union_specifier", "class_specifier", "enum_specifier"):
            name = node.child_by_field_name("name")
            body = (
                self._struct(node, ()) if node.child_by_field_name("body") and node.type != "enum_specifier" else None
            )
            return tree.Type(((self.text(name), None),), body=body, span=self.span(node))
        if node.type == "dependent_type":
            inner = node.named_children[0] if node.named_children else None
            return self.type(inner) if inner else tree.Type(())
        if node.type == "decltype":
            inner = next((c for c in node.named_children), None)
            value = (self.expression(inner),) if inner else ()
            return tree.Type((("decltype", value),), span=self.span(node))
        return tree.Type(self._path(node), span=self.span(node))

    def _path(self, node: tree_sitter.Node) -> tuple[tuple[str, tuple[tree.Expression, ...] | None], ...]:
        if node.type in ("qualified_identifier",):
            scope, name = node.child_by_field_name("scope"), node.child_by_field_name("name")
            return (self._path(scope) if scope else ()) + (self._path(name) if name else ())
        if node.type in ("template_type", "template_function", "template_method"):
            listed = node.child_by_field_name("arguments")
            given = tuple(self.expression(c) for c in (listed.named_children if listed else ()) if c.type != "comment")
            return ((self.text(node.child_by_field_name("name")), given),)
        if node.type == "dependent_name" and node.named_children:
            return self._path(node.named_children[-1])
        return ((" ".join(self.text(node).split()), None),)

    def _parameters(self, node: tree_sitter.Node | None) -> tuple[tree.Parameter, ...]:
        out = []
        for child in node.named_children if node else ():
            if child.type in (
                "type_parameter_declaration",
                "optional_type_parameter_declaration",
                "variadic_type_parameter_declaration",
            ):
                name = child.child_by_field_name("name") or next(
                    (c for c in child.named_children if c.type == "type_identifier"), None
                )
                default = child.child_by_field_name("default_type")
                out.append(
                    tree.Parameter(
                        self.text(name), None, self.type(default) if default else None, True,
                        child.type.startswith("variadic"), span=self.span(child),
                    )
                )  # fmt: skip
            elif child.type.endswith("parameter_declaration"):
                type_node, declarator = child.child_by_field_name("type"), child.child_by_field_name("declarator")
                default = child.child_by_field_name("default_value")
                base = self.type(type_node) if type_node else tree.Type(())
                made, name_text = self._declared(base, declarator) if declarator else (base, "")
                out.append(
                    tree.Parameter(
                        name_text, made, self.expression(default) if default else None, False,
                        child.type.startswith("variadic"), span=self.span(child),
                    )
                )  # fmt: skip
        return tuple(out)

    def _number(self, node: tree_sitter.Node) -> tree.Expression:
        read_one = literal(self.text(node))
        if read_one is None:
            return tree.Other(self.text(node), span=self.span(node))
        return tree.Num(*read_one, span=self.span(node))

    def _name(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Name(self._path(node), span=self.span(node))

    def _inside(self, node: tree_sitter.Node) -> tree.Expression:
        inner = [c for c in node.named_children if c.type != "comment"]
        return self.expression(inner[-1]) if inner else tree.Other("", span=self.span(node))

    def _binary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.text(node.child_by_field_name("operator"))
        op = {"or": "||", "and": "&&", "bitor": "|", "bitand": "&", "not_eq": "!=", "xor": "^"}.get(op, op)
        return tree.Binary(op, self._field(node, "left"), self._field(node, "right"), span=self.span(node))

    def _unary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.text(node.child_by_field_name("operator"))
        op = {"not": "!", "compl": "~"}.get(op, op)
        if node.type == "update_expression":
            postfix = node.children and node.children[0].is_named
            one = tree.Num(1, literal("1")[1])  # type: ignore[index]
            change = tree.Assign(self._field(node, "argument"), op[0], one, span=self.span(node))
            return tree.Unary("post", change, span=self.span(node)) if postfix else change
        return tree.Unary(op, self._field(node, "argument"), span=self.span(node))

    def _choice(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Choice(
            self._field(node, "condition"), self._field(node, "consequence"), self._field(node, "alternative"),
            span=self.span(node),
        )  # fmt: skip

    def _cast(self, node: tree_sitter.Node) -> tree.Expression:
        type_node = node.child_by_field_name("type")
        made = self.type(type_node) if type_node else tree.Type(())
        return tree.Cast(made, self._field(node, "value"), span=self.span(node))

    def _call(self, node: tree_sitter.Node) -> tree.Expression:
        function, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        given = tuple(self.expression(c) for c in (listed.named_children if listed else ()) if c.type != "comment")
        if function is None:
            return tree.Other(self.text(node), span=self.span(node))
        if function.type == "primitive_type":
            value = given[0] if given else tree.Num(0, ULONG)
            return tree.Cast(self.type(function), value, span=self.span(node))
        made = self.expression(function)
        if isinstance(made, tree.Name) and made.last in _CASTS and made.path[-1][1] and given:
            target = made.path[-1][1][0]
            pointer = made.last == "reinterpret_cast"
            return tree.Cast(as_type(target), given[0], pointer, span=self.span(node))
        return tree.Call(made, given, span=self.span(node))

    def _member(self, node: tree_sitter.Node) -> tree.Expression:
        field = node.child_by_field_name("field")
        path = self._path(field) if field else (("", None),)
        arrow = self.text(node.child_by_field_name("operator")) == "->"
        return tree.Member(self._field(node, "argument"), path[-1][0], arrow, path[-1][1], span=self.span(node))

    def _index(self, node: tree_sitter.Node) -> tree.Expression:
        listed = node.child_by_field_name("indices")
        inner = (
            tuple(self.expression(c) for c in listed.named_children)
            if listed is not None and listed.type == "subscript_argument_list"
            else (self.expression(listed),) if listed is not None else ()
        )  # fmt: skip
        return tree.Index(self._field(node, "argument"), inner, span=self.span(node))

    def _assign(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.text(node.child_by_field_name("operator")).rstrip("=")
        return tree.Assign(self._field(node, "left"), op, self._field(node, "right"), span=self.span(node))

    def _items(self, node: tree_sitter.Node) -> tree.Expression:
        items: list[tuple[str, tree.Expression]] = []
        for child in node.named_children:
            if child.type == "initializer_pair":
                name = self.text(child.child_by_field_name("designator")).strip(". ")
                items.append((name, self._field(child, "value")))
            elif child.type != "comment":
                items.append(("", self.expression(child)))
        return tree.Items(tuple(items), span=self.span(node))

    def _made(self, node: tree_sitter.Node) -> tree.Expression:
        type_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        inner = self._items(value) if value else tree.Items(())
        items = inner.items if isinstance(inner, tree.Items) else ()
        return tree.Items(items, self.type(type_node) if type_node else None, span=self.span(node))

    def _sizeof(self, node: tree_sitter.Node) -> tree.Expression:
        type_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if type_node is not None:
            return tree.SizeOf(self.type(type_node), span=self.span(node))
        return tree.SizeOf(self.expression(value) if value else tree.Other(""), span=self.span(node))

    def _string(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Text(self.text(node).strip('"'), span=self.span(node))

    def _char(self, node: tree_sitter.Node) -> tree.Expression:
        body = self.text(node).strip("'")
        return tree.Num(ord(body[-1]) if body else 0, CHAR, span=self.span(node))

    def _truth(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Num(int(node.type == "true"), BOOL, span=self.span(node))

    def _null(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Num(0, ULONG, span=self.span(node))

    def _lambda(self, node: tree_sitter.Node) -> tree.Expression:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        parameters = self._parameters(declarator.child_by_field_name("parameters")) if declarator else ()
        block = self._block(body) if body else tree.Block(())
        returns = self.returned(declarator)
        return tree.Lambda(
            tree.Function("", parameters, block, returns=returns, span=self.span(node)), span=self.span(node)
        )

    def returned(self, declarator: tree_sitter.Node | None) -> tree.Type | None:
        """The type behind `->` of a function or lambda; None where none stands there."""
        trailing = [c for c in declarator.named_children if c.type == "trailing_return_type"] if declarator else []
        described = trailing[0].named_children[0] if trailing and trailing[0].named_children else None
        return self.type(described) if described is not None else None

    def _type_value(self, node: tree_sitter.Node) -> tree.Expression:
        return self.type(node)

    def _comma(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Binary(",", self._field(node, "left"), self._field(node, "right"), span=self.span(node))

    # given by Lowering
    _struct: Any
    _block: Any


def as_type(value: tree.Expression) -> tree.Type:
    """A template argument read as a type."""
    if isinstance(value, tree.Type):
        return value
    return tree.Type(value.path if isinstance(value, tree.Name) else (), span=value.span)


_EXPRESSIONS: dict[str, Callable[[Expressions, tree_sitter.Node], tree.Expression]] = {
    "number_literal": Expressions._number,
    **dict.fromkeys(
        "identifier field_identifier qualified_identifier template_function namespace_identifier this".split(),
        Expressions._name,
    ),
    **dict.fromkeys("parenthesized_expression condition_clause".split(), Expressions._inside),
    "binary_expression": Expressions._binary,
    **dict.fromkeys("unary_expression pointer_expression update_expression".split(), Expressions._unary),
    "conditional_expression": Expressions._choice,
    "cast_expression": Expressions._cast,
    "call_expression": Expressions._call,
    "field_expression": Expressions._member,
    "subscript_expression": Expressions._index,
    "assignment_expression": Expressions._assign,
    "initializer_list": Expressions._items,
    "compound_literal_expression": Expressions._made,
    "sizeof_expression": Expressions._sizeof,
    **dict.fromkeys("string_literal concatenated_string raw_string_literal".split(), Expressions._string),
    "char_literal": Expressions._char,
    **dict.fromkeys("true false".split(), Expressions._truth),
    **dict.fromkeys("null nullptr".split(), Expressions._null),
    "lambda_expression": Expressions._lambda,
    **dict.fromkeys(
        "type_descriptor primitive_type sized_type_specifier type_identifier template_type dependent_type"
        " decltype".split(),
        Expressions._type_value,
    ),
    "comma_expression": Expressions._comma,
}
