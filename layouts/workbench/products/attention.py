"""Run attention kernels with numbers, and compare every element of O that a block stores with softmax(Q·Kᵀ)·V.

A kernel may compute something else, such as with a bias, so that O with other numbers is open. It is wrong if the
kernel is certainly meant to compute softmax(Q·Kᵀ)·V: some elements of O are right, or all are with as few keys as one
tile has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lanescope.reader.threads.kernels import ORDER, KernelRun, run_kernels
from lanescope.reader.threads.memory.tile_records import TileSetup
from lanescope.workbench.fragments.thread_order import list_mistakes
from lanescope.workbench.products.attention_causes import (
    StoredOutput,
    find_cause,
    find_dim,
    find_mixed_rows,
    find_other_keys,
    read_elements,
)
from lanescope.workbench.products.attention_forms import (
    DIMS,
    AttentionForm,
    AttentionSizes,
    are_near,
    find_form,
    find_roles,
    find_scaled_form,
    is_length,
)
from lanescope.workbench.products.known_fragments import find_lost
from lanescope.workbench.products.known_matrices import ParameterSizes
from lanescope.workbench.products.known_runs import KnownRun
from lanescope.workbench.products.known_sums import OpenPart
from lanescope.workbench.products.product_origins import Block
from lanescope.workbench.products.size_names import list_pointers
from lanescope.workbench.results import CheckFinding, make_finding

_MEMBER = re.compile(r"(?:\.|->)\s*(\w+)")
_ASSIGNMENT = re.compile(r"(?<![=!<>])([-+*/|&^]?=)(?!=)")
_ALIAS = re.compile(r"(?:\w[\w:<>]*\s*\*|\bauto\s)\s*(?:(?:const|__restrict__)\s+)*(\w+)\s*$")
_CONST = re.compile(r"\bconst\b[^*]*\*")
_TARGET = re.compile(r"\](?:\s*\.\s*\w+)?\s*$|(?:^|\))\s*\*")  # of an assignment, to what a pointer points to
_FEW = 16, 32, 64, 128  # keys, as many as tiles have
USUAL = AttentionSizes()
RESULT = "O", "softmax(Q·Kᵀ)·V"
_GRID = 4, 4, 4  # if that of the launch is not known
Verdict = tuple[OpenPart | None, CheckFinding | None]


@dataclass(frozen=True, slots=True)
class AttentionJudge:
    """Judges a kernel with arrays Q, K and V. sizes: of its run."""

    run: KnownRun
    sizes: AttentionSizes = USUAL

    @property
    def is_attention(self) -> bool:
        """Return whether the kernel has parameters, or members of these, that are called Q, K and V, and stores to
        none of these, as a kernel that computes them does.
        """
        names = find_roles(list_pointers(self.run.text, self.run.function))
        owner = ""
        if not names:
            names = find_roles({*_MEMBER.findall(self.run.body)})
            owner = rf"(?:{'|'.join(map(re.escape, self.run.function.parameters))})\s*(?:\.|->)\s*"
        return bool(names) and not stores_to(self.run.body, [owner + re.escape(names[role]) for role in "qkv"])

    def judge(self) -> Verdict:
        """Return (why O is not known to be softmax(Q·Kᵀ)·V, None if it is; what is certainly wrong)."""
        names = {*self.run.function.parameters, *_MEMBER.findall(self.run.body)}
        if not any(map(is_length, names)):
            return OpenPart("none of its parameters is called a number of queries or keys"), None
        outputs: list[StoredOutput] = []
        for found in self._run_blocks():
            if isinstance(found, tuple):
                return found
            outputs.append(found)
            if not found.right.all():
                lengths = "{} queries and {} keys".format(*found.lengths)
                return OpenPart(f"with {lengths}, its elements have other values"), self._find_mistake(found)
        if not outputs:
            return OpenPart("it is not run"), None
        if any(one.is_unordered for one in outputs):
            return OpenPart("the order of its stores and barriers is not followed"), None
        return next(filter(None, map(find_gap, outputs)), None) or find_left_rows(outputs), None

    def _find_mistake(self, wrong: StoredOutput) -> CheckFinding | None:
        """Return what is certainly wrong with elements of O."""
        if not wrong.certain:
            return None
        if not wrong.shows_form:
            form = self._find_form_of_few(wrong)
            if form is None:
                return find_other_keys(wrong) or self._find_mixed_rows(wrong)
            wrong = replace(wrong, form=replace(form, lengths=wrong.lengths))
        return find_cause(wrong)

    def _find_mixed_rows(self, wrong: StoredOutput) -> CheckFinding | None:
        """Return what is wrong with the factors of rows of O, if the kernel stores nothing else that may have them."""
        dim = find_dim(wrong)
        alone = {one.array for one in wrong.tape.stores} == {one.array for one in wrong.stores}
        if not dim or not alone or not wrong.is_divided:
            return None
        form = find_scaled_form(wrong.names, wrong.lengths, (wrong.index, wrong.values), dim)
        return find_mixed_rows(wrong, form) if form is not None else None

    def _find_form_of_few(self, wrong: StoredOutput) -> AttentionForm | None:
        """Return the form of O with fewer keys, as those of one tile, if it is right with these, and the kernel takes
        others, too.
        """
        for keys in _FEW:
            few = replace(self, sizes=replace(self.sizes, queries=keys, keys=keys))
            found = next(few._run_blocks(), None)
            if isinstance(found, StoredOutput) and len(found.index) and found.right.all():
                return found.form if len(found.tape.steps) < len(wrong.tape.steps) else None
        return None

    def _choose_sizes(self) -> tuple[ParameterSizes, Block | None]:
        """Return the integers that the kernel is given, and its grid if it is known: those of the launch, unless all of
        them are sizes that may be others.
        """
        sizes, grid = replace(self.run, known=self.sizes).choose_sizes()
        own = {name: self.sizes.find(name) for name in sizes if not self.sizes.is_dim(name)}
        if None in own.values() or all(sizes[name] == value for name, value in own.items()):
            return sizes, grid
        return ParameterSizes({**sizes, **{name: value or 0 for name, value in own.items()}}, self.sizes), None

    def _run_blocks(self) -> Iterator[StoredOutput | Verdict]:
        """Yield what blocks store, the first one and the last, or a verdict that needs no other."""
        sizes, grid = self._choose_sizes()
        form = None
        axes = [int(f"blockIdx.{axis}" in self.run.body) for axis in "xyz"]
        x, y, z = [size - 1 for size in grid] if grid is not None else axes
        for block in dict.fromkeys([(0, 0, 0), (x, y, z)]):
            branches = self._run_block(block, sizes, grid or _GRID)
            for run in (run for runs in branches for run in runs):
                given = {one: sizes[one] for one in self.run.function.parameters if one in sizes}
                found = self._read_output(run, self.sizes.list_lengths({**given, **sizes}), form)
                if isinstance(found, tuple) and len(branches) > 1:
                    found = found[0], None
                yield found if isinstance(found, tuple) else replace(found, certain=len(branches) == 1)
                form = found.form if isinstance(found, StoredOutput) else form

    def _run_block(self, block: Block, sizes: ParameterSizes, grid: Block) -> list[list[KernelRun]]:
        """Return the runs of a block of a grid, a list for each choice of open #if conditions."""
        name, run = self.run.function.name, self.run
        setup = TileSetup(block, lambda *_: None, {name: sizes}, {(name, ()): grid}, computes=True, launches=1)
        size = self.sizes.keys, 1
        return list(run_kernels(run.text, run.macros, run.recorded, ORDER, size, tiles=setup, only=name))

    def _read_output(
        self, run: KernelRun, lengths: tuple[int, int], form: AttentionForm | None
    ) -> StoredOutput | Verdict:
        """Return what a block stores to O. form: of an earlier block."""
        runner = run.runner
        if runner.unsized:
            return OpenPart(f"what its {', '.join(sorted(runner.unsized))} may be is not known"), None
        mistakes = [make_finding(one) for _, one in list_mistakes([run])]
        if mistakes:
            return OpenPart("its shared memory is read too early, or overwritten"), mistakes[0]
        if lost := find_lost(run):
            return lost, None
        if runner.undecided:
            return OpenPart("whether a condition of it is met is not known"), None
        assert runner.tape is not None
        names = find_roles(runner.tape.units)
        stores = [one for one in runner.tape.stores if one.array == names.get("o", one.array)]
        if not names or not stores:
            return OpenPart("nothing that it stores to O is known"), None
        values, index, store = read_elements(runner, stores, runner.tape.view)
        output = StoredOutput(runner, names, stores, index, values, store, np.zeros(len(index), np.bool_), lengths)
        if np.isnan(output.values).any() and runner.tape.lost is not None:
            return OpenPart("what is computed here is not followed", runner.tape.lost), None
        dim = find_dim(output)
        form = form or find_form(names, lengths, (output.index, output.values), [dim] if dim else DIMS)
        right = are_near(output.values, form.expect(names, output.index)) if form is not None else output.right
        return replace(output, form=form, right=right)


