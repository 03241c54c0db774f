"""Lower tree-sitter nodes of C++ types, declarators, names and parameters to layouts/reader/code/syntax/tree.py."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.cxx_arguments import parse_arguments
from lanescope.reader.code.syntax.nodes import NodeReader
from lanescope.reader.code.syntax.source import ParsedSource

if TYPE_CHECKING:
    import tree_sitter

RECORDS = ("struct_specifier", "union_specifier", "class_specifier")
_TYPE_PARAMETERS = frozenset(
    "type_parameter_declaration optional_type_parameter_declaration variadic_type_parameter_declaration"
    " template_template_parameter_declaration".split()
)
# Declarators that do not change the type.
_TRANSPARENT = frozenset(
    "parenthesized_declarator init_declarator variadic_declarator abstract_parenthesized_declarator".split()
)


class TypeLowering(NodeReader):
    """The lowering of types and names of one text."""

    @abstractmethod
    def _lower_struct(
        self, node: tree_sitter.Node, templates: tuple[tree.Parameter, ...]
    ) -> tree.StructDefinition | None:
        """Lower a class definition or a forward declaration of a class template; None for another declaration."""

    def __init__(self, source: ParsedSource) -> None:
        super().__init__(source.text)
        self.source = source
        self.constraint: tree.Expression | None = None  # of the current template

    def get_span(self, node: tree_sitter.Node) -> Span:
        return self.source.get_original(node.start_byte, node.end_byte)

    def _lower_declared(self, base: tree.Type, node: tree_sitter.Node) -> tuple[tree.Type, tree_sitter.Node]:
        """Return (type, node of the name) of a declarator.

        Pointers, references and array sizes are part of the type. A pointer to a function or an array gets the type
        auto.
        """
        pointers, reference, dims = base.pointers, base.reference, list(base.dims)
        while True:
            kind = node.type
            if kind in ("pointer_declarator", "abstract_pointer_declarator"):
                pointers += 1
            elif kind in ("reference_declarator", "abstract_reference_declarator"):
                reference = self._find_reference(node)
            elif kind == "array_declarator" and self._is_array_pointer(node):
                base, pointers, reference, dims = tree.Type((("auto", None),), span=base.span), 0, "", []
            elif kind in ("array_declarator", "abstract_array_declarator"):
                size = node.child_by_field_name("size")
                dims.insert(0, self.lower_expression(size) if size else None)
            elif kind == "function_declarator" and self._is_function_pointer(node):
                base, pointers, reference, dims = tree.Type((("auto", None),), span=base.span), 0, "", []
            elif kind not in _TRANSPARENT:
                break
            inner = node.child_by_field_name("declarator")
            inner = inner or next(
                (c for c in reversed(node.named_children) if c.type.endswith(("declarator", "identifier"))), None
            )
            if inner is None:
                break
            node = inner
        type_node = tree.Type(base.path, pointers, reference, tuple(dims), base.body, base.const, span=base.span)
        return type_node, node

    def _find_reference(self, node: tree_sitter.Node) -> str:
        return "&&" if self.get_text(node).startswith("&&") else "&"

    def _is_array_pointer(self, node: tree_sitter.Node) -> bool:
        """Return whether a declarator is (*name)[n], a pointer to an array."""
        inner = node.child_by_field_name("declarator")
        while inner is not None and inner.type == "array_declarator":
            inner = inner.child_by_field_name("declarator")
        starred = inner is not None and inner.type == "parenthesized_declarator"
        return starred and any(c.type == "pointer_declarator" for c in inner.named_children) if inner else False

    def _is_function_pointer(self, node: tree_sitter.Node) -> bool:
        inner = node.child_by_field_name("declarator")
        return inner is not None and inner.type == "parenthesized_declarator"

    def lower_declared_type(self, node: tree_sitter.Node, type_node: tree_sitter.Node) -> tree.Type:
        """Lower the type of a declaration, with a const qualifier beside it."""
        kind = self.lower_type(type_node)
        const = any(c.type == "type_qualifier" and self.get_text(c) in ("const", "constexpr") for c in node.children)
        if not const or kind.const:
            return kind
        return tree.Type(kind.path, kind.pointers, kind.reference, kind.dims, kind.body, True, span=kind.span)

    def lower_type(self, node: tree_sitter.Node) -> tree.Type:
        if node.type == "type_descriptor":
            inner = node.child_by_field_name("type")
            base = self.lower_declared_type(node, inner) if inner else tree.Type(())
            declarator = node.child_by_field_name("declarator")
            return self._lower_declared(base, declarator)[0] if declarator else base
        if node.type in (*RECORDS, "enum_specifier"):
            name = node.child_by_field_name("name")
            body = (
                self._lower_struct(node, ())
                if node.child_by_field_name("body") and node.type != "enum_specifier"
                else None
            )
            path = self._lower_path(name) if name is not None and body is None else ((self.get_text(name), None),)
            return tree.Type(path, body=body, span=self.get_span(node))
        if node.type == "dependent_type":
            inner = node.named_children[0] if node.named_children else None
            return self.lower_type(inner) if inner else tree.Type(())
        if node.type == "decltype":
            return self._lower_decltype(node)
        return tree.Type(self._lower_path(node), span=self.get_span(node))

    def _lower_decltype(self, node: tree_sitter.Node) -> tree.Type:
        """Return a decltype. The grammar has no comma here: what is before it is an error."""
        parts = [part for part in node.named_children if part.type not in ("comment", "ERROR")]
        return (
            self.make_decltype(parts[-1], node) if parts else tree.Type((("decltype", ()),), span=self.get_span(node))
        )

    def make_decltype(self, inner: tree_sitter.Node, node: tree_sitter.Node) -> tree.Type:
        """Return decltype(inner); parentheses around a name make it an expression, `()` of the name."""
        value = self.lower_expression(inner)
        if inner.type == "parenthesized_expression":
            value = tree.Unary("()", value, span=value.span)
        return tree.Type((("decltype", (value,)),), span=self.get_span(node))

    def _lower_path(self, node: tree_sitter.Node) -> tree.Path:
        """Return the parts of a qualified name; `::name` begins with an empty part."""
        if node.type == "qualified_identifier":
            return self._lower_qualified_path(node)
        if node.type == "nested_namespace_specifier":
            return tuple(part for child in node.named_children for part in self._lower_path(child))
        if node.type in ("template_type", "template_function", "template_method"):
            template_arguments = self._lower_arguments(node.child_by_field_name("arguments"))
            return ((self.get_text(node.child_by_field_name("name")), template_arguments),)
        if node.type in ("dependent_name", "dependent_type") and node.named_children:
            return self._lower_path(node.named_children[-1])
        text = " ".join(self.get_text(node).split())
        return ((text.replace(" ", "") if node.type == "operator_name" else text, None),)

    def _lower_qualified_path(self, node: tree_sitter.Node) -> tree.Path:
        parts: list[tuple[str, tuple[tree.Expression, ...] | None]] = []
        inner: tree_sitter.Node | None = node
        while inner is not None and inner.type == "qualified_identifier":  # a::b::c is a, then b::c
            scope, inner = inner.child_by_field_name("scope"), inner.child_by_field_name("name")
            parts += self._lower_path(scope) if scope else (("", None),) if not parts else ()
        return (*parts, *(self._lower_path(inner) if inner else ()))

    def _lower_parameters(self, node: tree_sitter.Node | None) -> tuple[tree.Parameter, ...]:
        parameters = []
        for child in node.named_children if node else ():
            if child.type in _TYPE_PARAMETERS:
                parameters.append(self._lower_type_parameter(child))
            elif child.type.endswith("parameter_declaration"):
                parameters.append(self._lower_value_parameter(child))
        if node is not None and any(child.type == "..." for child in node.children):
            parameters.append(tree.Parameter("", tree.Type((("...", None),)), pack=True, span=self.get_span(node)))
        return tuple(parameters)

    def _lower_type_parameter(self, node: tree_sitter.Node) -> tree.Parameter:
        """Lower a type parameter or template parameter of a template."""
        if node.type.startswith("template_template"):
            node = node.named_children[-1]
        name = node.child_by_field_name("name") or next(
            (c for c in node.named_children if c.type == "type_identifier"), None
        )
        default = node.child_by_field_name("default_type")
        kind = self.lower_type(default) if default else None
        return tree.Parameter(
            self.get_text(name), None, kind, True, node.type.startswith("variadic"), span=self.get_span(node)
        )

    def _lower_value_parameter(self, node: tree_sitter.Node) -> tree.Parameter:
        type_node, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        default = node.child_by_field_name("default_value")
        base = self.lower_declared_type(node, type_node) if type_node else tree.Type(())
        kind, named = self._lower_declared(base, declarator) if declarator else (base, None)
        abstract = named is None or named.type.startswith("abstract") or not named.type.endswith("identifier")
        value = self.lower_expression(default) if default else None
        name = "" if abstract else self.get_text(named)
        return tree.Parameter(name, kind, value, False, node.type.startswith("variadic"), span=self.get_span(node))

    def _lower_arguments(self, node: tree_sitter.Node | None) -> tuple[tree.Expression, ...]:
        children = [c for c in (node.named_children if node else ()) if c.type != "comment"]
        if node is not None and node.type == "argument_list" and any(c.has_error for c in children):
            children = parse_arguments(self.source, node) or children
        return tuple(map(self.lower_expression, children))

    def find_misread_call(self, node: tree_sitter.Node) -> tree.Call | None:
        """Return the call that the grammar reads as the type of a function: size<0>(tile) as a template argument.

        None for a type: its template arguments are types.
        """
        declarator, kind = node.child_by_field_name("declarator"), node.child_by_field_name("type")
        if declarator is None or kind is None or declarator.type != "abstract_function_declarator":
            return None
        path = self._lower_path(kind)
        chosen = path[-1][1] if path else None
        parameters = self._lower_parameters(declarator.child_by_field_name("parameters"))
        types = [item.type for item in parameters if not item.name and item.type is not None and not item.pack]
        if (
            not chosen
            or not all(isinstance(item, tree.NumberLiteral) for item in chosen)
            or len(types) != len(parameters)
        ):
            return None
        arguments = tuple(tree.Name(item.path, span=item.span) for item in types)
        return tree.Call(tree.Name(path, span=self.get_span(kind)), arguments, span=self.get_span(node))

    def lower_trailing_return(self, declarator: tree_sitter.Node | None) -> tree.Type | None:
        """Lower the trailing return type of a function or lambda; None without one."""
        trailing = [c for c in declarator.named_children if c.type == "trailing_return_type"] if declarator else []
        described = trailing[0].named_children[0] if trailing and trailing[0].named_children else None
        return self.lower_type(described) if described is not None else None
