"""The readers of C++ and Python name kinds and fields of nodes that their grammars have, and the corpus has each."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

import pytest
import tree_sitter
import tree_sitter_cuda
import tree_sitter_python

from layouts.reader.code import cxx, cxx_expressions, python, tree
from layouts.reader.code.preprocess import prepare

GOLDEN = Path(__file__).parent / "golden" / "evaluated"
CLASSES = {"cxx": (cxx.Lowering, cxx_expressions.Expressions), "python": (python.Lowering,)}
TABLES = {
    "cxx": [*cxx._STATEMENTS, *cxx_expressions._EXPRESSIONS],
    "python": list(python._EXPRESSIONS),
}
KEYWORDS = {field.name for one in vars(tree).values() if dataclasses.is_dataclass(one)
            for field in dataclasses.fields(one)}  # fmt: skip
OTHER = {
    "cxx": {"ERROR", "reinterpret_cast", "post"},
    "python": {"ERROR", "Enum", "Flag", "lL", "rbfuRBFU"},
}


def texts(code: CodeType) -> Iterator[str]:
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


def named(language: str) -> set[str]:
    """The words that a reader compares with the kinds and fields of nodes."""
    out = set(TABLES[language])
    for reader in CLASSES[language]:
        for function in vars(reader).values():
            if isinstance(function, FunctionType):
                for text in texts(function.__code__):
                    if text != function.__doc__:
                        out |= {word for word in text.split() if re.fullmatch(r"\w\w+", word)}
    return out - KEYWORDS - OTHER[language]


class Whole(cxx.Lowering):
    """Bodies of functions are read at once."""

    _later = cxx.Lowering._block


def met(node: tree_sitter.Node) -> Iterator[str]:
    yield node.type
    for child in node.children:
        yield from met(child)


@pytest.mark.parametrize("language", ["cxx", "python"])
def test_readers_name_kinds_and_fields_of_the_grammar_that_the_corpus_has(language: str) -> None:
    grammar = tree_sitter.Language({"cxx": tree_sitter_cuda, "python": tree_sitter_python}[language].language())
    kinds = {str(grammar.node_kind_for_id(number)) for number in range(grammar.node_kind_count)}
    fields = {str(grammar.field_name_for_id(number)) for number in range(1, grammar.field_count + 1)}
    unknown = {
        word for word in named(language) - kinds - fields
        if not any(kind.startswith(word) or kind.endswith(word) for kind in kinds)
    }  # fmt: skip
    assert not unknown, f"the grammar has no such kind or field of nodes: {sorted(unknown)}"

    seen: set[str] = set()
    for block in re.split(r"^=== ", (GOLDEN / f"{language}.txt").read_text(), flags=re.M)[1:]:
        source = prepare(block.partition("\n→")[0].partition("\n")[2])
        made = python.Lowering(source.text, 0) if language == "python" else Whole(source)
        root = cxx.bounded((python if language == "python" else cxx)._parser(), source.text)
        assert root and all(made.statements(root)), block
        seen |= set(met(root))
    unmet = named(language) & kinds - fields - seen
    assert not unmet, f"no text of tests/golden/evaluated/{language}.txt has: {sorted(unmet)}"
