"""Expand C++ macros as gcc does: arguments first, then the replacement is rescanned with the macro's name painted.

Source: C++17, [cpp.replace]; C++20's __VA_OPT__; gcc's named variadic parameter (`args...`) and `, ## __VA_ARGS__`. A
use that exceeds its limit of steps or tokens is not expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lanescope.deadline import check_deadline
from lanescope.reader.code.preprocessing.lexing import PreprocessingToken, split_tokens

MOST_USE = 30_000  # steps of one use of a macro
MOST_STEPS = 300_000  # steps of all uses in a text
MOST_TOKENS = 20_000  # tokens that one use may produce
MOST_TEXT = 1 << 16  # characters of these tokens
MOST_NESTED = 48  # depth of uses in arguments
_EMPTY = PreprocessingToken("", "empty")
_ALONE = frozenset("()[]{};,?~")  # never part of a longer token
_REST = "__VA_ARGS__"


class TooLongError(Exception):
    """An expansion exceeds its limits, or uses something unsupported."""


class StepCounter:
    """A counter of the steps of preprocessing a text."""

    def __init__(self, most: int = MOST_STEPS) -> None:
        self.left = most
        self.use = MOST_USE

    def begin_use(self) -> None:
        """Reset the limit for one use of a macro."""
        self.use = MOST_USE

    def spend_steps(self, steps: int = 1) -> None:
        """Count steps of one expansion; TooLongError beyond its limit."""
        check_deadline()
        self.left -= steps
        self.use -= steps
        if self.left < 0 or self.use < 0:
            raise TooLongError


@dataclass(frozen=True, slots=True)
class MacroDefinition:
    """A macro: its parameters (None: object-like) and replacement. rest: the name of the variadic parameter, or ""."""

    parameters: tuple[str, ...] | None
    body: tuple[PreprocessingToken, ...]
    rest: str = ""

    @property
    def alike(self) -> tuple[object, ...]:
        """A key that is equal for equivalent definitions."""
        return self.parameters, self.rest, tuple(token.text for token in self.body)


def parse_define(tokens: list[PreprocessingToken]) -> tuple[str, MacroDefinition] | None:
    """Parse the tokens after `#define` into (name, macro); None if they are not a definition.

    >>> parse_define(split_tokens("F(a, b...) a ## b"))[1].parameters, parse_define(split_tokens("F (a)"))[1].parameters
    (('a', 'b'), None)
    """
    if not tokens or tokens[0].kind != "name":
        return None
    if len(tokens) < 2 or tokens[1].text != "(" or tokens[1].spaced:
        return tokens[0].text, MacroDefinition(None, tuple(tokens[1:]))
    macro = _parse_function_macro(tokens[2:])
    return None if macro is None else (tokens[0].text, macro)


def _parse_function_macro(tokens: list[PreprocessingToken]) -> MacroDefinition | None:
    """Parse a function-like macro from the tokens after its opening parenthesis; None if they are not parameters."""
    parameters: list[str] = []
    rest = ""
    at = 0
    while at < len(tokens) and tokens[at].text != ")":
        word = tokens[at]
        if word.text == "...":
            rest = _REST
            parameters.append(rest)
        elif word.kind == "name":
            parameters.append(word.text)
            if at + 1 < len(tokens) and tokens[at + 1].text == "...":
                rest = word.text
        elif word.text != ",":
            return None
        at += 2 if word.kind == "name" and rest == word.text else 1
    return MacroDefinition(tuple(parameters), tuple(tokens[at + 1 :]), rest) if at < len(tokens) else None


@dataclass(slots=True)
class _TokenContext:
    """A list of tokens being read; macro: the macro whose replacement it is, or ""."""

    tokens: list[PreprocessingToken]
    at: int = 0
    macro: str = ""


class _MacroArgument:
    """An argument of a macro, expanded on demand."""

    def __init__(self, expander: MacroExpander, plain: list[PreprocessingToken], omitted: bool = False) -> None:
        self.expander = expander
        self.plain = plain
        self.omitted = omitted
        self.full: list[PreprocessingToken] | None = None

    def expand(self) -> list[PreprocessingToken]:
        if self.full is None:
            self.full = self.expander.expand_all(self.plain)
        return self.full


class MacroExpander:
    """An expander of the macros in a table, which its owner may change between uses.

    builtin: a name whose value depends on the place, such as __LINE__ → a function that returns its token.
    """

    def __init__(self, macros: Mapping[str, MacroDefinition], steps: StepCounter) -> None:
        self.macros = macros
        self.steps = steps
        self.builtin: dict[str, Callable[[], PreprocessingToken]] = {}
        self.disabled: list[str] = []  # macros whose replacement is being rescanned
        self.off: set[str] = set()
        self.nested = 0

    def expand_all(self, tokens: Iterable[PreprocessingToken]) -> list[PreprocessingToken]:
        """Expand every macro in tokens; TooLongError beyond the limits."""
        if self.nested >= MOST_NESTED:
            raise TooLongError
        self.nested += 1
        known = len(self.disabled)
        stack = [_TokenContext(list(tokens))]
        result: list[PreprocessingToken] = []
        try:
            while (token := self._take_next(stack)) is not None:
                if token.kind == "name" and not token.painted and self._enter_use(token, stack):
                    continue
                result.append(token)
                if len(result) > MOST_TOKENS:
                    raise TooLongError
        finally:
            self.nested -= 1
            del self.disabled[known:]
            self.off = set(self.disabled)
        return result

    def _take_next(self, stack: list[_TokenContext]) -> PreprocessingToken | None:
        """Take the next token; leave contexts that are exhausted."""
        self.steps.spend_steps()
        while stack:
            top = stack[-1]
            if top.at < len(top.tokens):
                token = top.tokens[top.at]
                top.at += 1
                if token.kind == "name" and token.text in self.off and not token.painted:
                    return token._replace(painted=True)
                return token
            if len(stack) == 1:
                return None
            self._leave_contexts(stack)
        return None

    def _leave_contexts(self, stack: list[_TokenContext]) -> None:
        macro = stack.pop().macro
        if macro:
            self.disabled.pop()
            self.off.discard(macro)

    def _enter_use(self, token: PreprocessingToken, stack: list[_TokenContext]) -> bool:
        """Push the replacement of a use of a macro; return whether the name is a use."""
        macro = self.macros.get(token.text)
        if macro is None:
            if token.text in self.builtin:
                stack.append(_TokenContext([self.builtin[token.text]()._replace(spaced=token.spaced)]))
                return True
            return False
        if macro.parameters is None:
            replacement = self._paste_arguments(list(macro.body), {})
        else:
            if not self._take_opening(stack):
                return False
            replacement = self._replace_use(macro, self._take_arguments(macro, stack))
        if replacement:
            replacement[0] = replacement[0]._replace(spaced=token.spaced)
        self.disabled.append(token.text)
        self.off.add(token.text)
        stack.append(_TokenContext(replacement, 0, token.text))
        return True

    def _take_opening(self, stack: list[_TokenContext]) -> bool:
        """Take an opening parenthesis if it comes next; return whether it does."""
        while stack[-1].at >= len(stack[-1].tokens) and len(stack) > 1:
            self.steps.spend_steps()
            self._leave_contexts(stack)
        top = stack[-1]
        if top.at < len(top.tokens) and top.tokens[top.at].text == "(":
            top.at += 1
            return True
        return False

    def _take_arguments(self, macro: MacroDefinition, stack: list[_TokenContext]) -> list[list[PreprocessingToken]]:
        """Take the arguments up to the closing parenthesis."""
        arguments: list[list[PreprocessingToken]] = [[]]
        depth = 0
        names = macro.parameters or ()
        while (token := self._take_next(stack)) is not None:
            if token.text == "(":
                depth += 1
            elif token.text == ")":
                if not depth:
                    if len(arguments) == 1 and not arguments[0] and not names:
                        return []
                    return arguments
                depth -= 1
            elif token.text == "," and not depth and not (macro.rest and len(arguments) == len(names)):
                arguments.append([])
                continue
            arguments[-1].append(token)
        raise TooLongError  # unclosed here

    # replacement -----------------------------------------------------------------------------------------------------

    def _replace_use(
        self, macro: MacroDefinition, token_lists: list[list[PreprocessingToken]]
    ) -> list[PreprocessingToken]:
        names = macro.parameters or ()
        if len(token_lists) != len(names) and not (macro.rest and len(token_lists) == len(names) - 1):
            raise TooLongError  # C++ rejects such a use
        arguments = {name: _MacroArgument(self, plain) for name, plain in zip(names, token_lists, strict=False)}
        if macro.rest and (len(token_lists) < len(names) or (len(names) == 1 and not token_lists[0])):
            arguments[macro.rest] = _MacroArgument(self, [], True)
        return self._paste_arguments(self._decide_va_opt(list(macro.body), macro, arguments), arguments, macro.rest)

    def _decide_va_opt(
        self, body: list[PreprocessingToken], macro: MacroDefinition, arguments: dict[str, _MacroArgument]
    ) -> list[PreprocessingToken]:
        """Keep or drop the contents of every __VA_OPT__(…) of a replacement."""
        if not macro.rest or not any(token.text == "__VA_OPT__" for token in body):
            return body
        result: list[PreprocessingToken] = []
        at = 0
        while at < len(body):
            token = body[at]
            if token.text != "__VA_OPT__" or at + 1 >= len(body) or body[at + 1].text != "(":
                result.append(token)
                at += 1
                continue
            past = _find_close(body, at + 1)
            if (result and result[-1].text in ("#", "##")) or (past < len(body) and body[past].text == "##"):
                raise TooLongError
            if arguments[macro.rest].expand():
                inner = body[at + 2 : past - 1]
                result += [inner[0]._replace(spaced=token.spaced), *inner[1:]] if inner else []
            at = past
        return result

    def _paste_arguments(
        self, body: list[PreprocessingToken], arguments: Mapping[str, _MacroArgument], rest: str = ""
    ) -> list[PreprocessingToken]:
        """Substitute arguments into a replacement, and apply # and ##."""
        pasted: list[PreprocessingToken] = []
        at, paste = 0, False  # paste: whether ## precedes the token
        while at < len(body):
            token = body[at]
            self.steps.spend_steps()
            if at and _pastes(token):
                paste = True
                at += 1
                continue
            swallows = paste and rest == token.text and bool(pasted) and pasted[-1].text == ","
            if swallows and arguments[rest].omitted:  # gcc's `, ## __VA_ARGS__`
                pasted[-1:] = [_EMPTY]
                part: list[PreprocessingToken] = []
                at += 1
            else:
                part, at = self._substitute_token(body, at, arguments, paste)
            if paste and not swallows and pasted and part:
                pasted[-1:] = _join_tokens(pasted[-1], part.pop(0))
            pasted += part
            if len(pasted) > MOST_TOKENS:
                raise TooLongError
            paste = False
        return [token for token in pasted if token.kind != "empty"]

    def _substitute_token(
        self, body: list[PreprocessingToken], at: int, arguments: Mapping[str, _MacroArgument], pasted: bool
    ) -> tuple[list[PreprocessingToken], int]:
        """Return (substitution of a token, index of the next token); pasted: whether ## precedes it."""
        token = body[at]
        following = body[at + 1].text if at + 1 < len(body) else ""
        if token.text == "#" and following in arguments:
            return [PreprocessingToken(_quote_tokens(arguments[following].plain), "text", token.spaced)], at + 2
        if token.kind != "name" or token.text not in arguments:
            return [token], at + 1
        argument = arguments[token.text]
        beside = pasted or following == "##"
        part = list(argument.plain if beside else argument.expand())
        self.steps.spend_steps(len(part))
        if not part and beside:
            part = [_EMPTY]
        if part:
            part[0] = part[0]._replace(spaced=token.spaced)
        return part, at + 1


