"""Products of CuTe's tensors: gemm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from lanescope.cute import algebra
from lanescope.descriptor.cute_descriptors import make_cute_descriptor
from lanescope.descriptor.matrix import view
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import START, TCGEN05, WGMMA
from lanescope.ptx.threads import WARPGROUP
from lanescope.reader.threads.cute.async_mma import AsyncMma
from lanescope.reader.threads.cute.bulk import follow_product
from lanescope.reader.threads.cute.copies import forget_tensors, read_register, write_elements
from lanescope.reader.threads.cute.layout_calls import CuteCall
from lanescope.reader.threads.cute.tensor_tiles import OPCODE, add_product, make_views
from lanescope.reader.threads.cute.tensors import CuteTensor, get_element, join_runs, list_indices
from lanescope.reader.threads.cute.tiled import ThreadSlice
from lanescope.reader.threads.instructions.matrix_loads import make_use
from lanescope.reader.threads.memory.matrix_reads import MOST, count_sum, note_read
from lanescope.reader.threads.memory.records import MmaUse, RegisterUse
from lanescope.reader.threads.memory.results import describe_start, find_added, make_results
from lanescope.reader.threads.memory.storage import (
    ZERO,
    DataBytes,
    LocalMemory,
    Span,
    make_open_data,
    spread_coefficient,
)
from lanescope.tiles.mma import TiledMMA

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

Fragment = tuple[CuteTensor, Sequence[int]]  # a tensor, and the indices of its elements in one product
_REGISTER_BYTES = 4


def _multiply(call: CuteCall) -> None:
    """Run gemm(mma, [D,] A, B, C): products of every atom of the thread's fragments, over M, N and K."""
    run, values = call.run, call.values
    if run.barriers is not None:
        follow_product(call)
        return
    mma: Any = values[0].of if isinstance(values[0], ThreadSlice) else values[0]
    operands = values[-3:]
    followed = mma.is_followed if isinstance(mma, AsyncMma) else isinstance(mma, TiledMMA)
    known = followed and len(values) in (4, 5) and all(isinstance(one, CuteTensor) for one in operands)
    grids = [_make_grid(one) for one in operands] if known else [None]
    if all(grid is not None for grid in grids) and _fit(grids):
        _run_atoms(call, mma, grids)
        return
    if all(grid is not None for grid in grids):
        run.stop_at_error("cute_gemm_misfit", _describe_sizes(grids), call.node.span)
    forget_tensors(run, values[-1:], call.name)


def _run_atoms(call: CuteCall, mma: TiledMMA | AsyncMma, grids: Sequence[Any]) -> None:
    """Run the instructions of a gemm whose fragments fit each other."""
    (of_a, m_count, k_count), (of_b, n_count, _), (of_c, _, _) = grids
    a, b, c = call.values[-3:]
    for k, m, n in product(range(k_count), range(m_count), range(n_count)):
        parts = (a, of_a[k][m]), (b, of_b[k][n]), (c, of_c[n][m])
        if isinstance(mma, AsyncMma) and mma.threads == 1:
            _run_in_memory(call, mma, *parts)
        elif isinstance(mma, AsyncMma):
            _run_described(call, mma, *parts)
        else:
            _run_atom(call.run, mma, *parts, (call.node.span, (k, m, n)))


def _make_grid(tensor: CuteTensor) -> tuple[list[list[list[int]]], int, int] | None:
    """Return the indices of the values of each atom, [second mode][first mode], and the sizes of both modes."""
    layout = tensor.layout
    modes = (*layout.modes, algebra.ONE, algebra.ONE)[:3] if layout.shape != () else ()
    if len(modes) < 3 or layout.rank > 3:
        return None
    parts = [list_indices(mode) for mode in modes]
    if any(part is None for part in parts):
        return None
    values, first, second = parts
    grid = [[[v + x + y for v in values or ()] for x in first or ()] for y in second or ()]
    return grid, modes[1].size, modes[2].size


def _fit(grids: Sequence[Any]) -> bool:
    """Return whether A (M, K), B (N, K) and C (M, N) have the same sizes."""
    (_, m, k), (_, n, k_of_b), (_, m_of_c, n_of_c) = grids
    return (m, n, k) == (m_of_c, n_of_c, k_of_b)


