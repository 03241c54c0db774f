"""Findings of mbarriers: where the code must change, and sentences about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanescope.cxx.source_text import find_closing, list_argument_spans
from lanescope.inputs import format_count
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers.barrier_agents import Agent, AgentStep
from lanescope.reader.threads.barriers.barrier_bytes import BarrierBytes
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.memory.shared_fills import (
    OVERWRITTEN,
    UNAWAITED,
    UNCOMMITTED,
    UNFENCED,
    UNORDERED,
    FillMistake,
    StageReads,
)
from lanescope.workbench.barriers.barrier_repairs import ProtocolRepair, list_turns
from lanescope.workbench.repair.blamed_numbers import follow_number
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function
from lanescope.workbench.text.loop_texts import find_next_statement, list_loops_around

MOST_WORDS = 60  # characters of a statement that are quoted
_NAME = re.compile(r"[A-Za-z_]\w*")
_PARITY = re.compile(r"([A-Za-z_]\w*)(?:\s*[&^]\s*\d+)*[\s)]*\Z")  # p, state.phase, p ^ 1
_STAGE = re.compile(r"(?:\[[\s\w.>-]*?|\+\s*)([A-Za-z_]\w*)\s*[\]*]")  # full[state.index], full + stage * 8
_COMES_ROUND = re.compile(r"=\s*0\s*;|%|\^")
_DECLARATION = re.compile(r"(?:[,>*&]|\b(?!else\b)[A-Za-z]\w*)\s*\Z")  # before the name of a variable


def describe_count(repair: ProtocolRepair, events: Sequence[BarrierEvent], kernel: str) -> Pitfall:
    """Return the finding of a count that is not that of the arrivals."""
    event = events[repair.event]
    now, needed = int(event.values[event.mask][0]), repair.counts[repair.event]
    effect = "its phases never complete" if now > needed else "its phases complete before all have arrived"
    message = (
        f"This mbarrier is initialized for {format_count(now, 'arrival')} in a phase, but gets {needed:,} in each from"
        f" the threads of {kernel}: {effect}."
    )
    return Pitfall("mbarrier_count", message, repair.site)


def describe_parity(
    repair: ProtocolRepair, events: Sequence[BarrierEvent], agents: Sequence[Agent], text: str, stuck: bool
) -> Pitfall:
    """Return the finding of a parity that does not alternate, or begins with the wrong phase."""
    at = repair.site, events[repair.event].call
    wrong = [(turn, step.value) for step, turn, right in _list_waits(repair, agents) if step.value != right]
    begins = [step.value != right for step, turn, right in _list_waits(repair, agents) if not turn]
    turn, given = wrong[0]
    if all(begins):
        why = (
            "it passes at once, before what it waits for has happened once"
            if given
            else "it waits for an arrival that comes only after it, so that no thread continues"
        )
        message = f"The first wait here has parity {given}: {why}. It must be {1 - given}, and then alternate."
        return Pitfall("mbarrier_parity", message, _find_first_value(text, *at))
    effect = "never ends" if stuck else "passes, since an earlier phase has completed"
    message = (
        f"Wait {turn + 1} for the same mbarrier has parity {given}, and needs {1 - given}: the parity must change with"
        f" every phase, each time that its stage comes round. This wait {effect}."
    )
    return Pitfall("mbarrier_parity", message, _find_change(text, *at))


def describe_missing_flip(kernel: str) -> str:
    """Explain that no parity of a kernel's waits changes."""
    return (
        f"The parity of the waits of {kernel} never changes: it must change with every phase, each time that a stage"
        " comes round, as it does here."
    )


def _list_waits(repair: ProtocolRepair, agents: Sequence[Agent]) -> Iterator[tuple[AgentStep, int, int]]:
    """Yield the waits that a repair is about: (wait, how often the agent has waited for it before, right parity)."""
    for n, agent in enumerate(agents):
        for step, turn in list_turns(agent):
            if (n, step.event) in repair.parities:
                yield step, turn, repair.parities[n, step.event]


