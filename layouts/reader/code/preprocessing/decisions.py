"""Decide the conditions of a text's directives, from known macros and from assumptions about unknown ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from lanescope.reader.code.preprocessing import conditions, predefined
from lanescope.reader.code.preprocessing.conditions import BadConditionError, ConditionNode, ConditionValue
from lanescope.reader.code.preprocessing.directives import DirectiveText
from lanescope.reader.code.preprocessing.lexing import PreprocessingToken
from lanescope.reader.code.preprocessing.macros import MacroDefinition, MacroExpander, StepCounter, TooLongError
from lanescope.reader.code.preprocessing.predefined import PresumedMacro


@dataclass(slots=True)
class OpenCondition:
    """An open #if.

    reads: whether the current branch is read. was_read: whether a branch of it has been read. frozen: where its text
    begins in the output if the whole #if is left out, else -1. certain: whether each of its tests so far rests on no
    presumed value.
    """

    reads: bool
    was_read: bool
    matters: bool = True
    frozen: int = -1
    at: int = 0  # index of its directive
    certain: bool = False


class Conditions:
    """The conditions in one run of the preprocessor.

    decisions: undecided condition → whether it holds. chosen: the undecided conditions to decide (None: all).
    """

    def __init__(
        self,
        text: DirectiveText,
        arch: int | None,
        steps: StepCounter,
        decisions: Mapping[str, bool],
        chosen: frozenset[str] | None,
    ) -> None:
        self.text = text
        self.arch = arch
        self.steps = steps
        self.decisions = decisions
        self.chosen = chosen
        self.macros: dict[str, MacroDefinition] = {}
        self.undefined: set[str] = set()
        self.doubtful: set[str] = set()  # macros defined under a condition that is left out
        self.expander = MacroExpander(self.macros, steps)
        self.met: dict[str, None] = {}
        self.presumed: dict[str, PresumedMacro] = {}
        self.depends_on_frozen = False  # whether the last condition depends on one that is left out
        self.matters = True  # whether the branches of the current condition differ
        self.certain = True  # whether the last condition follows from definitions and decisions alone
        self.at = 0  # place of the current directive

    def is_true(self, name: str, rest: list[PreprocessingToken]) -> bool:
        self.certain = True
        if name in ("ifdef", "ifndef"):
            if not rest or rest[0].kind != "name":
                return False
            return self._is_defined(rest[0].text) == (name == "ifdef")
        try:
            node = conditions.parse_condition(self._tokenize_condition(rest))
            truth = conditions.is_true(node, self._find_value, self._decide_unknown)
            self.certain = self.certain or self._is_settled(node)
            return truth
        except (BadConditionError, TooLongError):
            condition = ConditionNode("query", (), " ".join(token.text for token in rest) or "#if")
            return self._decide_by_choice(conditions.format_node(condition))

    def _is_settled(self, node: ConditionNode) -> bool:
        """Return whether the definitions decide a condition whatever else it asks: `FOO && 0`."""
        try:
            return conditions.decide_condition(node, self._find_given_value) is not None
        except BadConditionError:
            return False

    def _find_given_value(self, name: str) -> ConditionValue | None:
        """Return the value of a name that is certainly not a macro, or of `defined(name)` for a given macro."""
        macro = name.removeprefix("defined(").removesuffix(")")
        known = macro not in self.doubtful and (macro in self.macros or macro in self.undefined)
        return ConditionValue(int(macro != name and macro in self.macros)) if known else None

    def _tokenize_condition(self, rest: list[PreprocessingToken]) -> list[PreprocessingToken]:
        """Expand the macros of a condition, with each `defined` and compiler query as one token."""
        self.steps.begin_use()
        tokens = self._join_queries(rest)
        tokens = self.expander.expand_all(tokens)
        return self._join_queries(tokens)

    def _join_queries(self, tokens: list[PreprocessingToken]) -> list[PreprocessingToken]:
        """Join each `defined(name)` and compiler query into one token."""
        result: list[PreprocessingToken] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            words = [inner.text for inner in tokens[at + 1 : at + 4]]
            if token.text == "defined" and token.kind == "name" and words:
                bracket = words[0] == "("
                if bracket and (len(words) < 3 or words[2] != ")"):
                    raise BadConditionError
                result.append(PreprocessingToken(f"defined({words[1] if bracket else words[0]})", "defined"))
                at += 4 if bracket else 2
            elif conditions.is_compiler_query(token) and words[:1] == ["("]:
                past = next((n for n in range(at, len(tokens)) if tokens[n].text == ")"), len(tokens) - 1)
                result.append(PreprocessingToken("".join(inner.text for inner in tokens[at : past + 1]), "query"))
                at = past + 1
            else:
                result.append(token)
                at += 1
        return result

    def _find_defined(self, name: str) -> bool | None:
        """Return whether a macro is defined; None if unknown."""
        if name in self.doubtful:
            self.depends_on_frozen, self.certain = True, False
            return name in self.macros
        if name in self.macros:
            return True
        if name in self.undefined:
            return False
        if name in predefined.UNDEFINED:
            self.certain = False
            self._presume(name, predefined.NOT_DEFINED, "this is code for nvcc")
            return False
        if name in predefined.DEFINED or name == predefined.ARCHITECTURE:
            self.certain = False
            macro = predefined.find_macro_value(name, self.arch)
            if macro is not None:
                self._presume(name, predefined.format_macro(name, macro[0]), macro[1])
            return True
        if name in self.text.defined and (not predefined.is_reserved_macro(name) or not self.matters):
            if self.matters:
                self._presume(name, predefined.NOT_DEFINED, "the text defines it itself")
            return False
        if predefined.is_feature_macro(name):
            self.certain = False
            self._presume(name, predefined.HAS, "the device that the text is for has it")
            return True
        if self.decisions.get(name):
            return True
        return None

    def _is_defined(self, name: str) -> bool:
        defined = self._find_defined(name)
        return self._decide_by_choice(f"defined({name})") if defined is None else defined

    def _find_value(self, name: str) -> ConditionValue | None:
        """Return the value of a name that is not a macro of the text, or of `defined(name)`."""
        if name.startswith("defined("):
            defined = self._find_defined(name[8:-1])
            return None if defined is None else ConditionValue(int(defined))
        if name in self.doubtful:
            self.depends_on_frozen, self.certain = True, False
            return ConditionValue(0)
        if name in self.macros:  # a function-like macro without arguments
            return ConditionValue(0)
        macro = predefined.find_macro_value(name, self.arch)
        if macro is not None and name not in self.undefined:
            self.certain = False
            self._presume(name, predefined.format_macro(name, macro[0]), macro[1])
            return macro[0]
        if name == predefined.ARCHITECTURE or (predefined.is_feature_macro(name) and name not in self.text.defined):
            return None
        if self._find_defined(name) is False or self.decisions.get(f"defined({name})") is False:
            return ConditionValue(0)
        return None

    def _decide_unknown(self, node: ConditionNode) -> bool:
        if (for_both := self._decide_for_both(node)) is not None:
            self.certain = False
            return for_both
        assumed = predefined.decide_by_feature(node, frozenset((predefined.ARCHITECTURE,)))
        if assumed is not None:
            self.certain = False
            value = predefined.HAS if node.op == "name" else f"{node.op} {node.parts[1].text}"
            for name in sorted(conditions.list_names(node)):
                self._presume(name, value, "the device and the toolkit that the text is for have it")
            return assumed
        return self._decide_by_choice(conditions.format_node(node))

    def _decide_for_both(self, node: ConditionNode) -> bool | None:
        """Return whether a condition on __CUDA_ARCH__ holds for all architectures of a text; None if they differ."""
        if self.arch is not None or conditions.list_names(node) != {predefined.ARCHITECTURE}:
            return None
        both = (predefined.HOPPER, predefined.BLACKWELL)
        values = (ConditionValue(arch) for arch in both)
        truths = {conditions.decide_condition(node, partial(_give_value, value)) for value in values}
        if len(truths) > 1:
            return None
        self._presume(predefined.ARCHITECTURE, " or ".join(map(str, both)), "the devices that the text is for")
        return truths.pop()

    def _decide_by_choice(self, key: str) -> bool:
        if not self.matters:
            self.certain = False
            return self.decisions.get(key, False)
        if self.chosen is not None and key not in self.chosen:
            self.depends_on_frozen, self.certain = True, False
            return False
        self.met[key] = None
        return self.decisions.get(key, False)

    def _presume(self, name: str, value: str, why: str) -> None:
        if self.matters:
            self.presumed.setdefault(name, PresumedMacro(name, value, why))


def _give_value(value: ConditionValue, name: str) -> ConditionValue:
    """Return a value for any name."""
    return value
