"""Record the bytes of shared memory that wgmma and tcgen05.mma read through descriptors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.blackwell.described_mma import find_described_mma
from lanescope.descriptor.matrix import Descriptor, View, reads, view
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader.instructions.immediates import find_transposes, list_scales
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.program import split_operands
from lanescope.reader.threads.language.quotients import Coefficient
from lanescope.reader.threads.memory.records import DescriptorUse, MmaUse
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.shared_order import SharedAccess, SharedOrder
from lanescope.reader.threads.memory.storage import OPEN, DataBytes, Ints, Span, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.instructions.asm_code import AsmCode
    from lanescope.reader.threads.runner import KernelRunner

MOST = 400
NEGATED = "this product is subtracted"
_ALL = (1 << 64) - 1


def _list_words(run: KernelRunner, value: Coefficient) -> Iterator[tuple[int, int]]:
    """Yield (number, word) of each warpgroup whose threads all execute the instruction with the same word."""
    words = spread_coefficient(value, run.threads)
    for group in range(run.threads // 128):
        lanes = slice(128 * group, 128 * group + 128)
        if run.mask[lanes].all() and (words[lanes] == words[lanes][0]).all():
            yield group, int(words[lanes][0]) & _ALL


def read_descriptors(code: AsmCode, opcode: str, operands: Sequence[str]) -> None:
    """Record the bytes that each warpgroup's descriptors of A and B read. operands: in PTX's order, from D on."""
    if len(operands) < 4 or len(code.run.descriptors) >= MOST:
        return
    in_registers = operands[1].startswith("{")
    try:
        instruction = catalog.find(opcode)
    except LayoutError:
        return
    transposes = find_transposes(instruction, operands, in_registers)
    total = _note_sum(code, instruction, operands)
    for name in ("b",) if in_registers else ("a", "b"):
        token = operands[2] if name == "b" else operands[1]
        turn = _get_known(code.get_value(transposes[name])) if name in transposes else 0
        value = code.get_value(token)
        if turn is None or not isinstance(value, ThreadNumber) or value.const is None:
            continue
        try:
            seen = view(instruction, name, "MN" if turn else "K")
        except LayoutError:
            continue
        for group, word in _list_words(code.run, value.const):
            _record_use(code, opcode, (name, token), word, seen, (total, group))


def note_register_product(code: AsmCode, opcode: str, operands: Sequence[str]) -> MmaUse | None:
    """Note a wgmma whose A is in registers; return it, None for another one. operands: in PTX's order, from D on."""
    run = code.run
    if len(operands) < 4 or not operands[1].startswith("{") or run.order is not None:
        return None
    use = MmaUse(
        opcode,
        code.assembly.span,
        tuple(map(code.use_register, split_operands(operands[1].strip("{} ")))),
        (),
        tuple(run.calls),
        run.mask.copy(),
        tuple(run.turns),
        broken=run.shared.broken,
        ends=tuple(run.ends),
    )
    if not run.assumed and len(run.register_products) < run.most_products:
        run.register_products.append(use)
    return use


def _note_sum(code: AsmCode, instruction: Instruction, operands: Sequence[str]) -> int:
    """Return the number of the sum that a wgmma adds to; record what the sum begins with if it is not 0."""
    outputs = split_operands(operands[0].strip("{} "))
    value = code.get_value(outputs[0])
    before = int(value.record[code.run.mask.argmax(), 0]) if isinstance(value, DataBytes) else 0
    begins = before not in code.run.sums and _adds(code, operands[3])
    total = _find_sum(code, operands[3], before, -len(code.run.results) - 1)
    start = code.describe_start(outputs) if begins else ""
    why = f"this product adds to {start}" if start else NEGATED * is_negated(code, instruction, operands)
    code.run.starts[total] = why or code.run.starts.get(total, "")
    return total


def is_negated(code: AsmCode, instruction: Instruction, operands: Sequence[str]) -> bool:
    """Return whether one of the factors of a wgmma is negated by imm-scale-a or imm-scale-b."""
    scales = [_get_known(code.get_value(token)) for token in list_scales(instruction, operands)]
    return scales.count(-1) == 1


def _find_sum(code: AsmCode, adds: str, before: object, after: object) -> int:
    """Return the number of the sum that a product adds to, a new one if it adds to none or that is not known.

    adds: the operand that says so; before, after: the values or the address of D.
    """
    run = code.run
    return count_sum(run, before if _adds(code, adds) else None, after)


def count_sum(run: KernelRunner, before: object, after: object) -> int:
    """Return the number of the sum of D after a product: that of D before it, None if it does not add to one."""
    run.sums[after] = run.sums.get(before, len(run.descriptors) + 1)
    return run.sums[after]


def _adds(code: AsmCode, operand: str) -> bool:
    """Return whether a product certainly adds to D in all running threads. operand: scale-d or enable-input-d."""
    met = code.find_lanes(operand)
    return met is not None and bool(met[code.run.mask].all())


def _record_use(
    code: AsmCode, opcode: str, operand: tuple[str, str], word: int, seen: View, placed: tuple[int, int]
) -> None:
    """Record a read of an operand: its name and its token. placed: the numbers of the sum and of the warpgroup."""
    name, token = operand
    note_read(code.run, opcode, name, (code.assembly.span, code.get_site(token)), (word, seen), placed)