def describe_stuck(phase: int, count: int, total: int, where: tuple[bool, bool]) -> str:
    """Explain that a wait needs more arrivals than the code has. where: whether at a loop that ends too early or too
    late, and whether where an arrival is missing; else at the wait.
    """
    of_loop, missing = where
    start = "With this end of a loop, a wait" if of_loop else "Too few threads arrive before this, so that a wait"
    return (
        f"{f'{start} of other threads' if of_loop or missing else 'This wait'} never ends: phase {phase} of"
        f" its mbarrier, initialized for {format_count(count, 'arrival')}, needs {(phase + 1) * count:,} in all, and"
        f" the kernel's threads arrive {format_count(total, 'time')}."
    )


def describe_misread(mistake: FillMistake, text: str) -> Pitfall:
    """Return the finding of a product or a bulk copy that reads what threads have stored, or of a bulk copy that
    nothing waits for. It stands where the operation is missing.
    """
    blank = blank_text(text)
    if not mistake.stored:
        message = (
            "This product reads shared memory that threads of other warps have stored to, and no barrier is between:"
            " put __syncthreads() after the copy."
        )
        return Pitfall("barrier_missing", message, mistake.site)
    if mistake.kind == OVERWRITTEN:
        message = (
            "Threads store to a tile here that a TMA store before may still read: put a tma_store_wait of the thread"
            " that issues it, and a barrier, before this."
        )
        return Pitfall("bulk_wait_missing", message, mistake.site)
    code, message, after = _STORES[mistake.kind]
    at = find_next_statement(blank, mistake.before if after else mistake.site)
    return Pitfall(code, message, (at, at + 1))


_STORES = {  # code, message, whether the operation belongs after what precedes the copy
    UNFENCED: (
        "proxy_fence_missing",
        "A tma_store_fence (fence.proxy.async) is missing before this: the TMA store reads through the async proxy what"
        " threads have stored, and may read the previous contents. Each thread that stores must execute it.",
        True,
    ),
    UNORDERED: (
        "bulk_barrier_missing",
        "A barrier is missing between this and the TMA store, which reads what threads of other warps store: it may"
        " copy the previous contents.",
        True,
    ),
    UNCOMMITTED: (
        "bulk_commit_missing",
        "A tma_store_arrive (cp.async.bulk.commit_group) is missing before this: the TMA store before it is in no group"
        " that a tma_store_wait waits for.",
        False,
    ),
    UNAWAITED: (
        "bulk_wait_missing",
        "A tma_store_wait (cp.async.bulk.wait_group) is missing before this: the TMA store may still read shared memory"
        " after the block has ended.",
        True,
    ),
}


def describe_unread(stages: StageReads) -> Pitfall | None:
    """Return the finding of a product that reads only some of the stages that copies fill."""
    found = stages.find_unread()
    if found is None:
        return None
    site, copied, unread = found
    message = (
        f"TMA copies fill {copied} stages of an operand of this product, and it never reads {unread} of them: check the"
        " index of its stage."
    )
    return Pitfall("stage_unread", message, site)


def describe_other_bytes(counts: BarrierBytes, kernel: str, text: str) -> Pitfall | None:
    """Return the finding of an mbarrier that expects other bytes than copies bring in the whole kernel."""
    found = counts.find_difference()
    if found is None:
        return None
    site, expected, copied = found
    mask = counts.find_wrong_mask()
    if mask is not None:
        message = (
            f"With this mask, the copies bring {copied:,} bytes to an mbarrier on which {kernel} expects {expected:,}"
            " in all: bit n stands for the block of rank n in the cluster."
        )
        return Pitfall("multicast_mask", message, mask)
    message = (
        f"{kernel} expects {expected:,} bytes on this mbarrier in all, and its copies bring {copied:,}: a phase"
        f" {'ends too early' if expected < copied else 'never ends'}."
    )
    return Pitfall("expect_tx_bytes", message, _find_bytes(blank_text(text), site))


