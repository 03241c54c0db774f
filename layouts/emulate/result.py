"""The result of a run: status, findings, and the final buffers, compared with expected contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.launching.elements import decode_elements, split_codes, view_codes, view_elements
from lanescope.emulate.launching.kernel import Kernel, Placement
from lanescope.emulate.machine import Finding
from lanescope.errors import LayoutError

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first different element. index: in the buffer, in elements; got, expected: numbers; bits: their encodings."""

    index: tuple[int, ...]
    got: float | int
    expected: float | int
    got_bits: int
    expected_bits: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A buffer compared with its expected contents, bit for bit. mismatches: number of different elements."""

    equal: bool
    mismatches: int
    total: int
    first_mismatch: Mismatch | None


@dataclass(frozen=True, slots=True)
class Output:
    """A buffer after the run. shape: of the array; type: of the elements; changed: whether the run stored to it."""

    name: str
    array: Array
    shape: tuple[int, ...]
    type: str
    changed: bool
    compared: Comparison | None = None
    file: str = ""


@dataclass(frozen=True)
class EmulationResult:
    """The result of a run. status: finished, deadlock, fault, unknown_instruction or budget.

    outputs: the buffers that the launch keeps, compares or changes. barriers: mbarriers and named
    barriers with phase, arrivals and bytes. steps: statements that groups of threads executed. notes: caveats.
    """

    status: str
    findings: tuple[Finding, ...]
    outputs: Mapping[str, Output]
    barriers: Sequence[Mapping[str, Any]]
    steps: int
    notes: tuple[str, ...] = ()
    capture: bytes | None = field(default=None, repr=False)
    events: Sequence[Mapping[str, Any]] | None = field(default=None, repr=False)

    @property
    def passed(self) -> bool:
        """Whether it finished without an error, and every comparison agrees."""
        return (
            self.status == "finished"
            and not any(output.severity == "error" for output in self.findings)
            and all(output.compared is None or output.compared.equal for output in self.outputs.values())
        )


def collect_outputs(kernel: Kernel, arrays: Mapping[str, Array], expected: Mapping[str, Array]) -> dict[str, Output]:
    """Return the buffers that a launch keeps, that are compared or that changed.

    arrays: every buffer's final contents.
    """
    outputs = {}
    for name, buffer in kernel.buffers.items():
        after = arrays[name]
        changed = after.tobytes() != buffer.array.tobytes()
        if not (changed or buffer.spec.output or name in expected):
            continue
        compared = compare_arrays(kernel, name, after, expected[name]) if name in expected else None
        outputs[name] = Output(name, after, after.shape, buffer.row.name, changed, compared, buffer.spec.output)
    return outputs


def check_expected(kernel: Kernel, expected: Mapping[str, Array]) -> None:
    """Raise LayoutError unless expected arrays have the names, shapes and types of buffers."""
    for name, array in expected.items():
        if name not in kernel.buffers:
            names = ", ".join(kernel.buffers)
            raise LayoutError("bad_launch", f"No buffer '{name}' to compare.", f"The launch has {names}.", "compare")
        buffer = kernel.buffers[name]
        if view_elements(array, buffer.row, f"compare.{name}").shape != buffer.array.shape:
            raise LayoutError(
                "bad_buffer",
                f"compare.{name} has the shape {list(array.shape)}; the buffer has {list(buffer.array.shape)}.",
                "Compare with an array of the buffer's shape.",
                "compare",
            )


def compare_arrays(kernel: Kernel, name: str, after: Array, expected: Array) -> Comparison:
    """Return the comparison of a buffer's array with the expected one, bit for bit."""
    row = kernel.buffers[name].row
    goal = view_elements(expected, row, f"compare.{name}")
    total = after.size * row.packed
    items = [view_codes(array) for array in (after, goal)]
    different = np.flatnonzero(items[0] != items[1])
    if not len(different):
        return Comparison(True, 0, total, None)
    codes = [split_codes(array[different], row) for array in items]  # [different items, elements of an item]
    wrong = codes[0] != codes[1]
    within = int(np.flatnonzero(wrong[0])[0])
    index = [int(n) for n in np.unravel_index(int(different[0]), after.shape)]
    if index:
        index[-1] = index[-1] * row.packed + within
    numbers = [decode_elements(array.reshape(-1)[different[:1]], row)[within].item() for array in (after, goal)]
    bits = [int(array[0, within]) for array in codes]
    return Comparison(False, int(wrong.sum()), total, Mismatch(tuple(index), *numbers, *bits))


def take_arrays(placement: Placement) -> dict[str, Array]:
    """Return the current contents of every buffer."""
    return {name: placement.take_array(name) for name in placement.buffers}