def note_read(
    run: KernelRunner, opcode: str, name: str, sites: tuple[Span, Span], read: tuple[int, View], placed: tuple[int, int]
) -> None:
    """Record a read of an operand. sites: of the product, and of the operand; read: its descriptor; placed: the
    numbers of the sum and of the warpgroup.
    """
    word, seen = read
    if run.order is not None:
        _follow_read(run, run.order, (name, placed[1]), find_described_places(word, seen), sites[1])
        return
    data = read_described_bytes(run, word, seen)
    calls, around = tuple(run.calls), (tuple(run.turns), tuple(run.ends))
    run.descriptors.append(DescriptorUse(opcode, name, *sites, calls, word, data, seen, *around, *placed))


def _follow_read(run: KernelRunner, order: SharedOrder, reader: tuple[str, int], rows: Ints, site: Span) -> None:
    """Follow a read in the order of accesses. reader: the operand and the warpgroup; rows: the bytes of each row.

    Each warp of a warpgroup reads its 16 rows of A, and all of B; the thread that issues a tcgen05.mma reads both.
    """
    order.meet_warp()  # it may read other bytes, too
    name, group = reader
    lanes, mask = np.arange(run.threads), run.mask.copy()
    if group < 0:
        parts = np.broadcast_to(rows.reshape(1, -1), (run.threads, rows.size))
    elif name == "a":
        mask &= (lanes // 128 == group) & (lanes % 32 < 16)
        parts = rows[(lanes % 128 // 32 * 16 + lanes % 16) % len(rows)]
    else:
        mask &= lanes // 128 == group
        parts = rows[(lanes[:, None] % 32 + np.arange(0, len(rows), 32)) % len(rows)].reshape(run.threads, -1)
    site = run.find_order_site(site)
    order.read_bytes(SharedAccess(parts[:, 0], 1, mask, site, run.assumed > 0, parts))
    if group >= 0 and not run.assumed and rows.min() >= 0 and rows.max() < SHARED_BYTES:
        order.note_product(group, rows, site)


def read_tensor_descriptors(code: AsmCode, opcode: str, operands: Sequence[str]) -> None:
    """Record the bytes that the descriptors of a tcgen05.mma read, if its instruction descriptor is known.

    One thread issues it. In a pair of CTAs each holds a half; the other CTA is not run.
    """
    word = _find_only_word(code, operands[3]) if len(operands) > 3 else None
    if word is None or len(code.run.descriptors) >= MOST or ".sp" in opcode or ".ws" in opcode:
        return
    instruction = find_described_mma(opcode.removeprefix("tcgen05.mma"), word)
    if instruction is None or instruction.pair:
        return
    total = _find_tensor_sum(code, operands)
    for name, token in zip("ab", operands[1:3], strict=True):
        word = _find_only_word(code, token)
        if word is None:
            continue
        try:
            seen = instruction.make_view(name, dict(instruction.majors)[name])
            if seen.bits < 8:
                continue  # threads store whole bytes: what each half of one is stays open
            if Descriptor(word, seen.form).reserved:
                continue  # bits that may be of an address on another target
            _record_use(code, instruction.ptx, (name, token), word, seen, (total, -1))
        except LayoutError:
            continue


def note_allocation(code: AsmCode, opcode: str, operands: Sequence[str]) -> None:
    """Note where tcgen05.alloc puts the address of its columns: in a run that follows no mbarriers."""
    at, columns = (code.find_lanes(token) for token in operands[:2])
    if at is not None and columns is not None and code.run.mask.any() and not code.run.assumed:
        code.run.tensor.add_allocation(int(at[code.run.mask][0]), int(columns[code.run.mask][0]))


def _find_tensor_sum(code: AsmCode, operands: Sequence[str]) -> int:
    """Return the number of the sum of a tcgen05.mma, which is known by the address of D."""
    place = code.get_address(operands[0])
    before = place.format_key() if isinstance(place, ThreadNumber) else None
    return _find_sum(code, operands[4] if len(operands) > 4 else "", before, before or object())


def _find_only_word(code: AsmCode, token: str) -> int | None:
    """Return the word that all running threads have; None if it is unknown, or of A in tensor memory."""
    value = code.get_value(token)
    if token.startswith("[") or not isinstance(value, ThreadNumber) or value.const is None:
        return None
    words = np.unique(spread_coefficient(value.const, code.run.threads)[code.run.mask])
    return int(words[0]) & _ALL if len(words) == 1 else None


def _get_known(value: Any) -> int | None:
    return value.known if isinstance(value, ThreadNumber) else None


def find_described_places(word: int, view: View) -> Ints:
    """Return the address of each byte that a descriptor reads: [rows, bytes of K]."""
    address = np.asarray(reads(Descriptor(word, view.form), view), np.int64)[:, :: max(8 // view.bits, 1)]
    return (address[:, :, None] + np.arange(max(view.bits // 8, 1))).reshape(address.shape[0], -1)


def read_described_bytes(run: KernelRunner, word: int, view: View) -> DataBytes:
    """Return the bytes of each element that a descriptor reads: [rows, K · bytes an element]."""
    places = find_described_places(word, view)
    legal = (places >= 0) & (places < SHARED_BYTES)
    places = np.where(legal, places, 0)
    shared = run.shared
    return DataBytes(np.where(legal, shared.record[places], OPEN), shared.thread[places], shared.byte[places])
