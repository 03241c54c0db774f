"""Lower tree-sitter nodes of C++ expressions to the tree of layouts/reader/code/syntax/tree.py."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from lanescope.cxx.integers import BOOL, INT, ULONG, find_integer_type
from lanescope.cxx.literals import parse_character, parse_literal
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.cxx_types import TypeLowering
from lanescope.reader.code.syntax.nodes import Readers
from lanescope.reader.code.syntax.tree_statements import Block

if TYPE_CHECKING:
    import tree_sitter

_REAL = re.compile(r"(?:\d[\d']*\.?[\d']*|\.\d[\d']*)(?:[eE][-+]?\d+)?[fFlL]?")
_SPELLED = {"or": "||", "and": "&&", "bitor": "|", "bitand": "&", "not_eq": "!=", "xor": "^"}
_FOLDED = frozenset("+ - * / % ^ & | && || , << >> < > <= >= == != = += -= *= /= %= ^= &= |= <<= >>=".split())
_CONSTANT_TYPES = {  # of <cstdint>'s macros for constants: the promoted types (ISO C17, 7.20.4)
    **dict.fromkeys("INT8_C UINT8_C INT16_C UINT16_C INT32_C".split(), "int"),
    **dict.fromkeys("INT64_C INTMAX_C".split(), "int64_t"),
    "UINT32_C": "uint32_t",
    **dict.fromkeys("UINT64_C UINTMAX_C".split(), "uint64_t"),
}
_CASTS = {"static_cast", "reinterpret_cast", "const_cast", "bit_cast", "dynamic_cast", "safe_cast"}


class ExpressionLowering(TypeLowering):
    """The lowering of types and expressions of one text; CxxLowering adds statements."""

    @abstractmethod
    def _lower_block(self, node: tree_sitter.Node) -> tree.Statement:
        """Return the statements of a block."""

    def list_readers(self) -> Readers:
        return _EXPRESSIONS

    def _lower_number(self, node: tree_sitter.Node) -> tree.Expression:
        text = self.get_text(node)
        sign = text[0] if text[:1] in "+-" else ""  # the grammar includes the sign in the literal
        text = text[len(sign) :].lstrip()
        parsed = parse_literal(text)
        if parsed is None and not sign and _REAL.fullmatch(text):
            return tree.RealLiteral(text, 32 if text[-1] in "fF" else 64, span=self.get_span(node))
        if parsed is None:
            return tree.OpaqueExpression(sign + text, span=self.get_span(node))
        literal = tree.NumberLiteral(*parsed, span=self.get_span(node))
        return tree.Unary(sign, literal, span=self.get_span(node)) if sign else literal

    def _lower_name(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Name(self._lower_path(node), span=self.get_span(node))

    def _lower_parenthesized(self, node: tree_sitter.Node) -> tree.Expression:
        inner = [c for c in node.named_children if c.type != "comment"]
        return self.lower_expression(inner[-1]) if inner else tree.OpaqueExpression("", span=self.get_span(node))

    def _lower_binary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.get_text(node.child_by_field_name("operator"))
        op = _SPELLED.get(op, op)
        return tree.Binary(
            op, self._lower_field(node, "left"), self._lower_field(node, "right"), span=self.get_span(node)
        )

    def _lower_unary(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.get_text(node.child_by_field_name("operator"))
        op = {"not": "!", "compl": "~"}.get(op, op)
        inner = node.child_by_field_name("argument")
        after = node.type == "update_expression" and bool(node.children) and node.children[0].is_named
        if after and inner is not None and inner.type == "unary_expression":
            return self._lower_signed_step(node, inner, op[0])
        if node.type == "update_expression":
            postfix = node.children and node.children[0].is_named
            step = tree.NumberLiteral(1, INT)
            change = tree.Assignment(self._lower_field(node, "argument"), op[0], step, True, span=self.get_span(node))
            return tree.Unary("post", change, span=self.get_span(node)) if postfix else change
        return tree.Unary(op, self._lower_field(node, "argument"), span=self.get_span(node))

    def _lower_signed_step(self, node: tree_sitter.Node, inner: tree_sitter.Node, op: str) -> tree.Expression:
        """Lower -i--, which the grammar reads as (-i)--."""
        operand = inner.child_by_field_name("argument")
        sign = self.get_text(inner.child_by_field_name("operator"))
        if operand is not None and operand.type == "unary_expression":
            operation = self._lower_signed_step(node, operand, op)
        else:
            value = self.lower_expression(operand) if operand is not None else tree.OpaqueExpression("")
            change = tree.Assignment(value, op, tree.NumberLiteral(1, INT), True, span=self.get_span(node))
            operation = tree.Unary("post", change, span=self.get_span(node))
        return tree.Unary({"not": "!", "compl": "~"}.get(sign, sign), operation, span=self.get_span(node))

    def _lower_choice(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.ConditionalExpression(
            self._lower_field(node, "condition"),
            self._lower_field(node, "consequence"),
            self._lower_field(node, "alternative"),
            span=self.get_span(node),
        )

    def _lower_cast(self, node: tree_sitter.Node) -> tree.Expression:
        type_node = node.child_by_field_name("type")
        declarator = type_node.child_by_field_name("declarator") if type_node else None
        while declarator is not None and declarator.type != "abstract_function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        if declarator is not None:  # (a * (b & c)) & d: the grammar reads the product as a type
            return tree.OpaqueExpression(self.get_text(node), span=self.get_span(node))
        kind = self.lower_type(type_node) if type_node else tree.Type(())
        return tree.Cast(kind, self._lower_field(node, "value"), span=self.get_span(node))

    def _lower_call(self, node: tree_sitter.Node) -> tree.Expression:
        function, argument_list = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        arguments = self._lower_arguments(argument_list)
        if function is None:
            return tree.OpaqueExpression(self.get_text(node), span=self.get_span(node))
        if function.type in ("primitive_type", "sized_type_specifier"):
            value = arguments[0] if arguments else tree.NumberLiteral(0, INT)
            return tree.Cast(self.lower_type(function), value, span=self.get_span(node))
        callee = self.lower_expression(function)
        if isinstance(callee, tree.Call) and len(callee.arguments) == len(arguments) == 1:  # (wchar_t)(long)(x)
            outer, inner = callee.function, callee.arguments[0]
            if _is_integer_type_name(outer) and _is_integer_type_name(inner):
                cast = tree.Cast(type_from_expression(inner), arguments[0], span=self.get_span(node))
                return tree.Cast(type_from_expression(outer), cast, span=self.get_span(node))
        if (target := _find_cast_type(callee)) is not None and arguments:
            pointer = isinstance(callee, tree.Name) and callee.last == "reinterpret_cast"
            return tree.Cast(target, arguments[0], pointer, span=self.get_span(node))
        launch = next((self._lower_arguments(c) for c in node.named_children if c.type == "kernel_call_syntax"), ())
        return tree.Call(callee, arguments, launch=launch, span=self.get_span(node))

    def _lower_member(self, node: tree_sitter.Node) -> tree.Expression:
        field = node.child_by_field_name("field")
        path = self._lower_path(field) if field else (("", None),)
        operator = self.get_text(node.child_by_field_name("operator"))
        if operator not in ("->", "."):  # a pointer to a member
            return tree.OpaqueExpression(self.get_text(node), span=self.get_span(node))
        arrow = operator == "->"
        return tree.Member(
            self._lower_field(node, "argument"), path[-1][0], arrow, path[-1][1], path[:-1], span=self.get_span(node)
        )

    def _lower_index(self, node: tree_sitter.Node) -> tree.Expression:
        indices = node.child_by_field_name("indices")
        inner = (
            tuple(self.lower_expression(c) for c in indices.named_children if c.type != "comment")
            if indices is not None and indices.type == "subscript_argument_list"
            else (self.lower_expression(indices),)
            if indices is not None
            else ()
        )
        return tree.Index(self._lower_field(node, "argument"), inner, span=self.get_span(node))

    def _lower_assign(self, node: tree_sitter.Node) -> tree.Expression:
        op = self.get_text(node.child_by_field_name("operator"))
        op = {"and_eq": "&", "or_eq": "|", "xor_eq": "^"}.get(op, op.rstrip("="))
        return tree.Assignment(
            self._lower_field(node, "left"), op, self._lower_field(node, "right"), span=self.get_span(node)
        )

    def _lower_items(self, node: tree_sitter.Node) -> tree.Expression:
        items: list[tuple[str, tree.Expression]] = []
        for child in node.named_children:
            if child.type == "initializer_pair":
                name = self.get_text(child.child_by_field_name("designator")).strip(". ")
                items.append((name, self._lower_field(child, "value")))
            elif child.type != "comment":
                items.append(("", self.lower_expression(child)))
        return tree.ItemList(tuple(items), span=self.get_span(node))

    def _lower_compound_literal(self, node: tree_sitter.Node) -> tree.Expression:
        type_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        inner = self._lower_items(value) if value else tree.ItemList(())
        items = inner.items if isinstance(inner, tree.ItemList) else ()
        return tree.ItemList(items, self.lower_type(type_node) if type_node else None, span=self.get_span(node))

    def _lower_sizeof(self, node: tree_sitter.Node) -> tree.Expression:
        type_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        align, pack = node.type == "alignof_expression", self.get_text(node)[6:].lstrip().startswith("...")
        inner = (
            self.lower_type(type_node)
            if type_node is not None
            else self.lower_expression(value)
            if value
            else tree.OpaqueExpression("")
        )
        return tree.SizeOf(inner, align, pack, span=self.get_span(node))

    def _lower_string(self, node: tree_sitter.Node) -> tree.Expression:
        parts = [node] if node.type != "concatenated_string" else [c for c in node.named_children if "string" in c.type]
        return tree.StringLiteral("".join(self.get_text(part).strip('"') for part in parts), span=self.get_span(node))

    def _lower_character(self, node: tree_sitter.Node) -> tree.Expression:
        parsed = parse_character(self.get_text(node))
        if parsed is None:
            return tree.OpaqueExpression(self.get_text(node), span=self.get_span(node))
        return tree.NumberLiteral(*parsed, span=self.get_span(node))

    def _lower_boolean(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.NumberLiteral(int(node.type == "true"), BOOL, span=self.get_span(node))

    def _lower_null(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.NumberLiteral(0, ULONG, span=self.get_span(node))

    def _lower_lambda(self, node: tree_sitter.Node) -> tree.Expression:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        parameters = self._lower_parameters(declarator.child_by_field_name("parameters")) if declarator else ()
        block = self._lower_block(body) if body else Block(())
        template_parameters = node.child_by_field_name("template_parameters")
        returns = self.lower_trailing_return(declarator)
        function = tree.Function(
            "",
            parameters,
            block,
            self._lower_parameters(template_parameters),
            returns=returns,
            span=self.get_span(node),
        )
        default, captures = self._lower_captures(node.child_by_field_name("captures"))
        return tree.Lambda(function, default, captures, span=self.get_span(node))

    def _lower_captures(self, node: tree_sitter.Node | None) -> tuple[str, tuple[tree.LambdaCapture, ...]]:
        """Lower a lambda's captures; return (default, named captures)."""
        default, captures, by_reference, starred = "", [], False, False
        for child in node.children if node else ():
            if child.type == "lambda_default_capture":
                default = self.get_text(child)
            elif child.type == "&":
                by_reference = True
            elif self.get_text(child).replace(" ", "") == "*this" or (child.type == "this" and starred):
                captures.append(tree.LambdaCapture("*this", span=self.get_span(child)))
            elif child.type == "*":
                starred = True
            elif child.is_named and child.type != "comment":
                captures.append(self._lower_capture(child, by_reference))
                by_reference = False
        return default, tuple(captures)

    def _lower_capture(self, node: tree_sitter.Node, by_reference: bool) -> tree.LambdaCapture:
        """Lower one named capture; by_reference: whether & precedes it."""
        if node.type != "lambda_capture_initializer":
            return tree.LambdaCapture(self.get_text(node), by_reference, span=self.get_span(node))
        name, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        inner = self.lower_expression(value) if value else None
        named = next((c for c in node.named_children if c.type == "identifier"), name)
        by_reference = by_reference or any(c.type == "&" for c in node.children)
        return tree.LambdaCapture(self.get_text(named), by_reference, inner, span=self.get_span(node))

    def _lower_fold(self, node: tree_sitter.Node) -> tree.Expression:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        op = next((c.type for c in node.children if c.type in _FOLDED), "")
        sides = [c if c is not None and c.type != "..." else None for c in (left, right)]
        first, second = (self.lower_expression(c) if c is not None else None for c in sides)
        return tree.Fold(op, first, second, span=self.get_span(node))

    def _lower_new(self, node: tree_sitter.Node) -> tree.Expression:
        type_node, arguments = node.child_by_field_name("type"), node.child_by_field_name("arguments")
        if type_node is None:
            return tree.OpaqueExpression(self.get_text(node), span=self.get_span(node))
        kind, sized = self.lower_type(type_node), node.child_by_field_name("declarator")
        dims: list[tree.Expression | None] = []
        while sized is not None:
            length = sized.child_by_field_name("length")
            dims.append(self.lower_expression(length) if length is not None else None)
            sized = next((c for c in sized.named_children if c.type == "new_declarator"), None)
        if dims:
            kind = tree.Type(kind.path, kind.pointers, kind.reference, tuple(dims), kind.body, span=kind.span)
        braced = arguments is not None and arguments.type == "initializer_list"
        where = self._lower_arguments(node.child_by_field_name("placement"))
        return tree.New(
            kind, self._lower_arguments(arguments), braced, arguments is None, where, span=self.get_span(node)
        )

    def _lower_delete(self, node: tree_sitter.Node) -> tree.Expression:
        inner = [c for c in node.named_children if c.type != "comment"]
        array = any(c.type == "[" for c in node.children)
        value = self.lower_expression(inner[-1]) if inner else tree.OpaqueExpression("")
        return tree.Delete(value, array, span=self.get_span(node))

    def _lower_offsetof(self, node: tree_sitter.Node) -> tree.Expression:
        type_node, member = node.child_by_field_name("type"), node.child_by_field_name("member")
        if type_node is None or member is None:
            return tree.OpaqueExpression(self.get_text(node), span=self.get_span(node))
        return tree.OffsetOf(self.lower_type(type_node), self.get_text(member), span=self.get_span(node))

    def _lower_pack(self, node: tree_sitter.Node) -> tree.Expression:
        inner = node.child_by_field_name("pattern") or (node.named_children[0] if node.named_children else None)
        return tree.Unary(
            "...", self.lower_expression(inner) if inner else tree.OpaqueExpression(""), span=self.get_span(node)
        )

    def _lower_user_literal(self, node: tree_sitter.Node) -> tree.Expression:
        """Lower 1_unit to a call of operator""_unit."""
        parts = node.named_children
        if len(parts) != 2:
            return tree.OpaqueExpression(self.get_text(node), span=self.get_span(node))
        name = tree.Name(((f'operator""{self.get_text(parts[1])}', None),), span=self.get_span(parts[1]))
        value = self.lower_expression(parts[0])
        if isinstance(value, tree.NumberLiteral):
            value = tree.NumberLiteral(value.value, ULONG, span=value.span)
        return tree.Call(name, (value,), span=self.get_span(node))

    def _lower_type_value(self, node: tree_sitter.Node) -> tree.Expression:
        return self.find_misread_call(node) or self.lower_type(node)

    def _lower_comma(self, node: tree_sitter.Node) -> tree.Expression:
        return tree.Binary(
            ",", self._lower_field(node, "left"), self._lower_field(node, "right"), span=self.get_span(node)
        )


