"""Find the statement that makes elements of O of an attention kernel wrong, from what each number is computed from.

Every number is of one row of Q, or of none, unless code combines those of several rows; P of a key is multiplied with
V of this key. What is left is how much of each key O has: a sum that is not of all keys, or not rescaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanescope.reader.threads.memory.number_tape import (
    Floats,
    NumberStore,
    NumberTape,
    TapeStep,
    TapeView,
    multiply_add,
    spread,
)
from lanescope.reader.threads.memory.records import LoadedRegister
from lanescope.reader.threads.memory.storage import DataBytes, Ints, Mask
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.products.attention_forms import AttentionForm, are_near
from lanescope.workbench.results import CheckFinding, Span

CODE = "attention_mismatch"
TITLES = {CODE: "Elements of O are not those of softmax(Q·Kᵀ)·V"}
_SHOWN = 1 / 8  # of the rows or columns of O
_LEAST = 1 / 4  # of the products of P and V that are of other keys: so many are of the same ones
_REPLAYED = 16  # keys at most
_LITTLE, _UNLIKE = 1e-12, 1e-3  # a share of a key that is 0, and a relative difference of two that are not alike
_UNSCALED = (
    "Here, P·V of some keys is added to that of others with another factor: O and the sum of P have to be multiplied by"
    " exp(old maximum - new maximum) of their row, and each key counts once."
)
_NONE, _MANY = -1, -2  # of no row, of several


@dataclass(frozen=True, slots=True, eq=False)
class StoredOutput:
    """The elements of O that a block stores: the number of each, its value, the number of its store, and its thread.

    lengths: of queries and keys; form: what the elements have to be; right: whether they are;
    certain: whether no condition of #if is open.
    """

    run: KernelRunner
    names: Mapping[str, str]
    stores: Sequence[NumberStore]
    index: Ints
    values: Floats
    store: Ints
    right: Mask
    lengths: tuple[int, int]
    form: AttentionForm | None = None
    certain: bool = True

    @property
    def tape(self) -> NumberTape:
        assert self.run.tape is not None
        return self.run.tape

    @property
    def shows_form(self) -> bool:
        """Return whether many elements, rows or columns are right, which shows what the kernel is meant to compute."""
        dim = self.form.dim if self.form is not None else 1
        lines = (self.index // dim, self.index % dim)
        shares = (1 - len(np.unique(of[~self.right])) / len(np.unique(of)) for of in lines)
        return self.form is not None and (max(shares) >= _SHOWN or bool(self.right.mean() >= 2 * _SHOWN))

    @property
    def is_divided(self) -> bool:
        """Return whether the last that is done with the elements is a division, or a multiplication."""
        steps = {step.record: step for step in self.tape.steps}
        last = [steps.get(int(one.data.record[one.mask][0, 0])) for one in self.stores]
        return all(step is not None and step.function in (np.divide, np.multiply) for step in last)

    @property
    def is_unordered(self) -> bool:
        """Return whether the order of stores and barriers is not known."""
        order = self.run.order
        return order is not None and (order.lost or order.is_uneven)

    def read_tags(self, view: TapeView) -> Any:
        """Return what a view has for the elements."""
        return read_elements(self.run, self.stores, view)[0]


def read_elements(run: KernelRunner, stores: Sequence[NumberStore], view: TapeView) -> tuple[Any, Ints, Ints]:
    """Return (what a view has for stored elements, their numbers, the number of the store of each)."""
    values, index, store = [], [], []
    for n, one in enumerate(stores):
        found = view.read_numbers(run, one.data)[one.mask]
        values.append(found.ravel())
        index.append((one.index[one.mask][:, None] + np.arange(found.shape[1])).ravel())
        store.append(np.full(found.size, n))
    return np.concatenate(values), np.concatenate(index), np.concatenate(store)


def find_cause(output: StoredOutput) -> CheckFinding | None:
    """Return the finding of the statement that makes elements of O wrong; None if it is not found."""
    assert output.form is not None
    with np.errstate(all="ignore"):
        found = _CauseFinder(output, output.form).list_causes()
        return next((CheckFinding(CODE, message, site) for site, message in found), None)


def find_mixed_rows(output: StoredOutput, form: AttentionForm) -> CheckFinding | None:
    """Return the finding of a statement that combines numbers of several rows of Q. form: what O is, but for a factor
    of each row.
    """
    found = next(_CauseFinder(output, form).list_mixed(), None)
    return CheckFinding(CODE, found[1], found[0]) if found is not None else None


def find_other_keys(output: StoredOutput) -> CheckFinding | None:
    """Return the finding of a product of P and V of other keys if others of its kind are of the same keys, whatever
    else is wrong.
    """
    dim = find_dim(output)
    finder = _CauseFinder(output, AttentionForm(output.lengths, dim, 1, None, 1.0)) if dim else None
    if finder is None or finder.alike < len(finder.other) * _LEAST:
        return None
    return next((CheckFinding(CODE, message, site) for site, message in finder.list_other_keys()), None)


def find_dim(output: StoredOutput) -> int:
    """Return how many elements of a row of Q are multiplied by those of K; 0 if products take none of Q as it is."""
    depth: dict[int, int] = {}
    for step in output.tape.steps:
        registers = [one for of in step.operands[:2] for one in of] if step.instruction is not None else []
        arrays = {output.run.records[int(one.record[0, 0])].array for one in registers if one is not None}
        if step.instruction is not None and output.names["q"] in arrays:
            added = step.operands[2][0]
            before = depth.get(int(added.record[0, 0]), 0) if isinstance(added, DataBytes) else 0
            depth[step.record] = before + int(np.max(step.instruction.operand("a").coords["col"])) + 1
    return max(depth.values(), default=0)


class _CauseFinder:
    """Finds why elements of O are wrong. rows, keys, columns: of Q, of K and V, and of V, what each number is of."""

    def __init__(self, output: StoredOutput, form: AttentionForm) -> None:
        self.output, self.form, self.run = output, form, output.run
        self.names = output.names
        self.mixed: list[tuple[TapeStep, set[tuple[int, int]]]] = []  # steps that combine two rows, and these
        self.other: list[tuple[Span, int, int]] = []  # where P of a key is multiplied by V of another one, and these
        self.alike = 0  # products of P and V of the same keys
        self.taken, self.met = set[int](), set[int]()  # the loads and the rows of V that these take
        self.rows = self._follow({"q": lambda at: at // form.dim}, mixed=True)
        self.keys = self._follow({"k": lambda at: at // form.dim, "v": lambda at: at // form.dim}, pairs=True)
        self.columns = self._follow({"v": lambda at: at % form.dim})
        self.place = output.index // form.dim, output.index % form.dim

    def list_causes(self) -> Iterator[tuple[Span, str]]:
        """Yield causes, the most certain ones first."""
        yield from self._list_misplaced()
        yield from self.list_mixed()
        yield from self.list_other_keys()
        yield from self._list_weights()

    def _follow(self, of: Mapping[str, Callable[[Ints], Ints]], mixed: bool = False, pairs: bool = False) -> TapeView:
        """Follow what numbers are of. of: elements of q, k or v; mixed: whether steps are noted that combine several;
        pairs: whether those of one keep it, whatever they are combined with.
        """
        by_array = {self.names[role]: number for role, number in of.items()}

        def find_number(array: str, index: Ints) -> Ints:
            return by_array[array](index) if array in by_array else np.full(len(index), _NONE)

        view = TapeView(find_number, _NONE, _NONE)
        for step in self.output.tape.steps:
            parts = view.arrange(self.run, step) if step.instruction is not None else None
            if step.instruction is None or parts is None:
                values = (view.read_numbers(self.run, value)[step.mask] for value in step.operands)
                result, found = _join(list(values), pairs)
                if pairs and step.function in (
                    np.fmax,
                    np.fmin,
                ):  # the maximum of a row is of all keys, whichever has it
                    result = np.where(result >= 0, _MANY, result)
                whole = np.full((self.run.threads, result.shape[1]), _NONE)
                whole[step.mask] = result
            else:
                if pairs:
                    self._note_pairs(step, parts)
                a, b = _reduce(parts[0], 2, pairs), _reduce(parts[1], 1, pairs)
                result, found = _join([a[:, :, None], b[:, None], parts[2]], pairs)
                whole = spread(step.instruction.operand("d"), result)
            if mixed and found:
                self.mixed.append((step, found))
            view.tables[step.record] = np.where(self._is_nothing(step, view), _NONE, whole)
        return view

    def _is_nothing(self, step: TapeStep, view: TapeView) -> Any:
        """Return which results are 0 since they have a factor 0 that is of nothing, whatever the other one is."""
        found: Any = False
        for value in step.operands if step.function is np.multiply else ():
            numbers = self.output.tape.view.read_numbers(self.run, value)
            found = found | ((view.read_numbers(self.run, value) == _NONE) & (numbers == 0))
        return found

    def _note_pairs(self, step: TapeStep, parts: Sequence[Ints]) -> None:
        """Note that a product multiplies P of a key with V of another one."""
        a, b = parts[0][:, :, :, None], parts[1][:, None]
        numbers = self.output.tape.view.arrange(self.run, step)
        taken = numbers is not None and np.abs(numbers[0])[:, :, :, None] > _LITTLE  # not behind a mask
        both = (a >= 0) & (b >= 0) & taken
        differ = both & (a != b)
        loads = {int(n) for one in step.operands[1] for n in np.unique(one.record)}
        if differ.any():
            at = tuple(int(n[0]) for n in np.nonzero(differ))
            key, row = int(parts[0][at[:3]]), int(parts[1][at[0], at[2], at[3]])
            self.other.append((self._find_load(step, loads, row), key, row))
        elif both.any():
            self.alike += 1
            self.taken |= loads
            self.met |= set(np.unique(parts[1]).tolist())

    def _find_load(self, step: TapeStep, loads: set[int], row: int) -> Span:
        """Return where a row of V is loaded: from global memory if it was taken before, and is loaded again."""
        if row in self.met and not loads & self.taken:
            load = self.run.records[min(loads)]
            return (*load.calls, load.site)[0]
        matrix = next((one.load for one in step.operands[1] if isinstance(one, LoadedRegister)), None)
        return step.site if matrix is None else matrix.step if self.alike else matrix.site

    def _list_misplaced(self) -> Iterator[tuple[Span, str]]:
        """Yield stores of elements of O of other rows or columns."""
        row, column = self.output.read_tags(self.rows), self.output.read_tags(self.columns)
        known = ~self.output.right & (row >= 0) & (column >= 0)
        moved = known & ((row != self.place[0]) | (column != self.place[1]))
        own = self.form.expect(self.names, (row * self.form.dim + column)[moved])
        if moved.any() and are_near(self.output.values[moved], own).all():
            n = int(moved.argmax())
            places = f"row {row[n]} and column {column[n]}", f"row {self.place[0][n]} and column {self.place[1][n]}"
            site = self.output.stores[self.output.store[n]].site
            yield site, f"The element of O of {places[0]} is stored at {places[1]}."

    def list_mixed(self) -> Iterator[tuple[Span, str]]:
        """Yield statements that combine numbers of several rows, if no row that is right has such ones from there."""
        rows = self.place[0]
        wrong = set(np.unique(rows[~self.output.right]).tolist())
        right = set(np.unique(rows).tolist()) - wrong
        harmless = {step.site for step, found in self.mixed if any(right.issuperset(pair) for pair in found)}
        for step, found in self.mixed:
            first, other = next((pair for pair in sorted(found) if not wrong.isdisjoint(pair)), (_NONE, _NONE))
            if step.site not in harmless and first != other:
                first, other = sorted((first, other))
                yield step.site, f"Here, numbers of rows {first} and {other} of Q are combined: each row has its own."

    def list_other_keys(self) -> Iterator[tuple[Span, str]]:
        """Yield the load of V that is not of the keys of P."""
        for site, key, other in self.other:
            yield (
                site,
                f"P of row {key} of K meets row {other} of V: their tiles, or their places there, differ.",
            )

    def _list_weights(self) -> Iterator[tuple[Span, str]]:
        """Yield where numbers of several keys are added that are not scaled alike, or where they are divided."""
        n = int((~self.output.right).argmax())
        row, column = int(self.place[0][n]), int(self.place[1][n])
        keys, weights = self.form.weigh(self.names, row)
        if not self._takes_softmax(row, dict(zip(keys.tolist(), weights.tolist(), strict=True))):
            return
        chosen = np.flatnonzero(weights > 0)
        chosen = chosen[:: -(-len(chosen) // _REPLAYED) | 1]  # of all columns of a tile
        steps = list(self._list_places(row, column))
        shares = []
        for key in chosen:
            tables = self._replay(int(keys[key]), column).tables
            shares.append(np.array([tables[step.record].flat[at] for step, at in steps]) / weights[key])
        last, found = self.output.tape.steps[-1], np.zeros(0)
        for (step, _), found in zip(steps, np.transpose(shares), strict=True) if shares else ():
            last, taken = step, np.abs(found[np.abs(found) > _LITTLE])
            if taken.size and np.ptp(taken) > _UNLIKE * taken.max():
                yield self._find_scaling(step), _UNSCALED
                return
        if found.size and np.abs(found).min() <= _LITTLE:
            at = int(np.abs(found).argmin())
            lost = self._find_loss(self._replay(int(keys[chosen[at]]), column), (row, column))
            if lost is not None:
                yield lost, f"O loses P·V of row {keys[chosen[at]]} of K here: it is multiplied by 0."
        elif found.size and np.abs(found - 1).min() > _UNLIKE and np.ptp(found) <= _UNLIKE * np.abs(found).max():
            yield self._find_sum(last), "O is not divided by the sum of P over all keys of its row."

    def _list_places(self, row: int, column: int) -> Iterator[tuple[TapeStep, int]]:
        """Yield the steps with a number of a row and a column, and the place of this number among theirs."""
        for step in self.output.tape.steps:
            mine = (self.rows.tables[step.record] == row) & (self.columns.tables[step.record] == column)
            if mine.any():
                yield step, int(mine.argmax())

    def _find_loss(self, view: TapeView, place: tuple[int, int]) -> Span | None:
        """Return where an element of O that has a share of a key is multiplied by 0. place: its row and column."""
        for step in self.output.tape.steps:
            lost = np.abs(view.tables[step.record]) <= _LITTLE
            for value in step.operands if step.function is np.multiply else ():
                row, column = (tags.read_numbers(self.run, value) for tags in (self.rows, self.columns))
                mine = (row == place[0]) & (column == place[1]) & lost
                if (mine & (np.abs(view.read_numbers(self.run, value)) > _LITTLE)).any():
                    return step.site
        return None

    def _takes_softmax(self, row: int, weights: Mapping[int, float]) -> bool:
        """Return whether P of a row is that of Q·Kᵀ alone, of all keys, with some factor in each product. weights: by
        row of K.
        """
        met: set[int] = set()
        for step in self.output.tape.steps:
            parts = self.keys.arrange(self.run, step) if step.instruction is not None else None
            rows = self.rows.arrange(self.run, step) if parts is not None else None
            if parts is None or rows is None or not (parts[1] >= 0).any():
                continue
            mine = (rows[0] == row) & (parts[0] >= 0)
            values = (self.output.tape.view.arrange(self.run, step) or parts)[0][mine]
            shares = np.array([weights.get(key, 0.0) for key in parts[0][mine].tolist()])
            ratios = values / np.where(shares > 0, shares, np.nan)
            if mine.any() and not np.ptp(ratios) <= _UNLIKE * np.abs(ratios).max():
                return False
            met |= set(parts[0][mine].tolist())
        return met >= {key for key, weight in weights.items() if weight > 0}

    def _replay(self, key: int, column: int) -> TapeView:
        """Compute all numbers again with a V that is 1 for one key and column, and 0 elsewhere."""
        own = self.output.tape.view
        at = key * self.form.dim + column

        def find_number(array: str, index: Ints) -> Floats:
            numbers: Floats = np.equal(index, at) * 1.0 if array == self.names["v"] else own.elements(array, index)
            return numbers

        view = TapeView(find_number)
        view.tables = {one.record[0, 0]: own.tables[one.record[0, 0]] for one in self.output.tape.constants.values()}
        for step in self.output.tape.steps:
            of_v = (self.columns.tables[step.record] != _NONE).any()
            view.tables[step.record] = step.compute(self.run, view) if of_v else own.tables[step.record]
        return view

    def _list_operands(self, step: TapeStep) -> Iterator[tuple[TapeStep, bool]]:
        """Yield the steps that computed the operands of a step, and whether they depend on V."""
        steps = {one.record: one for one in self.output.tape.steps}
        values = step.operands if step.instruction is None else step.operands[2]
        for value in values:
            record = int(value.record[0, 0]) if hasattr(value, "record") else -1
            if record in steps:
                yield steps[record], bool((self.columns.tables[record] != _NONE).any())

    def _find_scaling(self, step: TapeStep) -> Span:
        """Return where elements are multiplied before others are added to them, else where these are added."""
        for one, of_v in self._list_operands(step):
            if of_v and one.instruction is None and any(not other for _, other in self._list_operands(one)):
                return one.site
        return step.site

    def _find_sum(self, step: TapeStep) -> Span:
        """Return where the number is computed that elements are divided by."""
        while True:
            others = [one for one, of_v in self._list_operands(step) if not of_v]
            if not others:
                return step.site
            step = others[0]
            if step.function in (np.add, multiply_add):
                return step.site


def _join(parts: Sequence[Ints], pure: bool) -> tuple[Ints, set[tuple[int, int]]]:
    """Return (what numbers are of that are computed from others, which of one are combined with those of another one).
    pure: whether what is of one stays so if it is combined with what is of several.
    """
    result, found = parts[0], set[tuple[int, int]]()
    for part in parts[1:]:
        result, part = np.broadcast_arrays(result, part)
        differ = (result >= 0) & (part >= 0) & (result != part)
        if differ.any():
            found |= set(zip(result[differ].tolist(), part[differ].tolist(), strict=True))
        several = differ | (((result == _MANY) | (part == _MANY)) & (not pure))
        low, high = np.minimum(result, part), np.maximum(result, part)
        result = np.where(several, _MANY, np.where((high == _NONE) & (low == _MANY), _MANY, high))
    return result, found


def _reduce(numbers: Ints, axis: int, pure: bool) -> Ints:
    """Return what a sum along an axis is of."""
    known = numbers >= 0
    most = np.where(known, numbers, _NONE).max(axis=axis)
    least = np.where(known, numbers, np.iinfo(np.int64).max).min(axis=axis)
    several = known.any(axis=axis) & (least != most)
    many = (numbers == _MANY).any(axis=axis) & ((most == _NONE) | (not pure))
    return np.where(several | many, _MANY, most)