def _find_bytes(blank: str, site: Span) -> Span:
    """Return where the bytes that a call expects are set: a constant, or a pipeline's transaction_bytes; else the
    call.
    """
    opening = blank.find("(", *site)
    past = find_closing(blank, opening) if opening >= 0 else 0
    if past != site[1] - 1:
        return site
    if not re.search("expect|bytes", blank[site[0] : opening]):
        given = [match.span() for match in re.finditer(r"\btransaction_bytes\s*=", blank)]
        return given[0] if len(given) == 1 else site
    spans = list_argument_spans(blank, opening + 1, past)
    constant = spans and _NAME.fullmatch(blank[slice(*spans[-1])])
    return follow_number(blank, spans[-1], ()) if constant else site


def describe_mask(mask: Span, blocks: int, kernel: str) -> Pitfall:
    """Return the finding of a mask that names a block that the cluster does not have."""
    message = f"This mask names a block that clusters of {kernel} do not have: their ranks are 0 to {blocks - 1}."
    return Pitfall("multicast_mask", message, mask)


# places ---------------------------------------------------------------------------------------------------------------


def _find_first_value(text: str, site: Span, call: Span) -> Span:
    """Return where a parity begins with the wrong value: a variable's number that is not 0, else the wait."""
    name = _find_variable(text, call)
    if not name:
        return site
    blank = blank_text(text)
    function = find_enclosing_function(blank, call[0])
    declared = re.compile(rf"\b{name}\s*(?:=\s*|\{{\s*)([1-9]\d*)[uU]?\b")
    match = declared.search(blank, function.body[0], call[0]) if function is not None else None
    return match.span(1) if match is not None else call


def _find_change(text: str, site: Span, call: Span) -> Span:
    """Return where a parity should change with the stage: where it does, where the stage comes round, else the wait."""
    name = _find_variable(text, call)
    if not name or not call[0] <= site[0] < call[1]:
        return site
    blank = blank_text(text)
    stage = _STAGE.search(blank[slice(*call)]) if not _is_counted(blank, name) else None
    for first, past in _list_blocks(blank, call[0]):
        changed = list(_list_changes(blank[first:past], name))
        changed = changed or (_list_resets(blank[first:past], stage[1]) if stage is not None else [])
        if changed:
            return (first + changed[0].start(), first + changed[0].end() - 1) if len(changed) == 1 else site
    return find_missing_flip(text, call) or _find_end_without_flip(blank, name, call) or site


def _find_end_without_flip(blank: str, name: str, wait: Span) -> Span | None:
    """Return the end of the loop around a wait if the variable of its parity is declared before the loop with a number
    and nothing in its function changes it.
    """
    function = find_enclosing_function(blank, wait[0])
    if function is None or _is_counted(blank, name) or any(_list_changes(blank[slice(*function.body)], name)):
        return None
    declared = re.compile(rf"[\w*&>]\s+{name}\s*(?:=\s*|\{{\s*)[01][uU]?\b").search(blank, function.body[0], wait[0])
    loops = [one for one in list_loops_around(blank, function, wait[0]) if declared and declared.end() < one.head[0]]
    end = loops[-1].body[1] - 1 if loops else 0
    return (end, end + 1) if loops and blank[end] == "}" else None


def _list_changes(blank: str, name: str) -> Iterator[re.Match[str]]:
    """Yield the statements that assign a variable, except declarations."""
    for match in re.finditer(rf"\b{name}\s*(?:\^=|=(?!=))\s*[^;]+;", blank):
        if not _DECLARATION.search(blank, 0, match.start()):
            yield match


def _is_counted(blank: str, name: str) -> bool:
    """Return whether a variable counts something, such as the turns of a loop."""
    return re.search(rf"(?:\+\+|--)\s*{name}\b|\b{name}\s*(?:\+\+|--|[-+]=)", blank) is not None


def _list_resets(blank: str, stage: str) -> list[re.Match[str]]:
    """Return the statements with which the number of a stage comes round."""
    return [match for match in _list_changes(blank, stage) if _COMES_ROUND.search(match[0])]


