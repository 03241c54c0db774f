"""Search for the only statement of which an edit makes D A·B, where D is certainly no product of matrices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain

import numpy as np

from lanescope.deadline import OverdueError, is_late
from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.threads.memory.records import RegisterUse
from lanescope.reader.threads.memory.storage import OPEN, DataBytes, Ints
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.check_report import ProductRepair
from lanescope.workbench.cute.cute_edits import list_layout_edits
from lanescope.workbench.products.broken_products import A, B, D
from lanescope.workbench.products.known_sums import WrongPart
from lanescope.workbench.products.product_report import ProductVerdict
from lanescope.workbench.products.product_sizes import shorten_name
from lanescope.workbench.reads.twin_statements import list_series_edits, list_twin_edits
from lanescope.workbench.repair.name_edits import list_head_edits, list_name_edits
from lanescope.workbench.repair.usual_edits import list_number_edits
from lanescope.workbench.results import Span, TextEdit
from lanescope.workbench.text.dependent_names import UNKNOWN, WORD, list_origin_names
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function
from lanescope.workbench.text.loop_texts import LoopText, list_loops_at
from lanescope.workbench.text.statement_words import StatementWords, list_origins, list_statements

TITLES = {"product_broken": "D is not A·B, and a change at one place makes it A·B"}
MOST_TRIED = 300
_MOST_RANK = 3  # of the numbers that are tried
_OF_FUNCTION = 3  # steps
_OF_LAYOUT = 2  # the distance of a layout
_BLOCK = "blockIdx"
_STEPPED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:[-+]=|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)")
_COUNTER = re.compile(r"\bfor\s*\(\s*(?:[A-Za-z_][\w:]*\s+)*([A-Za-z_]\w*)\s*=")
_LOST = "Elements of D are stored over others, or nowhere"
_OTHER_SIZE = "This is the size of another dimension"
_PITCH = "The stride {0} is a size of another matrix than this one, whose own is {1}"
_STRIDE = re.compile(r"\bmake_stride\s*\([^()]*$")
_SET = re.compile(r"\b([A-Za-z_]\w*)\s*=(?!=)")
_TWICE = "Products take the same rows of A and columns of B for several elements of D, or mix those of several"


@dataclass(frozen=True, slots=True, eq=False)
class ProductSearch:
    """A kernel of which D is not A·B. reached: the texts of its functions; proves: returns whether D is A·B after an
    edit; is_size: whether a name is one of M, N and K; verdict: of D, if it tells more than the places of the mistake;
    sides: what is wrong of A, B and D (0, 1 and 2); certain: whether D is wrong for sure; sized: whether it is if an
    edit replaces a size by another; equal: whether the program may be for equal sizes alone; stores: of D.
    """

    text: str
    kernel: str
    reached: frozenset[str]
    proves: Callable[[TextEdit], bool]
    is_size: Callable[[str], bool]
    verdict: ProductVerdict | None = None
    sides: Sequence[int] = ()
    certain: bool = True
    sized: bool = False
    equal: bool = False
    stores: Sequence[Span] = ()

    def find_repair(self, places: Iterable[Span]) -> ProductRepair | None:
        """Return the edit of the only statement of which one makes D A·B. places: where a mistake shows."""
        edits = self._choose_size(self.find_edits(places))
        return ProductRepair(self.kernel, edits[0], self._describe_mistake(edits)) if edits else None

    def _describe_mistake(self, edits: Sequence[TextEdit]) -> str:
        """Describe the mistake that edits undo; "" if D may be another product on purpose."""
        first, single = edits[0], self.sized and len(edits) == 1
        names = self.text[slice(*first.span)], first.text
        if (single or not self.certain) and all(map(self.is_size, names)):
            if not self.equal and _STRIDE.search(self.text, max(0, first.span[0] - 80), first.span[0]):
                return _PITCH.format(*names)
            if single:
                return _OTHER_SIZE
        return "" if not self.certain else _LOST if D in self.sides else _TWICE

    def _choose_size(self, edits: list[TextEdit]) -> list[TextEdit]:
        """Return the edit by a size if only another size with the same number would do, too: M is seldom a pitch."""
        sizes = {edit.text.strip(" *"): edit for edit in edits}
        if len({edit.span for edit in edits}) != 1 or not all(map(self.is_size, sizes)):
            return edits
        return [sizes[min(sizes, key=lambda name: (shorten_name(name) == "m", name))]]

    def find_edits(self, places: Iterable[Span]) -> list[TextEdit]:
        """Return the edits of one statement, at the least distance, that make D A·B; none if several statements have
        such edits.
        """
        least, found = 1 << 9, list[TextEdit]()
        for n, (distance, edit) in enumerate(self.list_candidates(places)):
            if distance > least:
                break
            if n == MOST_TRIED or is_late():  # another statement may be as near
                return []
            if self._is_proved(edit):
                least = distance
                found.append(edit)
        return found if len({_find_statement(self.text, edit) for edit in found}) == 1 else []

    def _is_proved(self, edit: TextEdit) -> bool:
        """Return whether D is A·B after an edit."""
        try:
            return self.proves(edit)
        except OverdueError:
            raise
        except Exception:  # an edit may make any text, also one that is not followed
            return False

    def list_candidates(self, places: Iterable[Span]) -> list[tuple[int, TextEdit]]:
        """List (distance, edit) of the statements that wrong elements come from, the likely ones first."""
        blank = blank_text(self.text)
        twins = [*((-1, edit) for edit in list_series_edits(blank)), *((0, edit) for edit in list_twin_edits(blank))]
        drivers = self._find_drivers(blank)
        found: dict[TextEdit, int] = {}
        for steps, one in self._list_statements(blank, places):
            if is_late():
                break
            inside = (ranked for ranked in twins if one.span[0] <= ranked[1].span[0] <= one.span[1])
            numbers = ((rank // 2, edit) for rank, edit in list_number_edits(one, ()) if rank <= _MOST_RANK)
            named = list_name_edits(self.text, one, self.is_size), list_head_edits(self.text, one)
            for rank, edit in chain(inside, *named, numbers):
                apart = 0 if drivers is None else _measure_dependence(blank, one, edit, drivers)
                if apart is not None:
                    found[edit] = min(found.get(edit, 1 << 9), steps + apart + 2 * rank)
        for edit in self._list_layout_edits(blank):
            found[edit] = min(found.get(edit, 1 << 9), _OF_LAYOUT)
        return sorted(((distance, edit) for edit, distance in found.items()), key=lambda entry: entry[0])

    def _list_layout_edits(self, blank: str) -> Iterator[TextEdit]:
        """Yield edits of the layouts of CuTe's tensors and of their tiles, also in the code that launches a kernel."""
        if not names_cute(blank):
            return
        for one in list_statements(blank):
            function = find_enclosing_function(blank, one.span[0])
            around = blank[slice(*function.body)] if function is not None else ""
            given = [*function.parameters, *_SET.findall(around)] if function is not None else []
            yield from list_layout_edits(blank, one, [name for name in dict.fromkeys(given) if self.is_size(name)])

    def _list_statements(self, blank: str, places: Iterable[Span]) -> Iterator[tuple[int, StatementWords]]:
        """Yield (steps, statement) of those that wrong elements come from, and no others alone."""
        chains = set(self._list_chains(self.sides))
        others = set(self._list_chains([n for n in (A, B, D) if n not in self.sides]))
        every = dict.fromkeys([*places, *sorted(chain[-1] for chain in chains)])
        foreign = {at for one in others for at in one}.difference(every, *chains)
        outside = _list_bodies(blank, others) - _list_bodies(blank, chains)
        for steps, one in chain(list_origins(blank, list(every)), self._list_stores(blank)):
            calls_other = any(one.span[0] <= at[0] < one.span[1] for at in foreign)
            in_other = any(body[0] <= one.span[0] < body[1] for body in outside)
            if self._is_reached(blank, one) and not calls_other and not in_other:
                yield steps, one

    def _list_stores(self, blank: str) -> Iterator[tuple[int, StatementWords]]:
        """Yield (steps, statement) of those that the stores of D come from, whose mistake is seen elsewhere."""
        yield from ((steps + 2, one) for steps, one in list_origins(blank, list(self.stores)))

    def _list_chains(self, sides: Sequence[int]) -> Iterator[tuple[Span, ...]]:
        """Yield where the addresses of what is wrong are given, after the calls around it."""
        for run in self.verdict.runners if self.verdict is not None else ():
            for n in (n for n in sides if n != D):
                taken = [one for use in run.products for one in (use.a, use.b)[n]]
                described = [use for use in run.descriptors if use.name == "ab"[n]]
                arrays = _list_arrays(run, taken) | _name_arrays(run, (use.data for use in described))
                yield from map(_list_calls, taken)
                yield from ((*use.calls, use.site) for use in described)
                yield from ((*load.calls, load.site) for load in run.records if load.array in arrays)
            if D in sides:
                yield from ((store.site,) for store in run.outputs)

    def _is_reached(self, blank: str, one: StatementWords) -> bool:
        """Return whether a statement is one of the kernel, or of a function that it calls."""
        function = find_enclosing_function(blank, one.span[0])
        return function is not None and blank[slice(*function.body)] in self.reached

    def _find_drivers(self, blank: str) -> Set[str] | None:
        """Return the names of one of which a statement that is wrong depends; None if it may depend on any.

        Elements that are off by as much in a whole block depend on its number, those in a whole fragment on the loops
        around its product, if the threads have no part in it.
        """
        verdict = self.verdict
        if verdict is None or verdict.wrong is None or verdict.wrong.fragment is None:
            return None
        fragments, part = verdict.group, verdict.wrong
        if D not in part.sides:
            return _find_steps(blank, verdict, part)
        distances = _measure_distances([part.list_offsets(fragments, n) for n in (A, B)])
        if distances is None:
            return None
        blocks = [one.block for one in fragments]
        if len(set(zip(blocks, distances, strict=True))) == len(set(blocks)):
            return {_BLOCK}
        turns = [(one.block, one.products[0].turns) for one in fragments]
        if len(set(zip(turns, distances, strict=True))) > len(set(turns)):
            return None  # threads differ
        product = fragments[0].products[0]
        return _list_stepped(blank, _list_loops(blank, (*product.calls, product.span, *product.sites)))


