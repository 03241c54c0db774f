"""Faults of a script, a style sheet or a template: one small change each, found by the look of the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tests.mutants.operators import Mutant, spoiled

Rule = tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]


def rule(operator: str, pattern: str, change: Callable[[re.Match[str]], str] | str) -> Rule:
    return operator, re.compile(pattern), (lambda match: change) if isinstance(change, str) else change


def other(pairs: dict[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda match: pairs[match[0].strip()].join(
        (match[0][: len(match[0]) - len(match[0].lstrip())], " " if match[0].endswith(" ") else "")
    )


def next_number(match: re.Match[str]) -> str:
    return str(int(match[0]) + 1)


NUMBER = rule("constant", r"(?<![\w.#\"'&/-])\d+(?![\w.%])", next_number)
SCRIPT: tuple[Rule, ...] = (
    rule("comparison", r" (?:<=|>=|<|>) ", other({"<": "<=", "<=": "<", ">": ">=", ">=": ">"})),
    rule("comparison", r" (?:===|!==|==|!=) ", other({"===": "!==", "!==": "===", "==": "!=", "!=": "=="})),
    rule("arithmetic", r" (?:\+|-|\*|/|%|<<|>>>?|&|\|) ",
    other({"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<", ">>>": "<<", "&": "|", "|": "&"})),
    rule("arithmetic", r" (?:\+|-)= ", other({"+=": "-=", "-=": "+="})),
    rule("boolean", r" (?:&&|\|\||\?\?) ", other({"&&": "||", "||": "&&", "??": "&&"})),
    rule("condition negated", r"(?<=\bif \()!?[\w.]+(?=\))",
    lambda match: match[0][1:] if match[0].startswith("!") else "!" + match[0]),
    rule("condition negated", r"!(?=[\w(])(?!=)", ""),
    rule("statement removed",
    r"(?<=^)(?P<in> *)(?!return|const|let|var|case|export|import|\}|//|\*|/\*)[\w.$?\[\]]+(?:\(.*\)| = .*);$",
    lambda match: match["in"] + ";"),
    rule("return", r"\breturn (?!null|false|true)[^;{]+;", "return undefined;"),
    rule("constant", r"\btrue\b|\bfalse\b", lambda match: "false" if match[0] == "true" else "true"),
    rule("string", r"\"[^\"\\\n]+\"", lambda match: f'"{spoiled(match[0][1:-1])}"'),
    NUMBER,
)  # fmt: skip
TEMPLATE: tuple[Rule, ...] = (
    rule("condition negated", r"(?<=\{% if )[^%]+?(?= %\})", lambda match: f"not ({match[0]})"),
    rule("value removed", r"\{\{[^}]+\}\}", ""),
    rule("attribute removed", r"(?<=[\w\"]) [a-z-]+=\"[^\"<>{}]*\"", ""),
    rule("attribute removed", r" (?:[a-z-]+)=\"\{\{[^\"]*\}\}\"", ""),
    rule("string", r"(?<=>)[^<>{}]*[a-z][^<>{}]*(?=<)", lambda match: spoiled(match[0])),
    rule("comparison", r" == | != ", other({"==": "!=", "!=": "=="})),
    rule("boolean", r" and | or ", other({"and": "or", "or": "and"})),
)
SHEET: tuple[Rule, ...] = (rule("declaration removed", r"(?<=[{;] )[a-z-]+: [^;{}]+;", ""), NUMBER)
RULES = {".js": SCRIPT, ".html": TEMPLATE, ".css": SHEET}
COMMENT = {".js": r"^\s*(?://|\*|/\*)|^\s*import ", ".html": r"^\s*\{#", ".css": r"^\s*/\*"}


def mutations(file: str, source: str) -> Iterator[Mutant]:
    """Every mutant of one text, line by line."""
    kind = file[file.rindex(".") :]
    place = 0
    for number, row in enumerate(source.splitlines(keepends=True), 1):
        text = row.rstrip("\n")
        if not re.match(COMMENT[kind], text):
            for operator, pattern, change in RULES[kind]:
                for match in pattern.finditer(text):
                    start = place + len(text[: match.start()].encode())
                    new = change(match)
                    if new != match[0]:
                        yield Mutant(
                            file,
                            number,
                            number,
                            number,
                            operator,
                            start,
                            start + len(match[0].encode()),
                            match[0],
                            new,
                            text.strip(),
                        )
        place += len(row.encode())
