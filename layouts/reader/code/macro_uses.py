"""Uses of macros in the code of a text: where they end, what they may store, which names they reach."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lanescope.reader.code.directives import DirectiveText
from lanescope.reader.code.lexing import PreprocessingToken, split_tokens
from lanescope.reader.code.macros import MacroDefinition

MOST_SPAN = 20_000  # characters of one use of a macro
_BRACKET = re.compile(r"[()]")
_STORES = frozenset("= += -= *= /= %= <<= >>= &= |= ^= ++ -- ; { } # ## asm new delete throw".split())


class MacroUses:
    """The uses in one text. macros: of the moment; their owner changes them."""

    def __init__(self, text: DirectiveText, macros: Mapping[str, MacroDefinition]) -> None:
        self.text = text
        self.code = text.joined.text
        self.macros = macros
        self.named: frozenset[str] | None = None  # names in the macros' replacements

    def takes_arguments(self, name: str) -> bool:
        macro = self.macros.get(name)
        return macro is not None and macro.parameters is not None

    def find_close(self, at: int, end: int) -> tuple[int, bool]:
        """Find (the end of the bracket opened before a place, whether it does not close or its end is too far)."""
        covered = self.text.covered
        n = self.text.find_literal_behind(at + 1)
        depth, most = 1, min(end, at + MOST_SPAN)
        while (match := _BRACKET.search(self.code, at, most)) is not None:
            at = match.end()
            while n < len(covered) and covered[n][1] <= match.start():
                n += 1
            if n < len(covered) and covered[n][0] <= match.start():
                at = covered[n][1]
                continue
            depth += 1 if match[0] == "(" else -1
            if not depth:
                return at, False
        return most, True

    def is_operand(self, name: str, start: int, past: int) -> bool:
        """Return whether a macro's replacement is in brackets of its own and cannot store anything."""
        macro = self.macros.get(name)
        if macro is None or not self._in_brackets(macro):
            return False
        seen: set[str] = set()
        todo = [split_tokens(self.code[start:past])]
        while todo:
            tokens = todo.pop()
            if any(map(_stores, [None, *tokens], tokens)):
                return False
            for n, token in enumerate(tokens):
                if token.kind != "name":
                    continue
                if token.text not in self.macros:
                    if n + 1 < len(tokens) and tokens[n + 1].text in ("(", "["):
                        return False
                elif token.text not in seen:
                    seen.add(token.text)
                    todo.append(list(self.macros[token.text].body))
        return True

    def reachable(self, names: set[str], every: bool) -> frozenset[str]:
        """Return names, and those in the replacements of macros of these names.

        every: the same for any name, cached.
        """
        if every and self.named is None:
            words = (token.text for macro in self.macros.values() for token in macro.body if token.kind == "name")
            self.named = frozenset(words)
        if every and self.named is not None:
            return self.named | names
        todo, result = set(names), set(names)
        while todo:
            macro = self.macros.get(todo.pop())
            more = {token.text for token in macro.body if token.kind == "name"} - result if macro else set()
            result |= more
            todo |= more
        return frozenset(result)

    def _in_brackets(self, macro: MacroDefinition) -> bool:
        """Return whether a replacement is one pair of brackets and its contents, or a use of a macro that is."""
        for _ in range(len(self.macros) + 1):
            body = macro.body
            called = len(body) > 1 and body[0].kind == "name"
            depth = 0
            for n, token in enumerate(body[called:]):
                depth += (token.text == "(") - (token.text == ")")
                if not depth and n < len(body) - called - 1:
                    return False
            if not body or depth or body[-1].text != ")":
                return False
            if not called:
                return True
            following = self.macros.get(body[0].text)
            if following is None or following.parameters is None:
                return False
            macro = following
        return False


def _stores(before: PreprocessingToken | None, token: PreprocessingToken) -> bool:
    """Return whether a token may be part of a store into a variable, take its address, or make another token."""
    if token.text == "&":
        return before is None or (before.kind == "op" and before.text not in ")]")
    return token.text in _STORES
