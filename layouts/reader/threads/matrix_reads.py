"""Record the bytes of shared memory that wgmma and tcgen05.mma read through descriptors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.blackwell.described_mma import find_described_mma
from lanescope.descriptor.matrix import Descriptor, View, reads, view
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader.code.tree_statements import Assembly
from lanescope.reader.immediates import find_transposes
from lanescope.reader.threads.numbers import Coefficient, ThreadNumber
from lanescope.reader.threads.records import DescriptorUse
from lanescope.reader.threads.storage import OPEN, SHARED_BYTES, DataBytes, Ints, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MOST = 400
_ALL = (1 << 64) - 1


def _list_words(run: KernelRunner, value: Coefficient) -> Iterator[int]:
    """Yield the word of each warpgroup whose threads all execute the instruction with the same word."""
    words = spread_coefficient(value, run.threads)
    for group in range(run.threads // 128):
        lanes = slice(128 * group, 128 * group + 128)
        if run.mask[lanes].all() and (words[lanes] == words[lanes][0]).all():
            yield int(words[lanes][0]) & _ALL


def read_descriptors(
    run: KernelRunner,
    assembly: Assembly,
    opcode: str,
    operands: Sequence[str],
    get: Callable[[str], Any],
    get_site: Callable[[str], tuple[int, int]],
) -> None:
    """Record the bytes that each warpgroup's descriptors of A and B read. operands: in PTX's order, from D on."""
    if len(operands) < 4 or len(run.descriptors) >= MOST:
        return
    in_registers = operands[1].startswith("{")
    try:
        instruction = catalog.find(opcode)
    except LayoutError:
        return
    transposes = find_transposes(instruction, operands, in_registers)
    for name in ("b",) if in_registers else ("a", "b"):
        token = operands[2] if name == "b" else operands[1]
        turn = _get_known(get(transposes[name])) if name in transposes else 0
        value = get(token)
        if turn is None or not isinstance(value, ThreadNumber) or value.const is None:
            continue
        try:
            seen = view(instruction, name, "MN" if turn else "K")
        except LayoutError:
            continue
        for word in _list_words(run, value.const):
            data = read_described_bytes(run, word, seen)
            run.descriptors.append(
                DescriptorUse(opcode, name, assembly.span, get_site(token), tuple(run.calls), word, data, seen)
            )


def read_tensor_descriptors(
    run: KernelRunner,
    assembly: Assembly,
    opcode: str,
    operands: Sequence[str],
    get: Callable[[str], Any],
    get_site: Callable[[str], tuple[int, int]],
) -> None:
    """Record the bytes that the descriptors of a tcgen05.mma read, if its instruction descriptor is known.

    One thread issues it. In a pair of CTAs each holds a half; the other CTA is not run.
    """
    word = _get_known(get(operands[3])) if len(operands) > 3 else None
    if word is None or len(run.descriptors) >= MOST or ".sp" in opcode or ".ws" in opcode:
        return
    instruction = find_described_mma(opcode.removeprefix("tcgen05.mma"), word)
    if instruction is None or instruction.pair:
        return
    for name, token in zip("ab", operands[1:3], strict=True):
        value = get(token)
        if token.startswith("[") or not isinstance(value, ThreadNumber) or value.const is None:
            continue
        words = np.unique(spread_coefficient(value.const, run.threads)[run.mask])
        if len(words) != 1:
            continue
        try:
            seen = instruction.make_view(name, dict(instruction.majors)[name])
            if seen.bits < 8:
                continue  # threads store whole bytes: what each half of one is stays open
            if Descriptor(int(words[0]) & _ALL, seen.form).reserved:
                continue  # bits that may be of an address on another target
            data = read_described_bytes(run, int(words[0]) & _ALL, seen)
        except LayoutError:
            continue
        run.descriptors.append(
            DescriptorUse(
                instruction.ptx,
                name,
                assembly.span,
                get_site(token),
                tuple(run.calls),
                int(words[0]) & _ALL,
                data,
                seen,
            )
        )


def _get_known(value: Any) -> int | None:
    return value.known if isinstance(value, ThreadNumber) else None


def find_described_places(word: int, view: View) -> Ints:
    """Return the address of each byte that a descriptor reads: [rows, K · bytes an element]."""
    address = np.asarray(reads(Descriptor(word, view.form), view), np.int64)
    return (address[:, :, None] + np.arange(view.bits // 8)).reshape(address.shape[0], -1)


def read_described_bytes(run: KernelRunner, word: int, view: View) -> DataBytes:
    """Return the bytes of each element that a descriptor reads: [rows, K · bytes an element]."""
    places = find_described_places(word, view)
    legal = (places >= 0) & (places < SHARED_BYTES)
    places = np.where(legal, places, 0)
    shared = run.shared
    return DataBytes(np.where(legal, shared.record[places], OPEN), shared.thread[places], shared.byte[places])
