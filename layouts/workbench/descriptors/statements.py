"""Consecutive calls, each of which is one K step of both operands.

`slice_order.py` calls `find_k_runs` before it places the uses of an instruction by their loops and addresses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lanescope.cxx.source_text import find_closing, split_arguments, strip_comments
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.text.addresses import list_start_names

Span = tuple[int, int]
Run = tuple[object, ...]  # which calls belong together: the loops' turn, the calls around, and the first of them
# statements between two calls that do not always follow one another, or belong to different sums
_BREAKS = re.compile(
    r"[{}#?]|\b(?:else|if|for|while|do|switch|case|goto|return)\b|wait|sync|commit|barrier|fence", re.I
)
_CALL = re.compile(r"[\w:]+\s*(?:<[^;{}]{0,400}>)?\s*\(")
_SUM = re.compile(r'"\+[frd]"\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)')
_NO_SUM = re.compile(r"desc|smem|shared|&|^[\d\s+*/().'uUlL]*$|^(?:true|false)$", re.I)


def find_k_runs(uses: Sequence[DescriptorUse], text: str) -> dict[int, tuple[Run, int]]:
    """Map the number of a use to (run, index in the run), for calls that are a K step each.

    Without runs, a call that reuses an earlier address would count as the next tile of M or N, or as the same step.
    """
    runs: dict[int, tuple[Run, int]] = {}
    for run in _find_runs(uses, text):
        run_uses = [uses[n] for n in run]
        if _has_one_accumulator(run_uses, text):
            key: Run = (run_uses[0].loops, run_uses[0].site)
            runs.update({n: (key, at) for at, n in enumerate(run)})
    return runs


def _find_runs(uses: Sequence[DescriptorUse], text: str) -> Iterator[list[int]]:
    """Yield the numbers of uses in one block with only statements between them."""
    run: list[int] = []
    for n, use in enumerate(uses):
        if run and _is_next(uses[run[-1]], use, text):
            run.append(n)
            continue
        if len(run) > 1:
            yield run
        run = [n]
    if len(run) > 1:
        yield run


def _is_next(use: DescriptorUse, other: DescriptorUse, text: str) -> bool:
    if use.loops != other.loops or not use.computed or not other.computed or set(use.arguments) != set(other.arguments):
        return False
    parting = _find_parting_statements(use, other)
    if parting is None:
        return False
    (_, end), (first, _) = parting
    return end <= first and not _BREAKS.search(strip_comments(text[end:first]))


def _find_parting_statements(use: DescriptorUse, other: DescriptorUse) -> tuple[Span, Span] | None:
    """Find the statements at which the paths to two uses diverge; None if they do not, or at different depths."""
    if len(use.site) != len(other.site):
        return None
    ways = (*use.site[1:], use.site[0]), (*other.site[1:], other.site[0])  # outermost first
    for left, right in zip(*ways, strict=True):
        if left != right:
            return (left, right) if isinstance(left, tuple) and isinstance(right, tuple) else None
    return None


def _has_one_accumulator(run: Sequence[DescriptorUse], text: str) -> bool:
    """Return whether the calls accumulate into one accumulator, a K step each.

    They get the same accumulator or, if the text does not show it, repeat addresses as tiles of M and N would not.
    """
    addresses = [tuple(sorted((name, str(argument.value)) for name, argument in use.arguments.items())) for use in run]
    each = [Counter(str(use.arguments[name].value) for use in run) for name in run[0].arguments]  # of A, of B
    often = [set(counts.values()) for counts in each]
    if _count_repeats(addresses) or (len(set(addresses)) == len(addresses) and _is_crossed(often)):
        return False
    same = _is_given_same_accumulator(run, text)
    if same is not None:
        return same
    # every address of A with every one of B: tiles of M or N, unless each occurs once
    return len(set(addresses)) < len(addresses) or any(len(values) > 1 for values in often)


def _count_repeats(addresses: Sequence[object]) -> bool:
    """Return whether the second half repeats the first."""
    counts, half = Counter(addresses), len(addresses) // 2
    equal = len(set(counts.values())) == 1 and counts[addresses[0]] > 1
    return equal and half > 1 and addresses[:half] == addresses[half:]


def _is_crossed(often: Sequence[set[int]]) -> bool:
    """Return whether each address of A occurs with each of B, as for tiles of both.

    often: for each operand, how often its addresses occur.
    """
    return len(often) > 1 and all(len(counts) == 1 and counts != {1} for counts in often)


def _is_given_same_accumulator(run: Sequence[DescriptorUse], text: str) -> bool | None:
    """Return whether the text shows that the calls are given one accumulator; None if it does not show it."""
    first, *rest = run
    spans = [parting for use in rest if (parting := _find_parting_statements(first, use)) is not None]
    if len(spans) < len(rest):
        return None
    statement_texts = [text[slice(*span)] for span in (spans[0][0], *(later for _, later in spans))]
    sums = [tuple(" ".join(call.split()) for call in _SUM.findall(call)) for call in statement_texts]
    if all(sums):
        return len(set(sums)) == 1
    arguments = [_split_arguments(call) for call in statement_texts]
    if len({len(call) for call in arguments}) != 1:
        return None
    columns = [texts for texts in zip(*arguments, strict=True) if not _has_no_sums(texts, run, text)]
    return all(len(set(texts)) == 1 for texts in columns) if columns else None


def _has_no_sums(texts: Iterable[str], run: Sequence[DescriptorUse], text: str) -> bool:
    """Return whether an argument of the calls cannot be their accumulator: a number, a buffer or a descriptor."""
    arguments = [argument for use in run for argument in use.arguments.values()]
    buffers = {name for argument in arguments for name in list_start_names(argument.value)}
    written = {text[slice(*argument.span)] for argument in arguments}
    return any(
        _NO_SUM.search(written_text) or written_text in written or _list_names(written_text) & buffers
        for written_text in texts
    )


def _list_names(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _split_arguments(call: str) -> list[str]:
    """Return the arguments of a call as written."""
    match = _CALL.match(call.lstrip())
    if match is None:
        return []
    text, opened = call.lstrip(), match.end() - 1
    return [part.strip() for part in split_arguments(text[opened + 1 : find_closing(text, opened)])]
