"""Uses of macros in a text: where they end, whether they may write, which names they reach."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lanescope.reader.code.preprocessing.directives import DirectiveText
from lanescope.reader.code.preprocessing.lexing import PreprocessingToken, split_tokens
from lanescope.reader.code.preprocessing.macros import MacroDefinition

MOST_SPAN = 20_000  # characters of one use of a macro
_BRACKET = re.compile(r"[()]")
_STORES = frozenset("= += -= *= /= %= <<= >>= &= |= ^= ++ -- ; { } # ## asm new delete throw".split())


class MacroUses:
    """The uses of macros in one text. macros: the current definitions, which the owner changes."""

    def __init__(self, text: DirectiveText, macros: Mapping[str, MacroDefinition]) -> None:
        self.text = text
        self.code = text.joined.text
        self.macros = macros
        self.replacement_names: frozenset[str] | None = None  # names in all replacements

    def takes_arguments(self, name: str) -> bool:
        macro = self.macros.get(name)
        return macro is not None and macro.parameters is not None

    def find_close(self, at: int, end: int) -> tuple[int, bool]:
        """Return (end of the parenthesis opened before a place, whether it is unclosed or too far away)."""
        depth, most = 1, min(end, at + MOST_SPAN)
        for match in self.text.find_matches(_BRACKET, at, most):
            depth += 1 if match[0] == "(" else -1
            if not depth:
                return match.end(), False
        return most, True

    def is_operand(self, name: str, start: int, past: int) -> bool:
        """Return whether the replacement of a use is parenthesized and cannot write anything."""
        macro = self.macros.get(name)
        if macro is None or not self._is_parenthesized(macro):
            return False
        seen: set[str] = set()
        pending = [split_tokens(self.code[start:past])]
        while pending:
            tokens = pending.pop()
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
                    pending.append(list(self.macros[token.text].body))
        return True

    def find_reachable(self, names: set[str], all_macros: bool) -> frozenset[str]:
        """Return some names, and all names in the replacements of these macros.

        all_macros: return the names in all replacements instead, which are cached.
        """
        if all_macros and self.replacement_names is None:
            words = (token.text for macro in self.macros.values() for token in macro.body if token.kind == "name")
            self.replacement_names = frozenset(words)
        if all_macros and self.replacement_names is not None:
            return self.replacement_names | names
        pending, result = set(names), set(names)
        while pending:
            macro = self.macros.get(pending.pop())
            added = {token.text for token in macro.body if token.kind == "name"} - result if macro else set()
            result |= added
            pending |= added
        return frozenset(result)

    def _is_parenthesized(self, macro: MacroDefinition) -> bool:
        """Return whether a replacement is one parenthesized expression, or a use of a macro that is."""
        for _ in range(len(self.macros) + 1):
            body = macro.body
            is_call = len(body) > 1 and body[0].kind == "name"
            depth = 0
            for n, token in enumerate(body[is_call:]):
                depth += (token.text == "(") - (token.text == ")")
                if not depth and n < len(body) - is_call - 1:
                    return False
            if not body or depth or body[-1].text != ")":
                return False
            if not is_call:
                return True
            following = self.macros.get(body[0].text)
            if following is None or following.parameters is None:
                return False
            macro = following
        return False


def _stores(before: PreprocessingToken | None, token: PreprocessingToken) -> bool:
    """Return whether a token may write a variable, take its address, or make another token."""
    if token.text == "&":
        return before is None or (before.kind == "op" and before.text not in ")]")
    return token.text in _STORES
