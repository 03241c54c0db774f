"""Find tcgen05.ld of lanes and columns that are not those of the accumulator, deallocations of other columns than were
allocated, descriptors of another version, and instructions with different CTA groups.

Rules: PTX ISA 9.1, 9.7.16.2.3 (access by warps), 9.7.16.7.1 (alloc and dealloc), 9.7.16.8.1 (tcgen05.ld); all tcgen05
instructions of a kernel have the same `.cta_group`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from lanescope.ptx.table.descriptors import TCGEN05, VERSION
from lanescope.ptx.table.tmem import COLUMNS, LANES
from lanescope.ptx.threads import WARP
from lanescope.reader.code.findings import Pitfall, find_origins
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.workbench.repair.blamed_terms import find_loop_step
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_memory.tensor_places import find_value_of, narrow_operand
from lanescope.workbench.tensor_memory.tensor_steps import (
    TensorKernel,
    TensorStep,
    evaluate_at_thread,
    find_base,
    list_base_names,
)
from lanescope.workbench.text.known_values import find_common_value, require_known

TITLES = {
    "tmem_lanes": "A warp loads lanes of tensor memory that it cannot access",
    "tmem_column_range": "Columns are accessed that tensor memory does not have, or that are not allocated",
    "tmem_column_step": "The loads of tensor memory do not move by the columns that they take",
    "tmem_dealloc": "tcgen05.dealloc frees other columns than tcgen05.alloc reserved",
    "tcgen05_cta_group": "The tcgen05 instructions of a kernel have different CTA groups",
}
_SHAPE = re.compile(r"\.(32x32b|16x64b|16x128b|16x256b|16x32bx2)\.x(\d+)")
# of .x1: PTX ISA 9.1, figures of 9.7.16.2.3.1
_COLUMNS = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}
_MODE = TCGEN05.get_field(TCGEN05.coded).low, TCGEN05.get_field(TCGEN05.coded).high
_VERSION = TCGEN05.constants[VERSION.name]
_LANE = 1 << 16  # in an address of tensor memory
_QUARTER = 4  # warps of a warpgroup, which share the lanes
_WARP = r".*(?i:warp|wid|lane).*"  # names of what an address takes its lane from
_GROUP = re.compile(r"\.cta_group::([12])(?!\d)")


def find_access_mistakes(kernel: TensorKernel) -> Iterator[Pitfall]:
    """Find wrong accesses of tensor memory in a kernel whose instructions are all known."""
    bases = list_base_names([*kernel.list_steps("alloc"), *kernel.list_steps("mma")])
    lanes = list(_check_lanes(kernel, bases))
    yield from lanes
    if not lanes:
        yield from _check_columns(kernel)
    yield from _check_freed(kernel)
    yield from _check_groups(kernel)
    yield from _check_versions(kernel)


# lanes ----------------------------------------------------------------------------------------------------------------


def _check_lanes(kernel: TensorKernel, bases: frozenset[str]) -> Iterator[Pitfall]:
    """Yield loads and stores of lanes outside the quarter of a warp, or of columns outside tensor memory."""
    columns = _count_allocated(kernel)
    for step in kernel.list_steps("ld", "st"):
        number = 1 if step.kind == "ld" else 0
        address = step.find_value(number)
        base = find_base(address, bases)
        if address is None or not (base or any("threadIdx" in name for name, _ in address.terms)):
            continue
        warps = kernel.list_warps(step)
        at = {
            lane: {w: evaluate_at_thread(address, base, WARP * w + lane, kernel.block) for w in warps}
            for lane in (0, 1)
        }
        found = (
            _find_different_addresses(step, at[0], at[1])
            or _find_wrong_lanes(step, at[0])
            or _find_wrong_columns(step, at[0], columns if base else COLUMNS)
        )
        if found is not None:
            place = narrow_operand(kernel.text, step, step.find_source(number), _WARP)
            yield Pitfall(*found, _find_warp_number(kernel, at[0], place) or place)


_Addresses = Mapping[int, int | None]  # warp → address less its base, None if it is open


def _find_warp_number(kernel: TensorKernel, addresses: _Addresses, place: Span) -> Span | None:
    """Return the value of the warp's number in an address, if all warps have the lanes of a warp, but of another."""
    whole = all(at is None or at // _LANE % WARP == 0 for at in addresses.values())
    return find_value_of(kernel.text, place, _WARP) if whole else None


def _find_different_addresses(step: TensorStep, first: _Addresses, second: _Addresses) -> tuple[str, str] | None:
    """Return (code, message) if threads of a warp give different addresses."""
    for warp, one in first.items():
        other = second[warp]
        if one is not None and other is not None and one != other:
            return "tmem_lanes", (
                f"Threads of warp {warp} give tcgen05.{step.kind} different addresses. All threads of a warp have to"
                " give the same one: its lane, in bits 16 and up, is that of the first thread, 32·(warp % 4)."
            )
    return None


def _find_wrong_lanes(step: TensorStep, addresses: _Addresses) -> tuple[str, str] | None:
    """Return (code, message) of the first warp that accesses lanes of another."""
    known = {warp: at for warp, at in addresses.items() if at is not None and at >= 0 and at % _LANE < COLUMNS}
    if all(at < _LANE for at in known.values()):
        return None  # the lane left out in all warps, as kernels do that rely on the hardware's own choice
    for warp, at in known.items():
        lane, first = at // _LANE % LANES, warp % _QUARTER * WARP  # the rest is ignored: warp 4 may take 128
        rows = WARP if ".32x32b" in step.words else WARP // 2
        if not first <= lane <= first + WARP - rows:
            return "tmem_lanes", (
                f"Warp {warp} accesses lanes {lane} to {lane + rows - 1} of tensor memory here. It has lanes"
                f" {first} to {first + WARP - 1} only: those from 32·(warp % 4) on, bits 16 and up of the address."
            )
    return None


def _find_wrong_columns(step: TensorStep, addresses: _Addresses, columns: int) -> tuple[str, str] | None:
    """Return (code, message) of the first warp that accesses columns behind those that there are."""
    width = count_columns(step.words) or 1
    for warp, at in addresses.items():
        if at is not None and at >= 0 and at % _LANE + width > columns:
            first = at % _LANE
            span = f"columns {first} to {first + width - 1}" if width > 1 else f"column {first}"
            there = f"{columns} are allocated" if columns < COLUMNS else f"it has {COLUMNS}"
            return "tmem_column_range", (
                f"Warp {warp} accesses {span} of tensor memory here, and {there}. Bits 0 to 15 of the address are the"
                " column, bits 16 and up the lane."
            )
    return None


def _count_allocated(kernel: TensorKernel) -> int:
    """Return the columns that the kernel's only tcgen05.alloc reserves, else those of tensor memory."""
    allocations = kernel.list_steps("alloc")
    count = allocations[0].find_number(1) if len(allocations) == 1 else None
    return COLUMNS if count is None else count


# columns --------------------------------------------------------------------------------------------------------------


def count_columns(words: str) -> int | None:
    """Return the columns that a tcgen05.ld takes; None if its shape is not known.

    >>> count_columns(".sync.aligned.32x32b.x8.b32"), count_columns(".sync.aligned.16x256b.x2.b32")
    (8, 16)
    """
    match = _SHAPE.search(words)
    if match is None or ".pack" in words or ".red" in words:
        return None
    return _COLUMNS[match[1]] * int(match[2])


def _check_columns(kernel: TensorKernel) -> Iterator[Pitfall]:
    """Yield the kernel's only load if it is in a loop that moves it by another number of columns than it takes."""
    loads = kernel.list_steps("ld")
    if len(loads) < 2 or find_common_value(map(_key_load, loads)) is None:
        return
    load, width, step = loads[0], count_columns(loads[0].words), _measure_step(loads)
    if width is None or step in (None, width) or _moves_by_thread(load):
        return
    what = "columns between are never read" if step > width else "some columns are read twice"
    message = f"tcgen05.ld{load.words} takes {width} columns, and the next one begins {step} columns later: {what}."
    variable = _name_loop(load)
    place = narrow_operand(kernel.text, load, load.find_source(1), variable)
    yield Pitfall("tmem_column_step", message, find_loop_step(kernel.text.blank, place, variable) or place)


def _key_load(load: TensorStep) -> object:
    """Return what is the same in all iterations of the innermost loop around a load."""
    return load.site, load.words, tuple((name, str(value)) for name, value in load.run.loops[:-1])


def _measure_step(loads: Sequence[TensorStep]) -> int | None:
    """Return by how many columns a loop moves its load; None if that differs or is open."""
    places = require_known(load.find_value(1) for load in loads)
    if places is None or len({place.terms for place in places}) != 1:
        return None
    step = find_common_value(later.const - place.const for place, later in pairwise(places) if later != places[0])
    return step if step is not None and 0 < step < COLUMNS else None


def _moves_by_thread(load: TensorStep) -> bool:
    """Return whether different threads may read different columns."""
    value = load.find_value(1)
    factors = [factor for _, factor in value.terms] if value is not None else []
    return factors.count(1) > 1 or any(factor % _LANE for factor in factors if factor != 1)


def _name_loop(step: TensorStep) -> str:
    loops = step.run.loops
    return re.escape(loops[-1][0].rstrip("'")) if loops else ""


# allocation -----------------------------------------------------------------------------------------------------------


def _check_freed(kernel: TensorKernel) -> Iterator[Pitfall]:
    """Yield a deallocation of another number of columns than were allocated."""
    allocations, freed = kernel.list_steps("alloc"), kernel.list_steps("dealloc")
    reserved = {step.find_number(1) for step in allocations}
    if len({step.at for step in allocations}) != 1 or None in reserved or len(reserved) != 1:
        return
    count = reserved.pop()
    if len({step.at for step in freed}) == 1:
        other = freed[0].find_number(1)
        if other is not None and other != count:
            message = f"tcgen05.dealloc frees {other} columns; tcgen05.alloc reserved {count}."
            yield Pitfall("tmem_dealloc", message, narrow_operand(kernel.text, freed[0], freed[0].find_source(1)))


def _check_groups(kernel: TensorKernel) -> Iterator[Pitfall]:
    """Yield instructions whose CTA group differs from that of the products, or of most instructions."""
    groups: dict[str, list[TensorStep]] = defaultdict(list)
    for step in kernel.steps:
        match = _GROUP.search(step.words)
        if match:
            groups[match[1]].append(step)
    if len(groups) != 2:
        return
    of_products = {group for group, steps in groups.items() if any(step.kind == "mma" for step in steps)}
    counts = Counter({group: len({step.span for step in steps}) for group, steps in groups.items()})
    right = of_products.pop() if len(of_products) == 1 else counts.most_common(1)[0][0]
    for group, steps in groups.items():
        if group != right:
            yield from (_make_group_pitfall(kernel, step, group, right) for step in steps)


def _make_group_pitfall(kernel: TensorKernel, step: TensorStep, group: str, right: str) -> Pitfall:
    message = (
        f"tcgen05.{step.kind} has cta_group::{group}, other tcgen05 instructions of {kernel.run.name} have"
        f" cta_group::{right}. All of a kernel must have the same."
    )
    written = kernel.text.code.text.find(f"cta_group::{group}", *step.span)
    return Pitfall("tcgen05_cta_group", message, (written, written + 12) if written >= 0 else step.at)


def _check_versions(kernel: TensorKernel) -> Iterator[Pitfall]:
    """Yield matrix descriptors that lack the version of their format: PTX ISA 9.1, 9.7.16.4.1."""
    for step in kernel.list_steps("mma", "cp"):
        for number in (1, 2) if step.kind == "mma" else (1,):
            value = step.find_integer(number)
            if value is None or step.operands[number].strip().startswith("["):
                continue
            known = not any(piece.mask & VERSION.mask << VERSION.low for piece in value.pieces)
            version = VERSION.get(value.const)
            if not known or version == _VERSION:
                continue
            message = (
                f"The version in bits {VERSION.low}–{VERSION.high} of this descriptor of tcgen05.{step.kind} is"
                f" {version}; it is {_VERSION} in every one."
            )
            yield Pitfall("version_wrong", message, _find_version(value) or step.find_source(number))


def _find_version(value: SymbolicInt) -> Span | None:
    """Return where the version of a descriptor is set, or a bit beside it, or its swizzle mode; None if none is."""
    beside = (VERSION.low - 1, VERSION.high + 1, VERSION.high + 2)
    places = ((VERSION.low, VERSION.high), *((bit, bit) for bit in beside if value.const >> bit & 1), _MODE)
    return next((span for low, high in places for span in find_origins(value, low, high)), None)