def _describe_sizes(grids: Sequence[Any]) -> str:
    """Say that A, B and C have different sizes (CUTLASS 4.7, cute/algorithm/gemm.hpp)."""
    (_, m, k), (_, n, k_of_b), (_, m_of_c, n_of_c) = grids
    return (
        f"A thread's fragments have {m}×{k} (A, M×K), {n}×{k_of_b} (B, N×K) and {m_of_c}×{n_of_c} (C, M×N) atoms: CuTe"
        " does not compile this gemm. One of the fragments is of another tile."
    )


def _run_described(call: CuteCall, mma: AsyncMma, a: Fragment, b: Fragment, c: Fragment) -> None:
    """Run one wgmma of each warpgroup, with the descriptors of its tiles."""
    run, node, adds, tiled = call.run, call.node, mma.find_scale(call.run), mma.tiled
    assert tiled is not None
    opcode, added = tiled.atom.instruction.ptx, _read_registers(run, *c)
    results = join_runs(c[1], _count_elements(c[0]))
    if adds is None or len(run.descriptors) >= MOST:
        for indices in results:
            write_elements(run, c[0], indices, make_open_data(run.threads, _REGISTER_BYTES))
        return
    before = int(added[0].record[run.mask.argmax(), 0]) if isinstance(added[0], DataBytes) else None
    before = before if adds else None
    unset = any(value is None for value in added) and _is_unset(run, *c)
    start = describe_start(run, list(_find_starts(run, added, *c)), unset) if adds and before not in run.sums else ""
    total = count_sum(run, before, -len(run.results) - 1)
    run.starts[total] = f"this product adds to {start}" if start else run.starts.get(total, "")
    for name, major, operand, argument in zip("ab", mma.majors, (a, b), node.arguments[-3:-1], strict=True):
        for group, word in _list_words(run, mma, name, operand):
            seen = view(tiled.atom.instruction, name, major)
            note_read(run, opcode, name, (node.span, argument.span), (word, seen), (total, group))
    registers = make_results(run, opcode, node.span, None, len(added))
    for register, indices in zip(registers, results, strict=True):
        write_elements(run, c[0], indices, register)


def _run_in_memory(call: CuteCall, mma: AsyncMma, a: Fragment, b: Fragment, c: Fragment) -> None:
    """Run one tcgen05.mma, with the descriptors of its tiles."""
    run, node = call.run, call.node
    begun = add_product(run, mma, c, node.span) if len(run.descriptors) < MOST else None
    if begun is None:
        run.shared.incomplete = run.shared.incomplete or "what a tcgen05.mma adds to is not known"
        return
    total, why = begun
    run.starts[total] = why or run.starts.get(total, "")
    views = make_views(mma)
    for name, operand, argument in zip("ab", (a, b), node.arguments[-3:-1], strict=True):
        for _, word in _list_words(run, mma, name, operand):
            note_read(run, OPCODE, name, (node.span, argument.span), (word, views[name]), (total, 0))


