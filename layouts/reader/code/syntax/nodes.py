"""The base class of readers of tree-sitter nodes, for any language: a node's text, span and expression."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lanescope.errors import LayoutError
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import tree

if TYPE_CHECKING:
    import tree_sitter

MOST_DEPTH = 80
Readers = Mapping[str, Callable[[Any, "tree_sitter.Node"], tree.Expression]]


@contextmanager
def require_parser() -> Iterator[None]:
    """Turn a missing tree-sitter, imported inside, into LayoutError `no_parser`."""
    try:
        yield
    except ImportError:
        raise LayoutError(
            "no_parser",
            "Code is read with tree-sitter, which is not installed.",
            "Install tree-sitter, tree-sitter-cuda and tree-sitter-python; everything else works without them.",
        ) from None


class NodeReader(ABC):
    """A reader of the nodes of one parsed text; each language supplies the reader of each kind of node."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.depth = 0

    @abstractmethod
    def list_readers(self) -> Readers:
        """Return the reader of each kind of node in the language."""

    @abstractmethod
    def get_span(self, node: tree_sitter.Node) -> Span:
        """Return a node's span in the pasted text."""

    def get_text(self, node: tree_sitter.Node | None) -> str:
        return self.text[node.start_byte : node.end_byte] if node else ""

    def lower_expression(self, node: tree_sitter.Node) -> tree.Expression:
        """Lower an expression; an unsupported or too deeply nested node becomes an OpaqueExpression of its text."""
        self.depth += 1
        try:
            reader = self.list_readers().get(node.type)
            broken = node.has_error and any(child.type == "ERROR" for child in node.children)
            if reader is None or broken or self.depth > MOST_DEPTH:
                return tree.OpaqueExpression(" ".join(self.get_text(node).split())[:80], span=self.get_span(node))
            return reader(self, node)
        finally:
            self.depth -= 1

    def _lower_field(self, node: tree_sitter.Node, name: str) -> tree.Expression:
        child = node.child_by_field_name(name)
        return self.lower_expression(child) if child else tree.OpaqueExpression("", span=self.get_span(node))