def _find_close(body: list[PreprocessingToken], opening: int) -> int:
    """Return the index after the parenthesis that closes the one at `opened`, or the end."""
    depth = 0
    for past in range(opening, len(body)):
        depth += (body[past].text == "(") - (body[past].text == ")")
        if not depth:
            return past + 1
    return len(body)


def _pastes(token: PreprocessingToken) -> bool:
    return token.text == "##" and token.kind == "op"


def _join_tokens(left: PreprocessingToken, right: PreprocessingToken) -> list[PreprocessingToken]:
    """Join left ## right; TooLongError if the result is not one token, which C++ rejects."""
    if left.kind == "empty" or right.kind == "empty":
        remaining = right if left.kind == "empty" else left
        return [remaining._replace(spaced=left.spaced)]
    tokens = split_tokens(left.text + right.text)
    if len(tokens) != 1 or len(tokens[0].text) > MOST_TEXT:
        raise TooLongError
    return [tokens[0]._replace(spaced=left.spaced)]


def _quote_tokens(plain: list[PreprocessingToken]) -> str:
    """Return #argument: the spelling of an argument as a string literal."""
    tokens: list[str] = []
    for n, token in enumerate(plain):
        word = token.text
        if token.kind == "text":
            word = word.replace("\\", "\\\\").replace('"', '\\"')
        tokens.append((" " if token.spaced and n else "") + word)
    if sum(map(len, tokens)) > MOST_TEXT:
        raise TooLongError
    return '"' + "".join(tokens) + '"'


def format_tokens(tokens: list[PreprocessingToken]) -> str:
    """Format tokens as text, with spaces between tokens that would otherwise join. TooLongError beyond MOST_TEXT.

    >>> format_tokens([PreprocessingToken("-", "op"), PreprocessingToken("-", "op"), PreprocessingToken("x",
    ... "name"), PreprocessingToken("1", "number", True)])
    '- -x 1'
    """
    if sum(len(token.text) + 1 for token in tokens) > MOST_TEXT:
        raise TooLongError
    texts: list[str] = []
    before = PreprocessingToken("", "empty")
    for token in tokens:
        if token.spaced or (before.kind != "empty" and _would_join(before, token)):
            texts.append(" ")
        texts.append(token.text)
        before = token
    return "".join(texts)


def _would_join(left: PreprocessingToken, right: PreprocessingToken) -> bool:
    """Return whether two adjacent tokens would be read as one."""
    words = ("name", "number", "text")
    if left.kind in words and right.kind in words:
        return True
    if left.kind == "op" and right.kind == "op":
        return left.text not in _ALONE and right.text not in _ALONE
    return (left.kind == "number" and right.text in "+-.") or (left.text == "." and right.kind == "number")