def find_missing_flip(text: str, wait: Span) -> Span | None:
    """Return where the stage of a wait comes round, if nothing changes the variable of its parity around it, or in the
    text if the stage comes round elsewhere; None if that is at no place, or at several.

    >>> text = "for (k) { if (++q == 4) { q = 0; } wait(&full[q], p); }"
    >>> text[slice(*find_missing_flip(text, (35, 52)))]
    'q = 0'
    """
    blank = blank_text(text)
    parity, stage = (form.search(blank[slice(*wait)]) for form in (_PARITY, _STAGE))
    if parity is None or stage is None or _is_counted(blank, parity[1]):
        return None
    for first, past in (*_list_blocks(blank, wait[0]), (0, len(blank))):
        block = blank[first:past]
        resets = _list_resets(block, stage[1])
        if resets or next(_list_changes(block, parity[1]), None) is not None:
            alone = len(resets) == 1 and next(_list_changes(block, parity[1]), None) is None
            return (first + resets[0].start(), first + resets[0].end() - 1) if alone else None
    return None


def _list_blocks(blank: str, at: int) -> Iterator[Span]:
    """Yield the blocks in braces around a place, the innermost first."""
    depth = 0
    for n in range(at - 1, -1, -1):
        depth += (blank[n] == "{") - (blank[n] == "}")
        if depth > 0:
            depth = 0
            yield n, find_closing(blank, n)


def _find_variable(text: str, call: Span) -> str:
    """Return the variable in the last argument of a call of a wait, "" if there is none or several."""
    arguments = text[slice(*call)].rpartition(",")[2].rpartition(")")[0]
    names = set(_NAME.findall(arguments))
    return names.pop() if len(names) == 1 else ""


def describe_long(kernel: tree.Function, size: int) -> Pitfall:
    """Return the doubt about a kernel that takes too many steps with matrices of a size."""
    message = (
        f"The mbarriers of {kernel.name} are not simulated: with matrices of {size} × {size} its loops have too many"
        " turns."
    )
    return Pitfall("mbarriers_unfinished", message, kernel.span)


def describe_open_cluster(kernel: tree.Function) -> Pitfall:
    """Return the doubt about a kernel whose clusters have no known shape."""
    message = (
        f"The mbarriers of {kernel.name} are not simulated, since the shape of its clusters is not known: give it by"
        " __cluster_dims__ or in the launch."
    )
    return Pitfall("mbarriers_unfinished", message, kernel.span)


def describe_not_run(kernel: tree.Function, why: str) -> Pitfall:
    """Return the note about a kernel that is not run."""
    return Pitfall("mbarriers_open", f"The mbarriers of {kernel.name} are not simulated: {why}.", kernel.span)


def describe_other_parity(kernel: str, events: Sequence[BarrierEvent]) -> Pitfall | None:
    """Return the note about a kernel that waits with another parity than 0 and 1; None if it does not."""
    for event in events:
        values = event.values[event.mask]
        if event.kind == "wait" and values.size and (values.min() < 0 or values.max() > 1):
            parity = int(values[(values < 0) | (values > 1)][0])
            why = f"This waits with parity {parity}, and PTX allows 0 and 1"
            return Pitfall("mbarrier_parity_range", f"{why}: {kernel} is simulated with its lowest bit.", event.call)
    return None


def describe_blocked(kernel: str, wait: Span) -> Pitfall:
    """Return the doubt about a kernel that passes a wait in no schedule, for a reason that is not known."""
    message = (
        f"{kernel} never passes this wait in a simulation of its threads, and no single count, parity or arrival"
        " explains it: its mbarriers are not verified."
    )
    return Pitfall("mbarriers_open", message, wait)


def describe_lost(kernel: str, text: str, at: Span) -> Pitfall:
    """Return the doubt about a kernel whose run ended at a statement."""
    words = " ".join(text[slice(*at)].split())
    words = words if len(words) <= MOST_WORDS else words[:MOST_WORDS] + "…"
    message = f"The mbarriers of {kernel} are not simulated: `{words}` cannot be followed."
    return Pitfall("mbarriers_open", message, (at[0], at[0] + 1))