def stores_to(body: str, arrays: Sequence[str]) -> bool:
    """Return whether statements of a kernel store to an array, or by a pointer that is made of it. arrays: patterns.

    >>> stores_to("half* to = z ? k : v; to[n] = x[n];", "kv"), stores_to("s[n] = k[n]; const half* p = k;", "kv")
    (True, False)
    """
    names = list(arrays)
    for statement in re.split("[;{}]", body):
        name = rf"(?<![\w.>])(?:{'|'.join(names)})\b"
        left, assigned, right = _ASSIGNMENT.split(statement, 1) if _ASSIGNMENT.search(statement) else ("", "", "")
        alias = _ALIAS.search(left)
        if alias is not None and assigned == "=" and re.search(name, right) and not _CONST.search(left):
            names.append(alias[1])
        found = re.search(name, left) if alias is None and _TARGET.search(left) else None
        if found is not None and left.count("[", 0, found.start()) == left.count("]", 0, found.start()):
            return True
        if re.search(rf"\b(?:atomic\w+|__st\w\w|store_matrix_sync)\s*\([^,]*?{name}", statement):
            return True
    return False


def find_gap(output: StoredOutput) -> OpenPart | None:
    """Return why a block may leave out elements of O: it stores only a part of a row, or not all rows next to others.

    A head has a line of rows, or several heads have one, of which a block stores some from a first one to a last one.
    """
    if output.form is None or not len(output.index):
        return OpenPart("a block stores none of its elements")
    elements, rows = np.unique(output.index), np.unique(output.index // output.form.dim)
    queries, heads = np.unique(rows // output.form.apart), np.unique(rows % output.form.apart)
    lines = len(elements) == output.form.dim * len(rows) and len(rows) == len(queries) * len(heads)
    whole = lines and np.ptp(queries) + 1 == len(queries)
    return None if whole else OpenPart("some of its elements are not stored")


def find_left_rows(outputs: Sequence[StoredOutput]) -> OpenPart | None:
    """Return why blocks may leave out rows of a head: one has to store the first row, and one the last row, or those
    that follow the rows of the other block.
    """
    queries = outputs[0].lengths[0]
    parts = [one.index // one.form.dim // one.form.apart % queries for one in outputs if one.form is not None]
    rows = np.unique(np.concatenate(parts))
    next_to = len(rows) > max(len(np.unique(part)) for part in parts) and np.ptp(rows) + 1 == len(rows)
    known = rows[0] == 0 and (rows[-1] == queries - 1 or next_to)
    return None if known else OpenPart("some of its rows are not stored")
