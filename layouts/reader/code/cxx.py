"""C++ and CUDA → the tree of layouts/reader/code/tree.py, by tree-sitter's CUDA grammar. What the parser cannot read
becomes Unread: the evaluator forgets what such text may write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from lanescope.cxx.integers import BOOL
from lanescope.deadline import check_deadline, reading_at
from lanescope.reader.code import topmost, tree
from lanescope.reader.code.cxx_expressions import RECORDS, Expressions
from lanescope.reader.code.inline_ptx import string
from lanescope.reader.code.nodes import MOST_DEPTH, parser_installed
from lanescope.reader.code.source import Source
from lanescope.reader.code.word import Span

if TYPE_CHECKING:
    import tree_sitter

MOST_PROGRESS = 900  # calls of the parser's progress function: a bound on its work, whatever the text …
PART = 4000  # characters of the declarations that are parsed together where a whole text takes too much
MOST_OPEN = 1500  # braces in one another: mending more that are not closed takes the parser seconds in one go
MOST_FAILED = 32  # parts that may take too much
PROGRESS_PER_KB = 40  # … and of each 1,000 characters: CUTLASS's headers take 4 to 10

Heads = tuple[tuple[tree.Parameter, ...], ...]  # the parameters of each `template <…>` in front, outermost first
_LISTS = frozenset("linkage_specification declaration_list field_declaration_list translation_unit".split())
# What runs no code and defines nothing that the evaluator knows.
_SILENT = frozenset(
    "comment access_specifier static_assert_declaration template_instantiation concept_definition attribute_declaration"
    " type_descriptor".split()
)
_CONTROL = re.compile(
    r"\b(?:if|else|for|while|do|switch|case|default|return|goto|break|continue|try|catch|throw)\b|[?:]"
)


@cache
def _language() -> tree_sitter.Language:
    with parser_installed():
        import tree_sitter
        import tree_sitter_cuda

    return tree_sitter.Language(tree_sitter_cuda.language())


def parse_bounded(
    language: tree_sitter.Language, source: Source, ranges: Sequence[tree_sitter.Range] = ()
) -> tree_sitter.Node | None:
    """Parse ASCII text, or only some ranges of it; None if that takes more work than any kernel does.

    Each call has a parser of its own (a microsecond): the callbacks below let other threads run, and two threads in one
    parser end the process.
    """
    import tree_sitter

    parser = tree_sitter.Parser(language)
    if ranges:
        parser.included_ranges = list(ranges)
    length = sum(one.end_byte - one.start_byte for one in ranges) or len(source.text)
    data = source.text.encode("ascii", "replace").replace(b"->*", b" .*")  # which the grammar lacks
    if _deepest(data) > MOST_OPEN:
        return None
    calls = 0
    most = MOST_PROGRESS + PROGRESS_PER_KB * length // 1000

    def stop(offset: int, error: bool) -> bool:
        nonlocal calls
        with reading_at(lambda: source.original(offset, offset + 1)[0]):
            check_deadline()
        calls += 1
        return calls > most

    try:
        return parser.parse(lambda at, _: data[at : at + (1 << 16)], progress_callback=stop).root_node
    except ValueError:
        return None


def _deepest(data: bytes) -> int:
    """How many braces are open in one another at most."""
    if data.count(b"{") <= MOST_OPEN:
        return 0
    steps = (1 if found[0] == b"{" else -1 for found in re.finditer(rb"[{}]", data))
    return max(accumulate(steps), default=0)


def well_formed(source: Source) -> bool:
    """Whether the whole of a text follows the grammar."""
    root = parse_bounded(_language(), source)
    return root is not None and not root.has_error


def read(source: Source) -> tuple[tree.Statement, ...]:
    """The statements of a text, whole functions and loose lines alike."""
    return read_parts(source)[0]


def read_parts(source: Source) -> tuple[tuple[tree.Statement, ...], tuple[Span, ...]]:
    """The statements of a text, and the places in it of declarations whose parsing takes too much work: a text that is
    too much as a whole is read declaration by declaration.
    """
    root = parse_bounded(_language(), source)
    if root is not None:
        return tuple(Lowering(source).statements(root)), ()
    out: list[tree.Statement] = []
    unread: list[Span] = []
    lowering = Lowering(source)
    failed = 0
    for part in topmost.parts(source.text, PART):
        ranges = [_range(*span) for span in part.spans()]
        root = parse_bounded(_language(), source, ranges) if failed < MOST_FAILED else None
        if root is None:
            failed += 1
            unread.append(source.original(part.start, part.end))
        else:
            out += lowering.statements(root)
    return tuple(out), tuple(unread)


def _range(start: int, end: int) -> tree_sitter.Range:
    import tree_sitter

    return tree_sitter.Range((0, start), (0, end), start, end)


class Lowering(Expressions):
    """One text's nodes → the tree."""

    def statements(self, node: tree_sitter.Node) -> Iterator[tree.Statement]:
        for child in node.named_children:
            yield from self.statement(child)

    def statement(self, node: tree_sitter.Node, heads: Heads = ()) -> Iterator[tree.Statement]:
        with reading_at(lambda: self.span(node)[0]):
            check_deadline()
        kind = node.type
        if kind == "ERROR":
            yield from self._unread(node)
            return
        if self.depth > MOST_DEPTH:
            yield tree.Unread(self.text(node), span=self.span(node))
            return
        self.depth += 1
        try:
            if node.has_error and kind in _CHECKED and self._has_own_error(node):
                if kind == "return_statement":
                    yield tree.Return(tree.Other(self.text(node), span=self.span(node)), span=self.span(node))
                else:
                    yield from _STATEMENTS[kind](self, node, heads)
                    after = node.next_named_sibling if node.children and node.children[-1].is_missing else None
                    text = self.text(node) + (self.text(after) if after is not None else "")
                    yield tree.Unread(text, span=self.span(node))
            elif kind in _STATEMENTS:
                yield from _STATEMENTS[kind](self, node, heads)
            elif kind in _LISTS:
                yield from self.statements(node.child_by_field_name("body") or node)
            elif kind.endswith(("_expression", "_literal")) or kind in ("identifier", "qualified_identifier"):
                yield tree.Do(self.expression(node), span=self.span(node))
            elif kind not in _SILENT and not kind.startswith("preproc"):
                yield tree.Unread(self.text(node), span=self.span(node))
        finally:
            self.depth -= 1

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

    def _template(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        given = self._parameters(node.child_by_field_name("parameters"))
        constraint = next((c for c in node.named_children if c.type == "requires_clause"), None)
        self.constraint = self._required(constraint) if constraint else None
        for child in node.named_children:
            if child.type not in ("template_parameter_list", "requires_clause"):
                yield from self.statement(child, (*heads, given))
        self.constraint = None

    def _required(self, node: tree_sitter.Node) -> tree.Expression:
        inner = node.child_by_field_name("constraint")
        return self.expression(inner) if inner else tree.Other(self.text(node))

    def _namespace(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        names = tuple(re.findall(r"\w+", self.text(named))) if named else ()
        inline = any(c.type == "inline" for c in node.children)
        yield tree.Namespace(names, tuple(self.statements(body)) if body else (), inline, span=self.span(node))

    def _namespace_alias(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        named = node.child_by_field_name("name")
        path = tuple((name, None) for name in re.findall(r"\w+", self.text(node).partition("=")[2]))
        yield tree.NamespaceAlias(self.text(named), path, span=self.span(node))

    def _using(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        whole = any(c.type == "namespace" for c in node.children)
        named = next((c for c in node.named_children if c.type != "comment"), None)
        if named is not None:
            yield tree.Using(self._path(named), whole, span=self.span(node))

    def _friend(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        """A function that a class defines as its friend: the class's namespace has it."""
        for child in node.named_children:
            if child.type == "function_definition":
                for made in self.statement(child, heads):
                    if isinstance(made, tree.Function):
                        yield tree.Friend(made, span=made.span)

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
        call = (
            left.child_by_field_name("argument") if left is not None and left.type == "subscript_expression" else None
        )
        kind = call.child_by_field_name("function") if call is not None and call.type == "call_expression" else None
        if node.type != "assignment_expression" or kind is None or kind.type != "primitive_type" or right is None:
            return None
        listed = call.child_by_field_name("arguments") if call is not None else None
        given = listed.named_children if listed is not None else []
        if len(given) != 1 or given[0].type != "pointer_expression":
            return None
        sign, named = given[0].children[0].type, given[0].child_by_field_name("argument")
        sizes = self.expression(left) if left is not None else None
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

    def _alias(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        type_node = node.child_by_field_name("type")
        if named is None or type_node is None:
            return
        templates = heads[-1] if heads else ()
        if type_node.type in RECORDS and type_node.child_by_field_name("body"):
            made = self._struct(type_node, ())
            if made:
                name = self.text(named)
                yield tree.Struct(name, made.members, made.union, bases=made.bases, span=made.span)
                if made.name and made.name != name:
                    yield tree.Alias(made.name, tree.Type(((name, None),)), span=made.span)
            return
        if type_node.type == "enum_specifier" and type_node.child_by_field_name("body"):
            made_enum = self._enumeration(type_node)
            yield tree.Enum(self.text(named), made_enum.members, made_enum.base, span=made_enum.span)
            return
        made_type, inner = self._declared(self.typed(node, type_node), named)
        yield tree.Alias(self.text(inner), made_type, templates, span=self.span(node))

    def _enum(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        yield self._enumeration(node)

    def _enumeration(self, node: tree_sitter.Node) -> tree.Enum:
        members = []
        body, base = node.child_by_field_name("body"), node.child_by_field_name("base")
        for child in body.named_children if body else ():
            if child.type == "enumerator":
                value = child.child_by_field_name("value")
                name = self.text(child.child_by_field_name("name"))
                members.append((name, self.expression(value) if value else None, self.span(child)))
        scoped = any(c.type in ("class", "struct") for c in node.children)
        return tree.Enum(
            self.text(node.child_by_field_name("name")),
            tuple(members),
            self.type(base) if base else None,
            scoped,
            span=self.span(node),
        )

    def _record(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        made = self._struct(node, heads[-1] if heads else ())
        if made:
            yield made

    def _struct(self, node: tree_sitter.Node, templates: tuple[tree.Parameter, ...]) -> tree.Struct | None:
        body, named = node.child_by_field_name("body"), node.child_by_field_name("name")
        if body is None:
            return tree.Struct(self.text(named), (), False, templates, complete=False) if templates and named else None
        specialized = None
        if named is not None and named.type == "template_type":
            specialized = self._path(named)[-1][1]
            named = named.child_by_field_name("name")
        bases = [
            tree.Type((("a virtual base", None),)) if _is_virtual(clause) else self.type(child)
            for clause in node.named_children
            if clause.type == "base_class_clause"
            for child in clause.named_children
            if child.type in ("type_identifier", "template_type", "qualified_identifier", "dependent_type")
        ]
        return tree.Struct(
            self.text(named),
            tuple(self.statements(body)),
            node.type == "union_specifier",
            templates,
            tuple(bases),
            specialized,
            span=self.span(node),
        )

    # declarations ----------------------------------------------------------------------------------------------------

    def _declaration(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        type_node = node.child_by_field_name("type")
        if type_node is None:
            yield from self._prototypes(node, heads)
            return
        body: tree.Struct | tree.Enum | None = None
        if type_node.type in RECORDS:
            made_struct = body = self._struct(type_node, heads[-1] if heads else ())
            if made_struct and made_struct.name:
                yield made_struct
        elif type_node.type == "enum_specifier" and type_node.child_by_field_name("body"):
            body = self._enumeration(type_node)
            yield body
        if body is None:
            base = self.typed(node, type_node)
        else:  # not read a second time: of nested ones each would double the work
            const = any(c.type == "type_qualifier" and self.text(c) in ("const", "constexpr") for c in node.children)
            name = self.text(type_node.child_by_field_name("name"))
            base = tree.Type(((name, None),), body=body, const=const, span=self.span(type_node))
        yield from self._declarators(node, base, body, heads)

    def _prototypes(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        """A constructor, destructor or conversion that is only declared."""
        for child in node.named_children:
            if child.type in ("function_declarator", "operator_cast"):
                yield from self._signature(node, child, None, heads)

    def _declarators(
        self, node: tree_sitter.Node, base: tree.Type, body: tree.Statement | None, heads: Heads
    ) -> Iterator[tree.Statement]:
        children = node.children
        words = {self.text(c) for c in children if c.type in ("storage_class_specifier", "type_qualifier")}
        static = bool(words & {"static", "constexpr"})
        lasting = bool(words & {"static", "thread_local"}) and not words & {"constexpr"}
        templates = heads[-1] if heads else ()
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
            made, last = self._declared(base, inner)
            if last.type == "structured_binding_declarator":
                names = tuple(self.text(c) for c in last.named_children)
                if next_value:
                    yield tree.Unpack(names, self.expression(next_value), bool(made.reference), span=self.span(node))
                continue
            if last.type == "function_declarator" and next_value is not None and node.type == "field_declaration":
                yield from self._signature(node, inner, None, heads)  # virtual void f() = 0
                continue
            if last.type == "function_declarator" and next_value is None:
                arguments = self._called_like(last)
                if arguments is None:
                    yield from self._signature(node, inner, None, heads)
                    continue
                last = last.child_by_field_name("declarator") or last
            if next_value is not None and next_value.type == "argument_list":
                arguments = tuple(self.expression(c) for c in next_value.named_children if c.type != "comment")
            elif next_value is not None:
                value = self.expression(next_value)
            path = self._path(last)
            width = self.expression(bits.named_children[0]) if bits and bits.named_children else None
            yield tree.Declare(
                made,
                path[-1][0],
                value,
                arguments=arguments,
                bits=width,
                static=static,
                lasting=lasting,
                const=bool(words & {"const", "constexpr", "__constant__"}),
                templates=templates,
                specialized=path[-1][1],
                owner=path[:-1],
                external="extern" in words and value is None,
                span=self.span(child),
            )
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

    # functions -------------------------------------------------------------------------------------------------------

    def _function(self, node: tree_sitter.Node, heads: Heads) -> Iterator[tree.Statement]:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        body = body or next((c for c in node.named_children if c.type == "try_statement"), None)
        if declarator is not None:
            yield from self._signature(node, declarator, body, heads)

    def _signature(
        self, node: tree_sitter.Node, declarator: tree_sitter.Node, body: tree_sitter.Node | None, heads: Heads
    ) -> Iterator[tree.Statement]:
        """A function, from its whole node and its declarator; without a body it is only declared."""
        returns = node.child_by_field_name("type")
        base = self.typed(node, returns) if returns else None
        inner: tree_sitter.Node | None = declarator
        while inner is not None and inner.type in ("pointer_declarator", "reference_declarator"):
            if base is not None:
                reference = self._referred(inner) if inner.type == "reference_declarator" else base.reference
                base = tree.Type(
                    base.path,
                    base.pointers + (inner.type == "pointer_declarator"),
                    reference,
                    base.dims,
                    base.body,
                    base.const,
                    span=base.span,
                )
            inner = next((c for c in inner.named_children if c.type.endswith(("declarator", "operator_cast"))), None)
        if inner is None:
            return
        qualifiers: tree_sitter.Node | None = inner
        path: tree.Path
        if inner.type == "operator_cast":
            base = self.type(node_type) if (node_type := inner.child_by_field_name("type")) else None
            path, listed = (("operator " + self.text(node_type), None),), None
            qualifiers = inner.child_by_field_name("declarator")
        elif inner.type == "function_declarator":
            named = inner.child_by_field_name("declarator")
            path = self._path(named) if named else (("", None),)
            if named is not None and named.type == "operator_cast":
                base = self.type(node_type) if (node_type := named.child_by_field_name("type")) else None
            listed = inner.child_by_field_name("parameters")
        else:
            return
        words = {c.type if c.type in ("virtual",) else self.text(c) for c in node.children if c != body}
        owners = sum(given is not None for _, given in path[:-1])
        own = heads[owners:]
        constraint = next((c for c in inner.named_children if c.type == "requires_clause"), None)
        clauses = [c.type for c in node.named_children]
        yield tree.Function(
            path[-1][0],
            self._parameters(listed),
            self._later(body) if body else None,
            own[-1] if own else (),
            tuple(self._initializers(node)),
            self.returned(inner) or base,
            owner=path[:-1],
            owner_templates=tuple(p for head in heads[:owners] for p in head),
            specialized=(path[-1][1] or ()) if own and not own[-1] else None,
            constraint=self._required(constraint) if constraint else self.constraint,
            static="static" in words,
            const=qualifiers is not None and any(self.text(c) == "const" for c in qualifiers.named_children),
            virtual="virtual" in words,
            deleted="delete_method_clause" in clauses,
            explicit="explicit_function_specifier" in clauses,
            defaulted="default_method_clause" in clauses,
            qualifier=next((self.text(c) for c in inner.named_children if c.type == "ref_qualifier"), ""),
            span=self.span(node),
        )

    def _initializers(self, node: tree_sitter.Node) -> Iterator[tuple[str, tuple[tree.Expression, ...]]]:
        """The members and bases that a constructor initializes, as they are written."""
        for clause in node.named_children:
            for child in clause.named_children if clause.type == "field_initializer_list" else ():
                parts = child.named_children
                if child.type == "field_initializer" and parts:
                    name = self._path(parts[0])[-1][0]
                    given = parts[1].named_children if len(parts) > 1 else ()
                    yield name, tuple(self.expression(c) for c in given if c.type != "comment")


def _is_virtual(clause: tree_sitter.Node) -> bool:
    return any(child.type == "virtual" for child in clause.children)


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