def _list_words(run: KernelRunner, mma: AsyncMma, name: str, operand: Fragment) -> Iterator[tuple[int, int]]:
    """Yield (number, descriptor) of each warpgroup that multiplies a tile in shared memory, and of the thread that
    issues a tcgen05.mma; none if it is not known.
    """
    tensor, indices = operand
    place = get_element(run, replace(tensor, swizzle=None), indices[0])
    address = place.shared_address if place is not None and tensor.space == "shared" else None
    if address is None or address.const is None:
        return
    major, bits = mma.majors["ab".index(name)], 8 * mma.bytes
    shaped = algebra.swizzle_addresses(replace(tensor.layout.modes[0], swizzle=tensor.swizzle), bits)
    try:
        fields = make_cute_descriptor(shaped, major, bits, TCGEN05 if mma.threads == 1 else WGMMA).word
    except LayoutError:
        return
    starts = spread_coefficient(address.const, run.threads)
    if mma.threads == 1:
        yield 0, START.put(fields, START.encode(int(starts[run.mask.argmax()])))
        return
    for group in range(run.threads // WARPGROUP):
        lane = WARPGROUP * group
        if run.mask[lane : lane + WARPGROUP].all():
            yield group, START.put(fields, START.encode(int(starts[lane])))


def _run_atom(
    run: KernelRunner,
    mma: TiledMMA,
    a: Fragment,
    b: Fragment,
    c: Fragment,
    place: tuple[Span, tuple[int, int, int]],
) -> None:
    """Run one mma with the registers of one atom."""
    site, _ = place
    opcode = mma.atom.instruction.ptx
    added = _read_registers(run, *c)
    use = _record_product(run, opcode, (a, b, c), added, place) if not run.is_full else None
    count = len(added)
    results = (
        make_results(run, opcode, site, use, count) if use is not None else [make_open_data(run.threads, 4)] * count
    )
    for register, indices in zip(results, join_runs(c[1], _count_elements(c[0])), strict=True):
        write_elements(run, c[0], indices, register)


def _record_product(
    run: KernelRunner,
    opcode: str,
    operands: Sequence[Fragment],
    added: Sequence[Any],
    place: tuple[Span, tuple[int, int, int]],
) -> MmaUse:
    """Record what the registers of A and B hold, and whether those of C were set."""
    a, b, c = operands
    site, turn = place
    result = get_element(run, c[0], c[1][0])
    offset = result.offset.known if result is not None and result.offset is not None else None
    memory = result.array if result is not None and isinstance(result.array, LocalMemory) else None
    home = (memory, offset) if memory is not None and offset is not None else None
    unset = home is not None and any(value is None for value in added) and _is_unset(run, *c)
    use = MmaUse(
        opcode,
        site,
        _use_registers(run, *a),
        _use_registers(run, *b),
        tuple(run.calls),
        run.mask.copy(),
        (*run.turns, *turn),
        home,
        unset,
        start=describe_start(run, list(_find_starts(run, added, *c)), unset),
        adds=find_added(run, added[0]),
        broken=run.shared.broken,
        ends=tuple(run.ends),
    )
    run.products.append(use)
    return use


def _find_starts(run: KernelRunner, added: Sequence[Any], tensor: CuteTensor, indices: Sequence[int]) -> Iterator[Any]:
    """Yield the values of the registers of C. A register whose elements are all 0 is ZERO."""
    for value, group in zip(added, join_runs(indices, _count_elements(tensor)), strict=True):
        yield ZERO if value is None and all(_is_zero(run, tensor, n) for n in group) else value


def _is_zero(run: KernelRunner, tensor: CuteTensor, index: int) -> bool:
    place = get_element(run, tensor, index)
    offset = place.offset.known if place is not None and place.offset is not None else None
    if place is None or offset is None or not isinstance(place.array, LocalMemory):
        return False
    return place.array.is_zero(offset, place.type.size)


def _count_elements(tensor: CuteTensor) -> int:
    """Return the elements of a tensor in a register."""
    return max(_REGISTER_BYTES // (tensor.element.size if tensor.element is not None else 4), 1)


def _read_registers(run: KernelRunner, tensor: CuteTensor, indices: Sequence[int]) -> list[Any]:
    """Return the registers of an atom's values: data, or None if unknown."""
    return [read_register(run, tensor, group) for group in join_runs(indices, _count_elements(tensor))]


def _use_registers(run: KernelRunner, tensor: CuteTensor, indices: Sequence[int]) -> tuple[RegisterUse, ...]:
    groups = join_runs(indices, _count_elements(tensor))
    registers = zip(_read_registers(run, tensor, indices), groups, strict=True)
    return tuple(make_use(run, value, value is None and _is_unset(run, tensor, group)) for value, group in registers)


def _is_unset(run: KernelRunner, tensor: CuteTensor, indices: Sequence[int]) -> bool:
    """Return whether nothing has written any of a tensor's elements."""
    if tensor.space != "local":
        return False
    for index in indices:
        place = get_element(run, tensor, index)
        offset = place.offset.known if place is not None and place.offset is not None else None
        if place is None or offset is None or not place.array.is_unset(offset, place.type.size):
            return False
    return True


FUNCTIONS: dict[str, Callable[[CuteCall], None]] = {"gemm": _multiply}