def _is_integer_type_name(value: tree.Expression) -> bool:
    """Return whether an expression is the name of an integer type."""
    return (
        isinstance(value, tree.Name | tree.Type)
        and bool(value.path)
        and find_integer_type(value.path[-1][0]) is not None
    )


def type_from_expression(value: tree.Expression) -> tree.Type:
    """Return a template argument as a type."""
    if isinstance(value, tree.Type):
        return value
    return tree.Type(value.path if isinstance(value, tree.Name) else (), span=value.span)


_EXPRESSIONS: dict[str, Callable[[ExpressionLowering, tree_sitter.Node], tree.Expression]] = {
    "number_literal": ExpressionLowering._lower_number,
    **dict.fromkeys(
        "identifier field_identifier qualified_identifier template_function namespace_identifier this".split(),
        ExpressionLowering._lower_name,
    ),
    **dict.fromkeys("parenthesized_expression condition_clause".split(), ExpressionLowering._lower_parenthesized),
    "binary_expression": ExpressionLowering._lower_binary,
    **dict.fromkeys("unary_expression pointer_expression update_expression".split(), ExpressionLowering._lower_unary),
    "conditional_expression": ExpressionLowering._lower_choice,
    "cast_expression": ExpressionLowering._lower_cast,
    "call_expression": ExpressionLowering._lower_call,
    "field_expression": ExpressionLowering._lower_member,
    "subscript_expression": ExpressionLowering._lower_index,
    "assignment_expression": ExpressionLowering._lower_assign,
    "initializer_list": ExpressionLowering._lower_items,
    "compound_literal_expression": ExpressionLowering._lower_compound_literal,
    **dict.fromkeys("sizeof_expression alignof_expression".split(), ExpressionLowering._lower_sizeof),
    "fold_expression": ExpressionLowering._lower_fold,
    "new_expression": ExpressionLowering._lower_new,
    "delete_expression": ExpressionLowering._lower_delete,
    "offsetof_expression": ExpressionLowering._lower_offsetof,
    "parameter_pack_expansion": ExpressionLowering._lower_pack,
    "user_defined_literal": ExpressionLowering._lower_user_literal,
    **dict.fromkeys("string_literal concatenated_string raw_string_literal".split(), ExpressionLowering._lower_string),
    "char_literal": ExpressionLowering._lower_character,
    **dict.fromkeys("true false".split(), ExpressionLowering._lower_boolean),
    **dict.fromkeys("null nullptr".split(), ExpressionLowering._lower_null),
    "lambda_expression": ExpressionLowering._lower_lambda,
    **dict.fromkeys(
        "type_descriptor primitive_type sized_type_specifier type_identifier template_type dependent_type"
        " decltype".split(),
        ExpressionLowering._lower_type_value,
    ),
    "comma_expression": ExpressionLowering._lower_comma,
}


def _find_cast_type(callee: tree.Expression) -> tree.Type | None:
    """Return the type that static_cast<T> and its kin, or a macro for constants, convert to; None for other calls."""
    if not isinstance(callee, tree.Name):
        return None
    if callee.last in _CASTS and callee.path[-1][1]:
        return type_from_expression(callee.path[-1][1][0])
    name = _CONSTANT_TYPES.get(callee.last)
    return tree.Type(((name, None),)) if name is not None else None
