"""Find sums over K of which only the last iteration is left, since every iteration sets the accumulators to 0.

A loop counts if its text, and the functions that it calls with the accumulators, mention them only in products and
where they are set to 0. Any other mention may read them, and leaves the loop open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanescope.cxx.source_text import find_closing
from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.workbench.kernels.kernel_runs import KernelRun, KernelText
from lanescope.workbench.kernels.scale_inputs import find_scale, find_scale_place
from lanescope.workbench.repair.blamed_numbers import find_argument_span
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import FunctionText, find_enclosing_function
from lanescope.workbench.text.loop_texts import LoopText, find_enclosing_brace, find_statement_start, list_loops_around

TITLES = {"accumulator_reset": "Every iteration over K starts the sum again"}
_OUTPUT = re.compile(r'"[+=]&?[frd]"\s*\(')
_FRAGMENTS = re.compile(r"[\w:]*\bmma_sync\s*\(")  # of wmma: the accumulator comes first
_ARGUMENT = re.compile(r"\s*[&*]?\s*([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)\s*$")
_WORD = re.compile(r"[A-Za-z_]\w*")
_ZERO = r"(?:\(\s*\w+\s*\)\s*)?(?:\{\s*(?:0[.0]*f?)?\s*\}|-?0+(?:\.0*)?[fFuU]?|\w+\s*\(\s*0[.0f]*\s*\))"
_SET = re.compile(rf"\s*(?:\[[^\]]*\]\s*)*=\s*(?:[A-Za-z_]\w*\s*(?:\[[^\]]*\]\s*)*=\s*)*{_ZERO}\s*;")
_CLEARED = re.compile(r"\b(?:memset|fill_fragment|clear|fill)\s*\(\s*&?\s*$")
_FENCED = re.compile(r"\b\w*fence\w*\s*\(\s*&?\s*$")
_UNEVALUATED = re.compile(r"\b(?:sizeof|decltype)\s*\(\s*$")
_DECLARED = re.compile(r"[\w>]\s+$"), re.compile(r"\s*(?:\[[^\]]*\]\s*)*(?:=\s*)?(?:\{[^{}]*\}\s*)?[;,]")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+(\([^)\n]*\))?((?:[^\\\n]|\\.|\\\n)*)", re.M)
_CONDITION = re.compile(r"\b(?:if|else|switch|case|while|goto)\b|\?")


@dataclass(frozen=True, slots=True)
class ProductFrame:
    """A function that passes accumulators on to a product: its name for them, their index, and the call or product."""

    function: FunctionText
    name: str
    index: str
    at: Span


@dataclass(frozen=True, slots=True)
class ProductSite:
    """The place of a product, with the functions that lead to it, from the one that declares its accumulators."""

    frames: tuple[ProductFrame, ...]


def trace_product(text: str, blank: str, span: Span, calls: Sequence[Span]) -> ProductSite | None:
    """Trace the accumulators of a product to their declaration; None if an argument is not a variable or part of one.

    calls: the calls around it, outermost first.
    """
    output = _OUTPUT.search(text, *span)
    if output is not None:
        written = blank[output.end() : find_closing(blank, output.end() - 1)]
    else:
        first = find_argument_span(blank, span, 0) if _FRAGMENTS.match(blank, *span) else None
        if first is None:
            return None
        written = blank[slice(*first)]
    frames: list[ProductFrame] = []
    at = span
    for call in (*reversed(calls), None):
        match, function = _ARGUMENT.match(written), find_enclosing_function(blank, at[0])
        if match is None or function is None:
            return None
        frames.append(ProductFrame(function, match[1], match[2], at))
        if match[1] not in function.parameters:
            return ProductSite(tuple(reversed(frames)))
        argument = find_argument_span(blank, call, function.parameters.index(match[1])) if call is not None else None
        if call is None or argument is None or not re.match(rf"[\w:]*\b{function.name}\b", blank[slice(*call)]):
            return None
        written, at = blank[slice(*argument)], call
    return None


@dataclass(frozen=True, slots=True)
class ResetSearch:
    """The products of a text. text: with its literals; blank: without."""

    text: str
    blank: str

    def find_set_to_zero(self, sites: Sequence[ProductSite]) -> Iterator[Pitfall]:
        """Yield statements that set accumulators to 0 in every iteration of the loop that sums up in them."""
        for site in sites:
            for depth, frame in enumerate(site.frames):
                for loop in list_loops_around(self.blank, frame.function, frame.at[0]):
                    zeros = self._list_zeros(sites, site, depth, loop)
                    if zeros:
                        yield _make_pitfall(frame.name, loop.variable, zeros[0])

    def find_scaled_to_zero(self, runs: Sequence[AsmRun], sites: Sequence[ProductSite | None]) -> Iterator[Pitfall]:
        """Yield scale-d that are 0 again in a later iteration of the loop that sums up in the same accumulators."""
        known = [site for site in sites if site is not None]
        before: dict[object, AsmRun] = {}
        for run, site in zip(runs, sites, strict=True):
            key = (run.span, run.calls)
            earlier = before.get(key)
            before[key] = run
            if site is None or earlier is None or find_scale(run) != 0:
                continue
            variable = _find_advanced_loop(earlier, run)
            for depth, frame in enumerate(site.frames):
                loops = list_loops_around(self.blank, frame.function, frame.at[0])
                loop = next((loop for loop in loops if loop.variable == variable), None)
                if loop is not None and self._list_zeros(known, site, depth, loop) is not None:
                    yield _make_pitfall(frame.name, variable, find_scale_place(run))

    def _list_zeros(
        self, sites: Sequence[ProductSite], site: ProductSite, depth: int, loop: LoopText
    ) -> list[Span] | None:
        """Return where an iteration sets the accumulators to 0; None if it may do anything else with them, if each
        iteration has others, or if nothing reads them after the loop.
        """
        frame = site.frames[depth]
        inside, past = loop.body
        if not loop.variable or not re.search(rf"\b{loop.variable}\b", self.blank[inside:past]):
            return None
        if not self._is_same_in_turns(site, depth, loop) or not self._is_read_after(sites, site, depth, loop):
            return None
        if self._has_other_name(sites, frame, inside):
            return None
        zeros: list[Span] = []
        bodies = [(frame, loop.body), *((inner, inner.function.body) for inner in site.frames[depth + 1 :])]
        for of_frame, body in bodies:
            for match in re.compile(rf"\b{of_frame.name}\b").finditer(self.blank, *body):
                if self._is_product(sites, match.start()) or self._is_harmless(match.span()):
                    continue
                if not self._is_zero(match.span()):
                    return None
                if not self._is_conditional(match.start(), body[0]):
                    zeros.append((find_statement_start(self.blank, match.start(), body[0]), match.end()))
        return zeros

    def _is_same_in_turns(self, site: ProductSite, depth: int, loop: LoopText) -> bool:
        """Return whether an iteration of a loop has the same accumulators as the one before: their index depends only
        on loops within it, and on loops around it, whose variables stay.
        """
        for n, frame in enumerate(site.frames[depth:]):
            around = list_loops_around(self.blank, frame.function, frame.at[0])
            others = [other for other in around if n or other.head != loop.head]
            free = set(_WORD.findall(frame.index)) - {other.variable for other in others}
            if any(not name.isupper() for name in free):
                return False
        return True

    def _is_read_after(self, sites: Sequence[ProductSite], site: ProductSite, depth: int, loop: LoopText) -> bool:
        places = [(site.frames[depth], loop.body[1]), *((outer, outer.at[1]) for outer in site.frames[:depth])]
        return any(
            not self._is_product(sites, match.start())
            and not self._is_harmless(match.span())
            and not self._is_zero(match.span())
            for frame, after in places
            for match in re.compile(rf"\b{frame.name}\b").finditer(self.blank, after, frame.function.body[1])
        )

    def _has_other_name(self, sites: Sequence[ProductSite], frame: ProductFrame, past: int) -> bool:
        """Return whether another name may read accumulators: of a macro, or of what mentions them before a loop."""
        word = re.compile(rf"\b{frame.name}\b")
        if any(word.search(body or "") and not word.search(own or "") for own, body in _MACRO.findall(self.blank)):
            return True
        return any(
            not self._is_product(sites, match.start())
            and not self._is_harmless(match.span())
            and not self._is_zero(match.span())
            and not self._is_declared(match.span())
            for match in word.finditer(self.blank, frame.function.body[0], past)
        )

    def _is_declared(self, word: Span) -> bool:
        before, after = _DECLARED
        end = self.blank[max(word[0] - 60, 0) : word[0]]
        typed = before.search(end) and not end.rstrip().endswith("return")
        listed = end.rstrip().endswith(",") and not self.blank[word[1] :].lstrip(" ]0123456789[").startswith((",", ")"))
        return bool(after.match(self.blank, word[1]) and (typed or listed))

    def _is_product(self, sites: Sequence[ProductSite], at: int) -> bool:
        return any(frame.at[0] <= at < frame.at[1] for site in sites for frame in site.frames)

    def _is_harmless(self, word: Span) -> bool:
        before = self.blank[max(word[0] - 60, 0) : word[0]]
        return bool(_FENCED.search(before) or _UNEVALUATED.search(before))

    def _is_zero(self, word: Span) -> bool:
        """Return whether a mention of accumulators sets them to 0."""
        if _SET.match(self.blank, word[1]):
            return True
        before = self.blank[max(word[0] - 60, 0) : word[0]]
        rest = self.blank[word[1] : word[1] + 200].partition(")")[0]
        return bool(_CLEARED.search(before)) and ("," not in rest or bool(re.search(rf",\s*{_ZERO}", rest + ")")))

    def _is_conditional(self, at: int, first: int) -> bool:
        """Return whether a condition within a loop decides about a statement."""
        while at > first:
            start = find_statement_start(self.blank, at, first)
            if _CONDITION.search(self.blank[start:at]):
                return True
            at = find_enclosing_brace(self.blank, start, first)
        return False


def _find_advanced_loop(earlier: AsmRun, run: AsmRun) -> str:
    """Return the outermost loop variable that differs between two runs of a statement, if it has grown; else ""."""
    if [name for name, _ in earlier.loops] != [name for name, _ in run.loops]:
        return ""
    for (name, before), (_, now) in zip(earlier.loops, run.loops, strict=True):
        if (before.const, before.pieces) == (now.const, now.pieces):
            continue  # also of a loop whose end is open
        if before.known is None or now.known is None:
            return ""
        if before.known != now.known:
            return name if now.known > before.known else ""
    return ""


def _make_pitfall(name: str, variable: str, at: Span) -> Pitfall:
    return Pitfall(
        "accumulator_reset",
        f"{name} starts from 0 again in every iteration of the loop over {variable}, and nothing reads it before: only"
        " the products of the last iteration are left. Start from 0 in the first iteration only.",
        at,
    )


def find_resets(text: KernelText, kernel: KernelRun) -> Iterator[Pitfall]:
    """Find accumulators of a kernel's wgmma that keep the products of the last iteration only."""
    runs = [event.run for event in kernel.events if event.kind == "wgmma" and isinstance(event.run, AsmRun)]
    search = ResetSearch(text.code.text, text.blank)
    traced: dict[object, ProductSite | None] = {}
    for run in runs:
        calls = [span for _, span in run.calls[len(kernel.calls) :]]
        if (run.span, run.calls) not in traced:
            traced[run.span, run.calls] = trace_product(search.text, search.blank, run.span, calls)
    sites = [traced[run.span, run.calls] for run in runs]
    yield from search.find_set_to_zero([site for site in traced.values() if site is not None])
    yield from search.find_scaled_to_zero(runs, sites)