def _find_steps(blank: str, verdict: ProductVerdict, part: WrongPart) -> Set[str] | None:
    """Return what the loops around the loads of an operand step, if their turns decide how far it is off."""
    taken = [one for run in verdict.runners for use in run.products for one in (use.a, use.b)[part.sides[-1]]]
    around = {_list_loops(blank, _list_calls(one)) for one in taken}
    steps, loops = part.list_steps(), next(iter(around), ())
    found: dict[tuple[int, ...], int] = {}
    decided = all(found.setdefault(turns[: len(loops)], off) == off for turns, off in steps or ())
    return _list_stepped(blank, loops) if steps and decided and len(around) == 1 else None


def _list_loops(blank: str, places: Iterable[Span]) -> tuple[LoopText, ...]:
    """List the loops around places, of which each is inside of what the one before calls, each once."""
    return tuple(dict.fromkeys(loop for at in places for loop in list_loops_at(blank, at[0])))


def _list_stepped(blank: str, loops: Sequence[LoopText]) -> Set[str] | None:
    """Return the names that loops step, None if there are none."""
    if loops:
        stepped = {one[1] or one[2] for loop in loops for one in _STEPPED.finditer(blank, *loop.body)}
        stepped -= {one[1] for loop in loops for one in _COUNTER.finditer(blank, *loop.body)}  # of loops inside
        return {*(loop.variable for loop in loops if loop.variable), *stepped}
    return None


