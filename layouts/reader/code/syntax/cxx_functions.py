"""Lower tree-sitter nodes of C++ functions: their names, types, parameters and the initializers of constructors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.cxx_expressions import ExpressionLowering

if TYPE_CHECKING:
    import tree_sitter

Heads = tuple[tuple[tree.Parameter, ...], ...]  # the parameters of each preceding `template <…>`, outermost first


class FunctionLowering(ExpressionLowering):
    """The lowering of a function's head; CxxLowering adds its statements."""

    @abstractmethod
    def _defer_block(self, node: tree_sitter.Node) -> tree.Statement:
        """Return the body of a function, lowered when it is first run."""

    def _lower_function(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        body = body or next((c for c in node.named_children if c.type == "try_statement"), None)
        if declarator is not None:
            yield from self._lower_signature(node, declarator, body, heads)

    def _lower_signature(
        self, node: tree_sitter.Node, declarator: tree_sitter.Node, body: tree_sitter.Node | None, heads: Heads
    ) -> Iterator[tree.Statement]:
        """Yield a function, given its node and its declarator; a declaration if `body` is None."""
        returns = node.child_by_field_name("type")
        base, inner = self._find_return_type(self.lower_declared_type(node, returns) if returns else None, declarator)
        if inner is None or inner.type not in ("operator_cast", "function_declarator"):
            return
        path, converted, qualifiers = self._find_function_name(inner, returns)
        words = {"virtual" if c.type == "virtual" else self.get_text(c) for c in node.children if c != body}
        outer, own_heads = _split_heads(path, heads)
        clauses = [c.type for c in node.named_children]
        yield tree.Function(
            path[-1][0],
            self._lower_parameters(inner.child_by_field_name("parameters")),
            self._defer_block(body) if body else None,
            own_heads[-1] if own_heads else (),
            tuple(self._lower_initializers(node)),
            self.lower_trailing_return(inner) or converted or base,
            owner=path[:-1],
            owner_templates=outer,
            specialized=(path[-1][1] or ()) if own_heads and not own_heads[-1] else None,
            constraint=self._lower_constraint(inner),
            static="static" in words,
            const=self._is_const(qualifiers),
            virtual="virtual" in words,
            deleted="delete_method_clause" in clauses,
            explicit="explicit_function_specifier" in clauses,
            defaulted="default_method_clause" in clauses,
            qualifier=self.get_text(_find_child(inner, "ref_qualifier")),
            span=self.get_span(node),
        )

    def _find_function_name(
        self, node: tree_sitter.Node, returns: tree_sitter.Node | None
    ) -> tuple[tree.Path, tree.Type | None, tree_sitter.Node | None]:
        """Return (name, type if it is a conversion function, node that may be followed by const). returns: the type
        before the name; after two specifiers, the grammar takes the word operator for it.
        """
        if node.type == "operator_cast":
            converted = self._lower_conversion_type(node)
            stars = "*" * converted.pointers + converted.reference if converted is not None else ""
            path = (("operator " + self.get_text(node.child_by_field_name("type")) + stars, None),)
            return path, converted, node.child_by_field_name("declarator")
        named = node.child_by_field_name("declarator")
        if named is None:
            return (("", None),), None, node
        if returns is not None and self.get_text(returns) == "operator":
            target = self._lower_path(named)
            return ((f"operator {target[-1][0]}", None),), tree.Type(target, span=self.get_span(named)), node
        return (
            self._lower_path(named),
            self._lower_conversion_type(named) if named.type == "operator_cast" else None,
            node,
        )

    def _find_return_type(
        self, base: tree.Type | None, declarator: tree_sitter.Node
    ) -> tuple[tree.Type | None, tree_sitter.Node | None]:
        """Return (return type including the declarator's pointers, inner declarator)."""
        inner: tree_sitter.Node | None = declarator
        while inner is not None and inner.type in ("pointer_declarator", "reference_declarator"):
            if base is not None:
                reference = self._find_reference(inner) if inner.type == "reference_declarator" else base.reference
                pointers = base.pointers + (inner.type == "pointer_declarator")
                base = tree.Type(base.path, pointers, reference, base.dims, base.body, base.const, span=base.span)
            inner = next((c for c in inner.named_children if c.type.endswith(("declarator", "operator_cast"))), None)
        return base, inner

    def _lower_conversion_type(self, node: tree_sitter.Node) -> tree.Type | None:
        """Return the type of a conversion function."""
        type_node, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        if type_node is None or declarator is None:
            return self.lower_type(type_node) if type_node else None
        return self._lower_declared(self.lower_declared_type(node, type_node), declarator)[0]

    def _lower_requirement(self, node: tree_sitter.Node) -> tree.Expression:
        inner = node.child_by_field_name("constraint")
        return self.lower_expression(inner) if inner else tree.OpaqueExpression(self.get_text(node))

    def _lower_constraint(self, node: tree_sitter.Node) -> tree.Expression | None:
        """Return the requires clause of a function, else of the current template."""
        clause = _find_child(node, "requires_clause")
        return self._lower_requirement(clause) if clause else self.constraint

    def _is_const(self, qualifiers: tree_sitter.Node | None) -> bool:
        return qualifiers is not None and any(self.get_text(c) == "const" for c in qualifiers.named_children)

    def _lower_initializers(self, node: tree_sitter.Node) -> Iterator[tuple[str, tuple[tree.Expression, ...]]]:
        """Yield (member or base, values) of a constructor's initializer list, in order."""
        for clause in node.named_children:
            for child in clause.named_children if clause.type == "field_initializer_list" else ():
                parts = child.named_children
                if child.type == "field_initializer" and parts:
                    name = self._lower_path(parts[0])[-1][0]
                    values = parts[1].named_children if len(parts) > 1 else ()
                    yield name, tuple(self.lower_expression(c) for c in values if c.type != "comment")


def _split_heads(path: tree.Path, heads: Heads) -> tuple[tuple[tree.Parameter, ...], Heads]:
    """Split template heads into (parameters of the classes that contain a name, heads of the name itself)."""
    count = sum(template_arguments is not None for _, template_arguments in path[:-1])
    return tuple(parameter for head in heads[:count] for parameter in head), heads[count:]


def _find_child(node: tree_sitter.Node, kind: str) -> tree_sitter.Node | None:
    return next((c for c in node.named_children if c.type == kind), None)
