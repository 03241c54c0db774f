"""C++'s types and expressions, of tree-sitter's nodes → the tree of layouts/reader/code/tree.py."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from lanescope.cxx.integers import BOOL, INT, ULONG, character, literal, type_named
from lanescope.reader.code import tree
from lanescope.reader.code.cxx_types import Types
from lanescope.reader.code.nodes import Readers

if TYPE_CHECKING:
    import tree_sitter

_REAL = re.compile(r"(?:\d[\d']*\.?[\d']*|\.\d[\d']*)(?:[eE][-+]?\d+)?[fFlL]?")
_SPELLED = {"or": "||", "and": "&&", "bitor": "|", "bitand": "&", "not_eq": "!=", "xor": "^"}
_FOLDED = frozenset("+ - * / % ^ & | && || , << >> < > <= >= == != = += -= *= /= %= ^= &= |= <<= >>=".split())
_CASTS = {"static_cast", "reinterpret_cast", "const_cast", "bit_cast", "dynamic_cast", "safe_cast"}


class Expressions(Types):
    """Types and expressions of one text; Lowering adds the statements."""

    @abstractmethod
    def _block(self, node: tree_sitter.Node) -> tree.Statement:
        """Return the statements of a block."""

    def readers(self) -> Readers:
        return _EXPRESSIONS

    def _number(self, node: tree_sitter.Node) -> tree.Expression:
        text = self.text(node)
        sign = text[0] if text[:1] in "+-" else ""  # the grammar takes a sign for a part of the literal
        text = text[len(sign) :].lstrip()
        read_one = literal(text)
        if read_one is None and not sign and _REAL.fullmatch(text):
            return tree.Real(text, 32 if text[-1] in "fF" else 64, span=self.span(node))
        if read_one is None:
            return tree.Other(sign + text, span=self.span(node))
        one = tree.Num(*read_one, span=self.span(node))
        return tree.Unary(sign, one, span=self.span(node)) if sign else one

    def _name(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Name(self._path(node), span=self.span(node))

    def _inside(self, node: tree_sitter.Node) -> tree.Expression:
        inner = [c for c in node.named_children if c.type != "comment"]
        return self.expression(inner[-1]) if inner else tree.Other("", span=self.span(node))

    def _binary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.text(node.child_by_field_name("operator"))
        op = _SPELLED.get(op, op)
        return tree.Binary(op, self._field(node, "left"), self._field(node, "right"), span=self.span(node))

    def _unary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.text(node.child_by_field_name("operator"))
        op = {"not": "!", "compl": "~"}.get(op, op)
        inner = node.child_by_field_name("argument")
        after = node.type == "update_expression" and bool(node.children) and node.children[0].is_named
        if after and inner is not None and inner.type == "unary_expression":
            return self._signed_step(node, inner, op[0])
        if node.type == "update_expression":
            postfix = node.children and node.children[0].is_named
            one = tree.Num(1, INT)
            change = tree.Assign(self._field(node, "argument"), op[0], one, True, span=self.span(node))
            return tree.Unary("post", change, span=self.span(node)) if postfix else change
        return tree.Unary(op, self._field(node, "argument"), span=self.span(node))

    def _signed_step(self, node: tree_sitter.Node, inner: tree_sitter.Node, op: str) -> tree.Expression:
        """-i--, which the grammar reads as (-i)--."""
        operand = inner.child_by_field_name("argument")
        sign = self.text(inner.child_by_field_name("operator"))
        if operand is not None and operand.type == "unary_expression":
            made = self._signed_step(node, operand, op)
        else:
            value = self.expression(operand) if operand is not None else tree.Other("")
            change = tree.Assign(value, op, tree.Num(1, INT), True, span=self.span(node))
            made = tree.Unary("post", change, span=self.span(node))
        return tree.Unary({"not": "!", "compl": "~"}.get(sign, sign), made, span=self.span(node))

    def _choice(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Choice(
            self._field(node, "condition"),
            self._field(node, "consequence"),
            self._field(node, "alternative"),
            span=self.span(node),
        )

    def _cast(self, node: tree_sitter.Node) -> tree.Expression:
        type_node = node.child_by_field_name("type")
        declarator = type_node.child_by_field_name("declarator") if type_node else None
        while declarator is not None and declarator.type != "abstract_function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        if declarator is not None:  # (a * (b & c)) & d: the grammar takes a product for a type
            return tree.Other(self.text(node), span=self.span(node))
        made = self.type(type_node) if type_node else tree.Type(())
        return tree.Cast(made, self._field(node, "value"), span=self.span(node))

    def _call(self, node: tree_sitter.Node) -> tree.Expression:
        function, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        given = self._given(listed)
        if function is None:
            return tree.Other(self.text(node), span=self.span(node))
        if function.type in ("primitive_type", "sized_type_specifier"):
            value = given[0] if given else tree.Num(0, INT)
            return tree.Cast(self.type(function), value, span=self.span(node))
        made = self.expression(function)
        if isinstance(made, tree.Call) and len(made.arguments) == len(given) == 1:  # (wchar_t)(long)(x) and its kind
            outer, inner = made.function, made.arguments[0]
            if _names_type(outer) and _names_type(inner):
                cast = tree.Cast(as_type(inner), given[0], span=self.span(node))
                return tree.Cast(as_type(outer), cast, span=self.span(node))
        if isinstance(made, tree.Name) and made.last in _CASTS and made.path[-1][1] and given:
            target = made.path[-1][1][0]
            pointer = made.last == "reinterpret_cast"
            return tree.Cast(as_type(target), given[0], pointer, span=self.span(node))
        return tree.Call(made, given, span=self.span(node))

    def _member(self, node: tree_sitter.Node) -> tree.Expression:
        field = node.child_by_field_name("field")
        path = self._path(field) if field else (("", None),)
        operator = self.text(node.child_by_field_name("operator"))
        if operator not in ("->", "."):  # a pointer to a member
            return tree.Other(self.text(node), span=self.span(node))
        arrow = operator == "->"
        return tree.Member(
            self._field(node, "argument"), path[-1][0], arrow, path[-1][1], path[:-1], span=self.span(node)
        )

    def _index(self, node: tree_sitter.Node) -> tree.Expression:
        listed = node.child_by_field_name("indices")
        inner = (
            tuple(self.expression(c) for c in listed.named_children)
            if listed is not None and listed.type == "subscript_argument_list"
            else (self.expression(listed),)
            if listed is not None
            else ()
        )
        return tree.Index(self._field(node, "argument"), inner, span=self.span(node))

    def _assign(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.text(node.child_by_field_name("operator"))
        op = {"and_eq": "&", "or_eq": "|", "xor_eq": "^"}.get(op, op.rstrip("="))
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
        align, pack = node.type == "alignof_expression", self.text(node)[6:].lstrip().startswith("...")
        inner = self.type(type_node) if type_node is not None else self.expression(value) if value else tree.Other("")
        return tree.SizeOf(inner, align, pack, span=self.span(node))

    def _string(self, node: tree_sitter.Node) -> tree.Expression:
        parts = [node] if node.type != "concatenated_string" else [c for c in node.named_children if "string" in c.type]
        return tree.Text("".join(self.text(part).strip('"') for part in parts), span=self.span(node))

    def _char(self, node: tree_sitter.Node) -> tree.Expression:
        read_one = character(self.text(node))
        if read_one is None:
            return tree.Other(self.text(node), span=self.span(node))
        return tree.Num(*read_one, span=self.span(node))

    def _truth(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Num(int(node.type == "true"), BOOL, span=self.span(node))

    def _null(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Num(0, ULONG, span=self.span(node))

    def _lambda(self, node: tree_sitter.Node) -> tree.Expression:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        parameters = self._parameters(declarator.child_by_field_name("parameters")) if declarator else ()
        block = self._block(body) if body else tree.Block(())
        listed = node.child_by_field_name("template_parameters")
        function = tree.Function(
            "", parameters, block, self._parameters(listed), returns=self.returned(declarator), span=self.span(node)
        )
        default, captures = self._captures(node.child_by_field_name("captures"))
        return tree.Lambda(function, default, captures, span=self.span(node))

    def _captures(self, node: tree_sitter.Node | None) -> tuple[str, tuple[tree.Capture, ...]]:
        """The default of a lambda's captures, and those that it names."""
        default, out, by_reference, starred = "", [], False, False
        for child in node.children if node else ():
            if child.type == "lambda_default_capture":
                default = self.text(child)
            elif child.type == "&":
                by_reference = True
            elif self.text(child).replace(" ", "") == "*this" or (child.type == "this" and starred):
                out.append(tree.Capture("*this", span=self.span(child)))
            elif child.type == "*":
                starred = True
            elif child.is_named and child.type != "comment":
                out.append(self._capture(child, by_reference))
                by_reference = False
        return default, tuple(out)

    def _capture(self, node: tree_sitter.Node, by_reference: bool) -> tree.Capture:
        """One capture with a name; by_reference: whether & stands in front of it."""
        if node.type != "lambda_capture_initializer":
            return tree.Capture(self.text(node), by_reference, span=self.span(node))
        name, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        inner = self.expression(value) if value else None
        named = next((c for c in node.named_children if c.type == "identifier"), name)
        by_reference = by_reference or any(c.type == "&" for c in node.children)
        return tree.Capture(self.text(named), by_reference, inner, span=self.span(node))

    def _fold(self, node: tree_sitter.Node) -> tree.Expression:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        op = next((c.type for c in node.children if c.type in _FOLDED), "")
        sides = [c if c is not None and c.type != "..." else None for c in (left, right)]
        first, second = (self.expression(c) if c is not None else None for c in sides)
        return tree.Fold(op, first, second, span=self.span(node))

    def _new(self, node: tree_sitter.Node) -> tree.Expression:
        type_node, given = node.child_by_field_name("type"), node.child_by_field_name("arguments")
        if type_node is None:
            return tree.Other(self.text(node), span=self.span(node))
        made, sized = self.type(type_node), node.child_by_field_name("declarator")
        dims: list[tree.Expression | None] = []
        while sized is not None:
            length = sized.child_by_field_name("length")
            dims.append(self.expression(length) if length is not None else None)
            sized = next((c for c in sized.named_children if c.type == "new_declarator"), None)
        if dims:
            made = tree.Type(made.path, made.pointers, made.reference, tuple(dims), made.body, span=made.span)
        braced = given is not None and given.type == "initializer_list"
        where = self._given(node.child_by_field_name("placement"))
        return tree.New(made, self._given(given), braced, given is None, where, span=self.span(node))

    def _delete(self, node: tree_sitter.Node) -> tree.Expression:
        inner = [c for c in node.named_children if c.type != "comment"]
        array = any(c.type == "[" for c in node.children)
        value = self.expression(inner[-1]) if inner else tree.Other("")
        return tree.Delete(value, array, span=self.span(node))

    def _offset(self, node: tree_sitter.Node) -> tree.Expression:
        type_node, member = node.child_by_field_name("type"), node.child_by_field_name("member")
        if type_node is None or member is None:
            return tree.Other(self.text(node), span=self.span(node))
        return tree.OffsetOf(self.type(type_node), self.text(member), span=self.span(node))

    def _pack(self, node: tree_sitter.Node) -> tree.Expression:
        inner = node.child_by_field_name("pattern") or (node.named_children[0] if node.named_children else None)
        return tree.Unary("...", self.expression(inner) if inner else tree.Other(""), span=self.span(node))

    def _user_literal(self, node: tree_sitter.Node) -> tree.Expression:
        """1_unit, a call of operator""_unit."""
        parts = node.named_children
        if len(parts) != 2:
            return tree.Other(self.text(node), span=self.span(node))
        name = tree.Name(((f'operator""{self.text(parts[1])}', None),), span=self.span(parts[1]))
        value = self.expression(parts[0])
        if isinstance(value, tree.Num):
            value = tree.Num(value.value, ULONG, span=value.span)
        return tree.Call(name, (value,), span=self.span(node))

    def _type_value(self, node: tree_sitter.Node) -> tree.Expression:
        return self.type(node)

    def _comma(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Binary(",", self._field(node, "left"), self._field(node, "right"), span=self.span(node))


def _names_type(value: tree.Expression) -> bool:
    """Whether an expression is the name of an integer type."""
    return isinstance(value, tree.Name | tree.Type) and bool(value.path) and type_named(value.path[-1][0]) is not None


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
    **dict.fromkeys("sizeof_expression alignof_expression".split(), Expressions._sizeof),
    "fold_expression": Expressions._fold,
    "new_expression": Expressions._new,
    "delete_expression": Expressions._delete,
    "offsetof_expression": Expressions._offset,
    "parameter_pack_expansion": Expressions._pack,
    "user_defined_literal": Expressions._user_literal,
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