def _measure_distances(offsets: Sequence[Sequence[Ints] | None]) -> list[tuple[int, ...]] | None:
    """Return how far off the rows and columns of each fragment are; None if those of its elements differ, or are not
    known.
    """
    known = [one for one in offsets if one is not None]
    if len(known) < len(offsets) or any(np.ptp(of) for one in known for of in one):
        return None
    return [tuple(int(of[0]) for of in pair) for pair in zip(*known, strict=True)]


# statements -----------------------------------------------------------------------------------------------------------


def _find_statement(text: str, edit: TextEdit) -> Span:
    """Return the statement of an edit."""
    every = list_statements(blank_text(text))
    return next((one.span for one in every if one.span[0] <= edit.span[0] <= one.span[1]), edit.span)


def _list_calls(one: RegisterUse) -> tuple[Span, ...]:
    """Return the calls around what loads a register, and its place."""
    return (one.site,) if one.load is None else (*one.load.calls, one.load.site)


def _list_bodies(blank: str, chains: Iterable[Sequence[Span]]) -> set[Span]:
    """Return the bodies of the functions that some places are in."""
    around = (find_enclosing_function(blank, at[0]) for at in {at for one in chains for at in one})
    return {one.body for one in around if one is not None}


def _list_arrays(run: KernelRunner, registers: Iterable[RegisterUse]) -> set[str]:
    """Return the arrays that registers are taken from."""
    every = (one.load.rows if one.load is not None else one.data for one in registers)
    return _name_arrays(run, (of for of in every if of is not None))


def _name_arrays(run: KernelRunner, every: Iterable[DataBytes]) -> set[str]:
    """Return the arrays that elements are of."""
    data = {id(of): of for of in every}
    numbers = {int(n) for of in data.values() for n in np.unique(of.record) if n > OPEN}
    return {run.records[n].array for n in numbers} - {""}


def _measure_dependence(blank: str, one: StatementWords, edit: TextEdit, drivers: Set[str]) -> int | None:
    """Return how unlikely it is that the term of an edit depends on some names, None if it does not."""
    function = find_enclosing_function(blank, one.span[0])
    if function is None:
        return _OF_FUNCTION
    first, past, depth = one.span[0], one.span[1], 0
    for word, span in zip(one.words, one.spans, strict=True):
        depth += (word in "([{") - (word in ")]}")
        if not depth and word in ("+", "-", ",", "=", "+=", "-=", ";"):
            first, past = (span[1], past) if span[1] <= edit.span[0] else (first, min(past, span[0]))
    stepped = {match[1] for match in _STEPPED.finditer(blank, *one.span)}
    words = {*WORD.findall(blank[first:past]), *WORD.findall(edit.text), *stepped}
    origins = list_origin_names(blank, function, frozenset(words))
    return 0 if not drivers.isdisjoint(origins) else _OF_FUNCTION if UNKNOWN in origins else None
