"""The C preprocessor: join lines, expand macros, decide conditions and blank compiler attributes.

Each character of the result is mapped to its place in the pasted text. Source: C++17, [cpp].
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from itertools import pairwise

from lanescope.deadline import note_reading_place
from lanescope.reader.code.preprocessing import predefined
from lanescope.reader.code.preprocessing.decisions import Conditions, OpenCondition
from lanescope.reader.code.preprocessing.directives import (
    WORD,
    Directive,
    DirectiveText,
    find_directives,
    get_include_guard,
)
from lanescope.reader.code.preprocessing.lexing import PreprocessingToken, blank_open_comment, split_tokens
from lanescope.reader.code.preprocessing.macro_uses import MacroUses
from lanescope.reader.code.preprocessing.macros import (
    MOST_STEPS,
    MacroDefinition,
    StepCounter,
    TooLongError,
    format_tokens,
    parse_define,
)
from lanescope.reader.code.preprocessing.source_writer import SourceWriter
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import attributes
from lanescope.reader.code.syntax.brackets import blank_brackets
from lanescope.reader.code.syntax.source import ParsedSource, PreparedSource, UnreadPart, make_plain_source
from lanescope.reader.code.syntax.source_text import convert_rust
from lanescope.reader.code.syntax.top_declarations import (
    LostStretch,
    blank_declarations,
    find_declarations,
    is_function_definition,
    list_declared_names,
)

MOST_TEXT = 1 << 17  # characters that expansion may add to a text
MOST_REPORTED = 8  # unread parts reported for one text
_UNKNOWN = "what depends on it is unknown."
# a comment delimiter that a line continuation splits
_SPLIT = re.compile(r"([*/])((?:\\[ \t]*\n)+)([*/])")
_OPEN = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*+\(", re.S)


def prepare_source(text: str) -> ParsedSource:
    """Preprocess a text for the C++ parser, with every undecided condition false."""
    return Preprocessor(text).read_text().source


class Preprocessor:
    """The preprocessor of one text, which can be run several times with different decisions.

    macros: values of macros that the text does not define, "" for an empty definition. expands: whether the code is
    written; without it only the conditions are decided, and every source is empty.
    """

    def __init__(
        self, text: str, patience: int = 1, macros: Mapping[str, str] | None = None, *, expands: bool = True
    ) -> None:
        text = convert_rust(text)
        self.expands = expands
        self.macros: dict[str, MacroDefinition] = {}
        self.undefined: set[str] = set()
        for name, value in (macros or {}).items():
            if value == predefined.NOT_DEFINED:
                self.undefined.add(name)
            else:
                self.macros[name] = MacroDefinition(
                    None, tuple(split_tokens("1" if value == predefined.HAS else value))
                )
        split_text = _SPLIT.sub(r"\1\3\2", re.sub(r"[^\x00-\x7f]", "?", text))
        self.text: DirectiveText = find_directives(blank_open_comment(split_text))
        self.arch = predefined.find_architecture(text)
        self.steps = StepCounter(MOST_STEPS * patience)
        self.line_ends = [end.start() for end in re.finditer("\n", self.text.joined.text)]

    def read_text(
        self, decisions: Mapping[str, bool] | None = None, chosen: frozenset[str] | None = None
    ) -> PreparedSource:
        """Preprocess the text.

        decisions: undecided condition → whether it holds; others are taken as false. chosen: the undecided conditions
        to decide (None: all). Branches of the remaining ones are left out, with every declaration that contains them or
        that they change.
        """
        return _PreprocessorRun(self, decisions or {}, chosen).make_prepared()


class _PreprocessorRun:
    """One run of the preprocessor over a text."""

    def __init__(
        self, preprocessor: Preprocessor, decisions: Mapping[str, bool], chosen: frozenset[str] | None
    ) -> None:
        self.preprocessor = preprocessor
        self.text = preprocessor.text
        self.code = preprocessor.text.joined.text
        self.state = Conditions(preprocessor.text, preprocessor.arch, preprocessor.steps, decisions, chosen)
        self.state.macros.update(preprocessor.macros)
        self.state.undefined |= preprocessor.undefined
        self.uses = MacroUses(self.text, self.state.macros)
        self.pushed: dict[str, list[tuple[MacroDefinition | None, bool]]] = {}
        self.output = SourceWriter(self.text.joined)
        self.failed = False
        self.unread: list[UnreadPart] = []
        self.lost: list[LostStretch] = []  # stretches of the output that differ from what C++ would produce
        self.opened: list[OpenCondition] = []
        self.skipped: list[Span] = []  # branches that are certainly not read under these decisions
        self.counted = 0  # uses of __COUNTER__ and of unexpanded macros

    def make_prepared(self) -> PreparedSource:
        with note_reading_place(lambda: self.text.joined.get_original(self.state.at)):
            return self._process_text()

    def _process_text(self) -> PreparedSource:
        start = 0
        directives = self.text.directives
        expands = self.preprocessor.expands
        for n, directive in enumerate(directives):
            if expands and self.reads:
                self._write_code(start, directive.start)
            start = directive.past
            self.state.at = directive.start
            handle = _HANDLERS.get(directive.name)
            if handle is not None:
                handle(self, n, directive)
        if not expands:
            met, skipped = tuple(self.state.met), tuple(self.skipped)
            return PreparedSource(make_plain_source(""), met, self.failed, skipped=skipped)
        if self.reads:
            self._write_code(start, len(self.code))
        for condition in self.opened:
            if condition.frozen >= 0:
                self.lost.append(LostStretch(condition.frozen, self.output.length, frozenset(WORD.findall(self.code))))
        text = attributes.blank_attributes(self.output.get_text(), self.text.attributes)
        blanked: list[Span] = []
        if self.lost:
            text, blanked = blank_declarations(text, self.lost)
        source = self.output.make_source(blank_brackets(text))
        lost_spans = tuple(source.get_original(start, end) for start, end in blanked)
        return PreparedSource(
            source,
            tuple(self.state.met),
            self.failed,
            tuple(self.state.presumed.values()),
            tuple(self.unread),
            lost_spans,
            tuple(self.skipped),
        )

    @property
    def reads(self) -> bool:
        return not self.opened or self.opened[-1].reads

    def _get_original_span(self, start: int, end: int) -> Span:
        joined = self.text.joined
        return joined.get_original(start), joined.get_original(max(end - 1, start)) + 1

    def _get_line(self, at: int) -> int:
        """Return the line of the pasted text, counted from 1."""
        joined = bisect_right(self.text.joined.cuts, at)
        return bisect_left(self.preprocessor.line_ends, at) + joined + 1

    # directives ------------------------------------------------------------------------------------------------------

    def _push_or_pop_macro(self, name: str, push: bool) -> None:
        """Push a macro's definition, or pop the last pushed one."""
        if push:
            self.pushed.setdefault(name, []).append((self.state.macros.get(name), name in self.state.undefined))
        elif self.pushed.get(name):
            macro, undefined = self.pushed[name].pop()
            self.state.macros.pop(name, None)
            self.state.undefined.discard(name)
            if macro is not None:
                self.state.macros[name] = macro
            elif undefined:
                self.state.undefined.add(name)

    def _open_condition(self, n: int, directive: Directive) -> None:
        if not self.reads:
            self.opened.append(OpenCondition(False, True, False))
            return
        self.state.matters = self.text.has_visible_difference(n) and not directive.guard
        host = self._is_host_code(directive)
        truth = host or self.state.is_true(directive.name, directive.rest)
        certain = not host and self.state.certain
        condition = OpenCondition(truth, truth, self.state.matters, at=n, certain=certain)
        self.opened.append(condition)
        self._freeze_condition(condition, n)
        self._note_skipped(condition, n)

    def _define(self, n: int, directive: Directive) -> None:
        definition = parse_define(directive.rest) if self.reads else None
        if definition is not None:
            name, macro = definition
            self.state.macros[name] = macro
            self.state.undefined.discard(name)
            self._update_doubtful(name)

    def _undefine(self, n: int, directive: Directive) -> None:
        if self.reads and directive.rest:
            name = directive.rest[0].text
            self.state.macros.pop(name, None)
            self.state.undefined.add(name)
            self._update_doubtful(name)

    def _update_doubtful(self, name: str) -> None:
        """Note whether the meaning of a macro now depends on a condition that is left out."""
        self.state.doubtful.discard(name)
        if any(condition.frozen >= 0 for condition in self.opened):
            self.state.doubtful.add(name)

    def _handle_pragma(self, n: int, directive: Directive) -> None:
        if self.reads and len(directive.rest) > 2 and directive.rest[0].text in ("push_macro", "pop_macro"):
            self._push_or_pop_macro(directive.rest[2].text.strip('"'), directive.rest[0].text == "push_macro")

    def _fail(self, n: int, directive: Directive) -> None:
        if self.reads and (not self.opened or self.opened[-1].matters):
            self.failed = True

    def _is_host_code(self, directive: Directive) -> bool:
        """Return whether the branch has functions, under a test that only the host compilation of nvcc passes."""
        if get_include_guard(directive) != predefined.ARCHITECTURE or directive.following >= 0 or directive.end < 0:
            return False
        code = self.code[directive.past : self.text.directives[directive.end].start]
        return any(is_function_definition(code, piece) for piece in find_declarations(code))

    def _freeze_condition(self, condition: OpenCondition, n: int) -> None:
        """Leave out a condition without a decision; macros defined in its branches become doubtful."""
        if not self.state.depends_on_frozen:
            return
        self.state.depends_on_frozen = False
        if condition.frozen < 0:
            condition.frozen = self.output.length
            first = self.text.directives[n]
            for directive in self.text.directives[n : first.end if first.end >= 0 else len(self.text.directives)]:
                if directive.name in ("define", "undef") and directive.rest:
                    self.state.doubtful.add(directive.rest[0].text)

    def _enter_branch(self, n: int, directive: Directive) -> None:
        if not self.opened:
            return
        top = self.opened[-1]
        if top.was_read:
            top.reads = False
            self._note_skipped(top, n)
            return
        top.reads = True  # the enclosing branch is read
        self.state.matters = top.matters
        if directive.name == "else":
            truth = True
        else:
            truth = self.state.is_true(
                "if" if directive.name == "elif" else directive.name.removeprefix("el"), directive.rest
            )
            top.certain = top.certain and self.state.certain
        top.reads = top.was_read = truth
        if self.state.depends_on_frozen:
            self._freeze_condition(top, top.at)
        self._note_skipped(top, n)

    def _note_skipped(self, condition: OpenCondition, n: int) -> None:
        """Note the branch that begins at directive n if it is certainly not read."""
        if condition.certain and not condition.reads:
            branch, directives = self.text.directives[n], self.text.directives
            following = branch.following if branch.following >= 0 else directives[condition.at].end
            past = directives[following].start if following >= 0 else len(self.code)
            self.skipped.append(self._get_original_span(branch.past, past))

    def _close_condition(self, n: int, directive: Directive) -> None:
        if not self.opened:
            return
        top = self.opened.pop()
        if top.frozen >= 0:
            first = self.text.directives[top.at].start
            self.lost.append(LostStretch(top.frozen, self.output.length, self._list_declared(top.at)))
            line, span = self._get_line(first), self._get_original_span(first, directive.past)
            if len(self.lost) <= MOST_REPORTED:
                message = f"Line {line}: too many conditions are undecided; {_UNKNOWN}"
                self.unread.append(UnreadPart(message, span))
            self.output.write_text("\n", span[1] - 1, 1, False)

    def _list_declared(self, first: int) -> frozenset[str]:
        """Return the names that any branch of a condition may declare or write."""
        inside = self.text.directives[first : self.text.directives[first].end + 1]
        result: set[str] = set()
        for before, after in pairwise(inside):
            code = self.code[before.past : after.start]
            for piece in find_declarations(code):
                result |= list_declared_names(code, piece)
        return frozenset(result)

    # output ----------------------------------------------------------------------------------------------------------

    def _write_code(self, start: int, end: int) -> None:
        """Write a stretch of code, its macros expanded."""
        words = self.text.list_words(start, end)
        if words.isdisjoint(self.state.macros) and words.isdisjoint(_BUILTIN) and words.isdisjoint(self.state.doubtful):
            self.output.copy_stretch(start, end)
            return
        copied = start
        for match in self.text.find_matches(WORD, start, end):
            name = match[0]
            if match.start() < copied or not (
                name in self.state.macros or name in _BUILTIN or name in self.state.doubtful
            ):
                continue
            past = self._write_macro_use(name, match.start(), at=match.end(), end=end, copied=copied)
            copied = copied if past is None else past
        self.output.copy_stretch(copied, end)

    def _write_macro_use(self, name: str, start: int, *, at: int, end: int, copied: int) -> int | None:
        """Write the text before a macro name and its expansion; return the end of the use, None if it is not a use."""
        self.state.expander.builtin = {
            "__LINE__": lambda: self._make_line_token(start),
            "__COUNTER__": self._make_counter_token,
        }
        self.preprocessor.steps.begin_use()
        expansion = self._expand_use(name, start, at, end)
        if expansion is None:
            return None
        replacement, past = expansion
        if replacement is not None and self.output.length + len(replacement) > len(self.code) + MOST_TEXT:
            replacement = None
        span = self._get_original_span(start, past)
        self.output.copy_stretch(copied, start)
        if replacement is None:
            self._replace_unexpanded(name, start, past, span)
        else:
            self.output.write_expansion(replacement, (start, past), span)
        return past

    def _expand_use(self, name: str, start: int, at: int, end: int) -> tuple[str | None, int] | None:
        """Return (expansion, end) of a use of a macro; None if it is not a use; expansion None if unknown."""
        past, broken = at, name in self.state.doubtful
        if not broken and self.uses.takes_arguments(name):
            opening = _OPEN.match(self.code, at, end)
            if opening is None:
                return None
            past, broken = self.uses.find_close(opening.end(), end)
        while not broken:
            try:
                tokens = self.state.expander.expand_all(split_tokens(self.code[start:past]))
                last = tokens[-1] if tokens else None
                may_continue = last is not None and last.kind == "name" and not last.painted
                continues = may_continue and last is not None and self.uses.takes_arguments(last.text)
                opening = _OPEN.match(self.code, past, end) if continues else None
                if opening is None:
                    return format_tokens(tokens), past
                past, broken = self.uses.find_close(opening.end(), end)
            except TooLongError:
                broken = True
        return None, past

    def _make_line_token(self, at: int) -> PreprocessingToken:
        return PreprocessingToken(str(self._get_line(at)), "number")

    def _make_counter_token(self) -> PreprocessingToken:
        """Make a new name for each __COUNTER__: its value is unknown, since unread headers count too."""
        self.counted += 1
        return PreprocessingToken(f"counter_{self.counted}", "name")

    def _replace_unexpanded(self, name: str, start: int, past: int, span: Span) -> None:
        """Replace an unexpanded use by an undefined name if it is an operand, else leave out its declaration."""
        line = self._get_line(start)
        operand = name not in self.state.doubtful and self.uses.is_operand(name, start, past)
        if len(self.unread) < MOST_REPORTED:
            self.unread.append(UnreadPart(f"Line {line}: the macro {name} takes too long to expand; {_UNKNOWN}", span))
        if operand:
            self.counted += 1
            self.output.write_text(f" macro_of_line_{line}_{self.counted} ", span[0], span[1] - span[0], False)
        else:
            names = self.uses.find_reachable(set(WORD.findall(self.code, start, past)), len(self.lost) > MOST_REPORTED)
            self.lost.append(LostStretch(self.output.length, self.output.length + 1, names))
            self.output.write_text("\n" if "\n" in self.code[start:past] else " ", span[0], span[1] - span[0], False)


_BUILTIN = frozenset(("__LINE__", "__COUNTER__"))
_HANDLERS: dict[str, Callable[[_PreprocessorRun, int, Directive], None]] = {  # by the directive's name
    **dict.fromkeys(("if", "ifdef", "ifndef"), _PreprocessorRun._open_condition),
    **dict.fromkeys(("else", "elif", "elifdef", "elifndef"), _PreprocessorRun._enter_branch),
    "endif": _PreprocessorRun._close_condition,
    "define": _PreprocessorRun._define,
    "undef": _PreprocessorRun._undefine,
    "pragma": _PreprocessorRun._handle_pragma,
    "error": _PreprocessorRun._fail,
}
