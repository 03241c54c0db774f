"""The readers of C++ and Python name kinds and fields of nodes that their grammars have."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from types import CodeType, FunctionType

import tree_sitter
import tree_sitter_cuda
import tree_sitter_python

from lanescope.reader.code.syntax import cxx_declarations, cxx_expressions, cxx_types, python, tree, tree_statements
from lanescope.reader.code.syntax.cxx_statements import _STATEMENTS, CxxLowering
from tests.cases import for_each

CLASSES = {
    "cxx": (
        CxxLowering,
        cxx_declarations.DeclarationLowering,
        cxx_expressions.ExpressionLowering,
        cxx_types.TypeLowering,
    ),
    "python": (python.PythonLowering,),
}
TABLES = {
    "cxx": [*_STATEMENTS, *cxx_expressions._EXPRESSIONS],
    "python": [*python._STATEMENTS, *python._EXPRESSIONS],
}
KEYWORDS = {
    field.name
    for one in (*vars(tree).values(), *vars(tree_statements).values())
    if dataclasses.is_dataclass(one)
    for field in dataclasses.fields(one)
}
OTHER = {
    "cxx": {"ERROR", "reinterpret_cast", "post", "fF", "unreachable"},
    "python": {"ERROR", "Enum", "Flag", "lL", "rbfuRBFU"},
}


def list_texts(code: CodeType) -> Iterator[str]:
    """The texts that a function and those within it use."""
    waiting = list(code.co_consts)
    while waiting:
        match waiting.pop():
            case CodeType() as inner:
                waiting += inner.co_consts
            case str() as text:
                yield text
            case tuple() | frozenset() as several:
                waiting += several


def list_node_names(language: str) -> set[str]:
    """The words that a reader compares with the kinds and fields of nodes."""
    out = set(TABLES[language])
    for reader in CLASSES[language]:
        for function in vars(reader).values():
            if isinstance(function, FunctionType):
                for text in list_texts(function.__code__):
                    if text != function.__doc__:
                        out |= {word for word in text.split() if re.fullmatch(r"\w\w+", word)}
    return out - KEYWORDS - OTHER[language]


@for_each("language", ["cxx", "python"])
def test_readers_name_kinds_and_fields_of_the_grammar(language: str) -> None:
    grammar = tree_sitter.Language({"cxx": tree_sitter_cuda, "python": tree_sitter_python}[language].language())
    kinds = {str(grammar.node_kind_for_id(number)) for number in range(grammar.node_kind_count)}
    fields = {str(grammar.field_name_for_id(number)) for number in range(1, grammar.field_count + 1)}
    unknown = {
        word
        for word in list_node_names(language) - kinds - fields
        if not any(kind.startswith(word) or kind.endswith(word) for kind in kinds)
    }
    assert not unknown, f"the grammar has no such kind or field of nodes: {sorted(unknown)}"
