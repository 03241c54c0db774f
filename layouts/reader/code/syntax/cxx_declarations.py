"""Lower tree-sitter nodes of C++ declarations: templates, namespaces, types, variables and functions."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.cxx_functions import FunctionLowering, Heads
from lanescope.reader.code.syntax.cxx_types import RECORDS

if TYPE_CHECKING:
    import tree_sitter


class DeclarationLowering(FunctionLowering):
    """The lowering of declarations of one text; CxxLowering adds the statements of functions."""

    @abstractmethod
    def lower_statement(self, node: tree_sitter.Node, heads: Heads = ()) -> Iterator[tree.Statement]:
        """Yield the statements of a node."""

    @abstractmethod
    def lower_statements(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        """Yield the statements of a node's children."""

    # templates and namespaces ----------------------------------------------------------------------------------------

    def _lower_template(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        parameters = self._lower_parameters(node.child_by_field_name("parameters"))
        constraint = next((c for c in node.named_children if c.type == "requires_clause"), None)
        self.constraint = self._lower_requirement(constraint) if constraint else None
        for child in node.named_children:
            if child.type not in ("template_parameter_list", "requires_clause"):
                yield from self.lower_statement(child, (*heads, parameters))
        self.constraint = None

    def _lower_namespace(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        names = tuple(re.findall(r"\w+", self.get_text(named))) if named else ()
        inline = any(c.type == "inline" for c in node.children)
        yield tree.Namespace(
            names, tuple(self.lower_statements(body)) if body else (), inline, span=self.get_span(node)
        )

    def _lower_namespace_alias(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        named = node.child_by_field_name("name")
        path = tuple((name, None) for name in re.findall(r"\w+", self.get_text(node).partition("=")[2]))
        yield tree.NamespaceAlias(self.get_text(named), path, span=self.get_span(node))

    def _lower_using(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        of_namespace = any(c.type == "namespace" for c in node.children)
        named = next((c for c in node.named_children if c.type != "comment"), None)
        if named is not None:
            yield tree.UsingDeclaration(self._lower_path(named), of_namespace, span=self.get_span(node))

    def _lower_friend(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        """Yield the friend functions that a class defines; they belong to the enclosing namespace."""
        for child in node.named_children:
            if child.type == "function_definition":
                for statement in self.lower_statement(child, heads):
                    if isinstance(statement, tree.Function):
                        yield tree.FriendFunction(statement, span=statement.span)

    # types -----------------------------------------------------------------------------------------------------------

    def _lower_alias(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        type_node = node.child_by_field_name("type")
        if named is None or type_node is None:
            return
        templates = heads[-1] if heads else ()
        if type_node.type in RECORDS and type_node.child_by_field_name("body"):
            definition = self._lower_struct(type_node, ())
            if definition:
                name = self.get_text(named)
                yield tree.StructDefinition(
                    name, definition.members, definition.union, bases=definition.bases, span=definition.span
                )
                if definition.name and definition.name != name:
                    yield tree.Alias(definition.name, tree.Type(((name, None),)), span=definition.span)
            return
        if type_node.type == "enum_specifier" and type_node.child_by_field_name("body"):
            enumeration = self._make_enumeration(type_node)
            yield tree.Enum(self.get_text(named), enumeration.members, enumeration.base, span=enumeration.span)
            return
        target, inner = self._lower_declared(self.lower_declared_type(node, type_node), named)
        yield tree.Alias(self.get_text(inner), target, templates, span=self.get_span(node))

    def _lower_enum(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        yield self._make_enumeration(node)

    def _make_enumeration(self, node: tree_sitter.Node) -> tree.Enum:
        members = []
        body, base = node.child_by_field_name("body"), node.child_by_field_name("base")
        for child in body.named_children if body else ():
            if child.type == "enumerator":
                value = child.child_by_field_name("value")
                name = self.get_text(child.child_by_field_name("name"))
                members.append((name, self.lower_expression(value) if value else None, self.get_span(child)))
        scoped = any(c.type in ("class", "struct") for c in node.children)
        return tree.Enum(
            self.get_text(node.child_by_field_name("name")),
            tuple(members),
            self.lower_type(base) if base else None,
            scoped,
            span=self.get_span(node),
        )

    def _record(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        definition = self._lower_struct(node, heads[-1] if heads else ())
        if definition:
            yield definition

    def _lower_struct(
        self, node: tree_sitter.Node, templates: tuple[tree.Parameter, ...]
    ) -> tree.StructDefinition | None:
        body, named = node.child_by_field_name("body"), node.child_by_field_name("name")
        if body is None:
            return (
                tree.StructDefinition(self.get_text(named), (), False, templates, complete=False)
                if templates and named
                else None
            )
        specialized = None
        if named is not None and named.type == "template_type":
            specialized = self._lower_path(named)[-1][1]
            named = named.child_by_field_name("name")
        bases = [
            tree.Type((("a virtual base", None),))
            if any(child.type == "virtual" for child in clause.children)
            else self.lower_type(child)
            for clause in node.named_children
            if clause.type == "base_class_clause"
            for child in clause.named_children
            if child.type in ("type_identifier", "template_type", "qualified_identifier", "dependent_type")
        ]
        return tree.StructDefinition(
            self.get_text(named),
            tuple(self.lower_statements(body)),
            node.type == "union_specifier",
            templates,
            tuple(bases),
            specialized,
            span=self.get_span(node),
        )

    # declarations ----------------------------------------------------------------------------------------------------

    def _lower_declaration(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        type_node = node.child_by_field_name("type")
        if type_node is None:
            yield from self._lower_prototypes(node, heads)
            return
        body: tree.StructDefinition | tree.Enum | None = None
        if type_node.type in RECORDS:
            made_struct = body = self._lower_struct(type_node, heads[-1] if heads else ())
            if made_struct and made_struct.name:
                yield made_struct
        elif type_node.type == "enum_specifier" and type_node.child_by_field_name("body"):
            body = self._make_enumeration(type_node)
            yield body
        if body is None:
            base = self.lower_declared_type(node, type_node)
        else:  # not lowered twice: nested definitions would double the work at each level
            const = any(
                c.type == "type_qualifier" and self.get_text(c) in ("const", "constexpr") for c in node.children
            )
            name = self.get_text(type_node.child_by_field_name("name"))
            base = tree.Type(((name, None),), body=body, const=const, span=self.get_span(type_node))
        yield from self._lower_declarators(node, base, body, heads)

    def _lower_prototypes(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        """Yield declarations of constructors, destructors and conversions."""
        for child in node.named_children:
            if child.type in ("function_declarator", "operator_cast"):
                yield from self._lower_signature(node, child, None, heads)

    def _lower_declarators(
        self, node: tree_sitter.Node, base: tree.Type, body: tree.Statement | None, heads: Heads
    ) -> Iterator[tree.Statement]:
        """Yield the variables and functions of one declaration, or its unnamed member."""
        children = node.children
        places = [at for at in range(len(children)) if node.field_name_for_child(at) == "declarator"]
        for at in places:
            yield from self._lower_declarator(node, at, base, heads)
        if places:
            return
        if isinstance(body, tree.StructDefinition) and not body.name:
            yield tree.Declaration(base, "", span=self.get_span(node))
        width = self._lower_width(children)
        if width is not None:
            yield tree.Declaration(base, "", bits=width, span=self.get_span(node))

    def _lower_declarator(
        self, node: tree_sitter.Node, at: int, base: tree.Type, heads: Heads
    ) -> Iterator[tree.Statement]:
        """Yield what one declarator declares, child `at` of the declaration."""
        inner, initializer = _split_declarator(node.children, at)
        if inner is None:
            return
        declared_type, last = self._lower_declared(base, inner)
        if last.type == "structured_binding_declarator":
            yield from self._lower_bindings(node, declared_type, last, initializer)
            return
        arguments: tuple[tree.Expression, ...] | None = None
        if last.type == "function_declarator":
            arguments = self._list_ambiguous_arguments(last) if initializer is None else None
            if _is_prototype(node, initializer, arguments):
                yield from self._lower_signature(node, inner, None, heads)
                return
        if arguments is not None:
            last = last.child_by_field_name("declarator") or last
        value = None
        if initializer is not None and initializer.type == "argument_list":
            arguments = self._lower_arguments(initializer)
        elif initializer is not None:
            value = self.lower_expression(initializer)
            type_node = node.child_by_field_name("type")
            if "".join(self.get_text(type_node).split()) == "decltype(auto)":
                declared_type = self.make_decltype(initializer, node)
        path = self._lower_path(last)
        words = self._list_specifiers(node)
        yield tree.Declaration(
            declared_type,
            path[-1][0],
            value,
            arguments=arguments,
            bits=self._lower_width(node.children[at + 1 : at + 2]),
            static=bool(words & {"static", "constexpr"}),
            lasting=bool(words & {"static", "thread_local"}) and "constexpr" not in words,
            const=bool(words & {"const", "constexpr", "__constant__"}),
            templates=heads[-1] if heads else (),
            specialized=path[-1][1],
            owner=path[:-1],
            external="extern" in words and value is None,
            span=self.get_span(node.children[at]),
        )

    def _lower_bindings(
        self,
        node: tree_sitter.Node,
        type_node: tree.Type,
        declarator: tree_sitter.Node,
        initializer: tree_sitter.Node | None,
    ) -> Iterator[tree.Statement]:
        """Yield the variables of auto [a, b] = value."""
        if initializer:
            names = tuple(self.get_text(c) for c in declarator.named_children)
            yield tree.UnpackDeclaration(
                names, self.lower_expression(initializer), bool(type_node.reference), span=self.get_span(node)
            )

    def _list_specifiers(self, node: tree_sitter.Node) -> set[str]:
        """Return the specifiers of a declaration: static, const, …"""
        return {self.get_text(c) for c in node.children if c.type in ("storage_class_specifier", "type_qualifier")}

    def _lower_width(self, children: Sequence[tree_sitter.Node]) -> tree.Expression | None:
        """Lower the width of a bit field; None if no node is one."""
        width = next(filter(None, map(_find_width, children)), None)
        if width is not None and width.type == "assignment_expression":  # unsigned phases : STAGES = 0
            width = width.child_by_field_name("left")
        return self.lower_expression(width) if width is not None else None

    def _list_ambiguous_arguments(self, node: tree_sitter.Node) -> tuple[tree.Expression, ...] | None:
        """Return the arguments of `T x(a, b)`, which parses as a function declaration, if a and b can be values."""
        result: list[tree.Expression] = []
        parameters = node.child_by_field_name("parameters")
        block = node.parent.parent if node.parent is not None else None
        inside = block is not None and block.type == "compound_statement"
        for child in parameters.named_children if parameters else ():
            type_node, factor = child.child_by_field_name("type"), child.child_by_field_name("declarator")
            if child.type != "parameter_declaration" or type_node is None or type_node.type == "primitive_type":
                return None
            if child.named_child_count != (1 if factor is None else 2):
                return None
            value: tree.Expression = tree.Name(self._lower_path(type_node), span=self.get_span(type_node))
            if factor is not None:  # T x(m * k) in a function
                if not inside or not _is_product(factor):
                    return None
                value = tree.Binary("*", value, self._lower_field(factor, "declarator"), span=self.get_span(child))
            result.append(value)
        return tuple(result) or None


def _is_prototype(
    node: tree_sitter.Node, initializer: tree_sitter.Node | None, arguments: tuple[tree.Expression, ...] | None
) -> bool:
    """Return whether a function declarator declares a function, not a variable with arguments."""
    if initializer is None:
        return arguments is None
    return node.type == "field_declaration"  # virtual void f() = 0


def _is_product(declarator: tree_sitter.Node) -> bool:
    """Return whether a declarator is `* name`, which may be the second half of a product."""
    inner = declarator.child_by_field_name("declarator")
    return declarator.type == "pointer_declarator" and inner is not None and inner.type == "identifier"


def _split_declarator(
    children: Sequence[tree_sitter.Node], at: int
) -> tuple[tree_sitter.Node | None, tree_sitter.Node | None]:
    """Return (declarator, initializer) at an index of a declaration's children."""
    child = children[at]
    if child.type == "init_declarator":
        return child.child_by_field_name("declarator"), child.child_by_field_name("value")
    width = _find_width(children[at + 1]) if at + 1 < len(children) else None
    if width is not None and width.type == "assignment_expression":
        return child, width.child_by_field_name("right")
    first = at + 1 if width is None else at + 2
    follow = [c for c in children[first : first + 3] if c.type != "comment"]
    if len(follow) > 1 and follow[0].type == "=":
        return child, follow[1]
    return child, follow[0] if follow and follow[0].type == "initializer_list" else None


def _find_width(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the width of a bit field; None if a node is not its clause. The grammar takes one with an initializer for
    an error, or for an assignment to the width.
    """
    clause = node.children[0] if node.type == "ERROR" and node.child_count == 1 else node
    return next(iter(clause.named_children), None) if clause.type == "bitfield_clause" else None
