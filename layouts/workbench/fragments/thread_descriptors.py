"""Check tiles that threads fill and wgmma reads through descriptors: rows and columns of one array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.reader.threads.language.index_elements import find_extents
from lanescope.reader.threads.memory.matrix_reads import find_described_places, read_described_bytes
from lanescope.reader.threads.memory.records import DescriptorUse
from lanescope.reader.threads.memory.storage import EMPTY, Mask
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.packed_copies import is_packed_descriptor
from lanescope.workbench.fragments.thread_fragments import locate_descriptor
from lanescope.workbench.results import CheckFinding, Span

LocatedUse = tuple[DescriptorUse, FragmentOrigin]
MOST_ALIKE = 16
_STRIDES = tuple(bytes_ // 16 for bytes_ in (16, *range(64, 1024, 64), *range(1024, 8192 + 1, 256), 16384, 32768))


def judge_descriptors(run: KernelRunner, complete: bool, good: set[object]) -> Iterator[CheckFinding]:
    """Yield wrong descriptor reads of the tiles that a kernel's threads fill; good: right reads are added."""
    before: dict[object, list[FragmentOrigin]] = {}
    places: dict[object, Span] = {}
    other: tuple[DescriptorUse, FragmentOrigin] | None = None  # A of the product whose B comes next
    for use, origin in locate_stored(run) if complete else ():
        key = use.span, use.calls, use.name
        earlier = before.setdefault(key, [])
        same = _is_like_earlier(origin, earlier)
        earlier.append(origin)
        if not origin.separable and is_packed_descriptor(run, use):
            continue
        if not (origin.separable and same):
            found = _describe_mistake(run, use, origin, not earlier[1:])
            yield replace(found, span=places.setdefault(key, found.span))
        elif origin.has_rows_twice:
            if leaves_bytes_unread(run, use):  # else few rows are repeated on purpose
                yield CheckFinding(
                    "rows_repeated", _append_repeat(use), use.site, 1, changes=find_right_fields(run, use)
                )
        elif _may_mix_k(run, use, origin):
            other = None
            continue
        elif origin.k_order == tuple(range(origin.places[0].shape[1])):
            good.add(key)
        elif use.name == "b" and other is not None and _is_like_order(other, (use, origin)):
            good |= {key, (other[0].span, other[0].calls, "a")}
        other = (use, origin) if use.name == "a" else None


def _may_mix_k(run: KernelRunner, use: DescriptorUse, origin: FragmentOrigin) -> bool:
    """Return whether rows begin at different K of a tile of which bytes are never read: those of another swizzle."""
    return origin.has_uneven_starts and leaves_bytes_unread(run, use)


def locate_stored(run: KernelRunner) -> Iterator[LocatedUse]:
    """Yield reads of thread-filled tiles with their origins: the first MOST_ALIKE of each place.

    Reads of elements that are computed from two indices are left out, unless these are the rows and columns of every
    such tile.
    """
    located = list(_locate_filled(run))
    computed = [one for one in located if not run.indices.keys().isdisjoint(_list_arrays(run, one[0]))]
    known = all(_has_own_indices(run, *one) for one in computed)
    yield from (one for one in located if known or one not in computed)


def _locate_filled(run: KernelRunner) -> Iterator[LocatedUse]:
    count: dict[object, int] = {}
    for use in run.descriptors:
        key = use.span, use.calls, use.name
        count[key] = count.get(key, 0) + 1
        origin = locate_descriptor(run, use) if count[key] <= MOST_ALIKE else None
        if origin is None or run.shared.incomplete or origin.empty == origin.total:
            continue  # nothing of it is stored: code that is not here, or a copy, may fill it
        if run.shared.may_be_copied(find_described_places(use.word, use.seen)):
            continue
        whole = len(origin.filled) in (find_extents(run.indices.get(origin.array, [])) or ())
        if whole or (not origin.padded and origin.filled.any(axis=1).all()):  # else rows up to the least M are left
            yield use, origin


def _list_arrays(run: KernelRunner, use: DescriptorUse) -> list[str]:
    """Return the arrays that the elements of a read come from, the one with the most elements first."""
    records, counts = np.unique(use.data.record, return_counts=True)
    sums: Counter[str] = Counter()
    for record, count in zip(records.tolist(), counts.tolist(), strict=True):
        if record >= 0:  # others are computed elements
            sums[run.records[record].array] += count
    return [array for array, _ in sums.most_common()]


def _has_own_indices(run: KernelRunner, use: DescriptorUse, origin: FragmentOrigin) -> bool:
    """Return whether the two indices of a tile's elements are its rows and columns.

    The numbers of their values must be multiples of those of the operand; half of the rows are enough.
    """
    found = [find_extents(run.indices.get(array, [])) for array in _list_arrays(run, use) if array]
    rows, columns = origin.filled.shape
    if not found or found[0] is None or None in found:
        return False
    others = [found[0][1 - n] for n, index in enumerate(found[0]) if not index % columns]
    return any(not other % rows or (not rows % other and 2 * other == rows) for other in others)


def _describe_mistake(run: KernelRunner, use: DescriptorUse, origin: FragmentOrigin, first: bool) -> CheckFinding:
    """Make the finding of a wrong read, at the store that fills the tile if only that can be wrong. first: of a tile"""
    changes = find_right_fields(run, use)
    stored = _find_wrong_store(run, use, origin) if first and not changes else (0, 0)
    found = replace(_describe_finding(use, origin), changes=changes)
    return replace(found, span=stored) if stored != (0, 0) else found


def _find_wrong_store(run: KernelRunner, use: DescriptorUse, origin: FragmentOrigin) -> Span:
    """Return the one store that fills a tile whose first slice no descriptor of another mode or stride would read; (0,
    0) if the load of its elements, or the descriptor, may be to blame.
    """
    elements = {tuple(place) for place in np.stack([g[origin.filled] for g in origin.places], axis=-1).tolist()}
    if not origin.array or not origin.find_misplaced().any() or len(elements) < origin.total - origin.empty:
        return 0, 0
    form = use.seen.form
    for mode, code in form.codes.items():
        word = Descriptor(use.word, form).replace(**{form.coded: code, "sbo_encoded": mode.width_bytes // 2})
        if _reads_plainly(run, use, word):
            return 0, 0
    writers = set(np.unique(run.shared.writer[find_described_places(use.word, use.seen)]).tolist()) - {0}
    return run.stores[writers.pop()] if len(writers) == 1 else (0, 0)


def find_right_fields(run: KernelRunner, use: DescriptorUse) -> frozenset[tuple[str, int, int]]:
    """Find single-field changes that make a wrong descriptor read rows and columns in plain order: (field, encoded,
    needed).
    """
    word, form = Descriptor(use.word, use.seen.form), use.seen.form
    names = {"lbo": "lbo_encoded", "sbo": "sbo_encoded"}
    found: list[tuple[str, int, int]] = []
    for field in ("lbo", "sbo", form.coded):
        had = form.get_field(field).get(use.word)
        for value in _STRIDES if field != form.coded else range(form.get_field(field).most + 1):
            if value != had and _reads_plainly(run, use, word.replace(**{names.get(field, field): value})):
                found.append((field, had, value))
    return frozenset(found)


def _reads_plainly(run: KernelRunner, use: DescriptorUse, word: Descriptor) -> bool:
    """Return whether another word reads rows and columns of one array once each, in plain order."""
    try:
        data = read_described_bytes(run, word.word, use.seen)
    except LayoutError:
        return False
    origin = locate_descriptor(run, replace(use, word=word.word, data=data))
    if origin is None or not origin.separable or origin.has_rows_twice:
        return False
    return origin.k_order == tuple(range(origin.places[0].shape[1]))


def leaves_bytes_unread(run: KernelRunner, use: DescriptorUse) -> bool:
    """Return whether the stores that fill a descriptor's bytes also fill bytes that nothing reads."""
    read = find_read_bytes(run)
    writers = np.unique(run.shared.writer[find_described_places(use.word, use.seen).clip(0, len(read) - 1)])
    return bool((np.isin(run.shared.writer, writers[writers > 0]) & ~read).any())


def find_read_bytes(run: KernelRunner) -> Mask:
    """Return which bytes of shared memory threads and descriptors read."""
    read = run.shared.was_read.copy()
    for word, read_words in {(descriptor.word, descriptor.seen) for descriptor in run.descriptors}:
        read[find_described_places(word, read_words).clip(0, len(read) - 1)] = True
    return read


def has_doubtful_reads(run: KernelRunner, warps: Iterable[FragmentOrigin]) -> bool:
    """Return whether threads fill only a part of a fragment that a warp takes, or a tile that wgmma reads, perhaps by
    the other major. warps: the fragments of mma.
    """
    described = (use.data.record for use in run.descriptors if not use.seen.form.by_idesc)
    return any(0 < warp.empty < warp.total for warp in warps) or any((record != EMPTY).any() for record in described)


def _is_like_earlier(origin: FragmentOrigin, earlier: list[FragmentOrigin]) -> bool:
    """Return whether the operand's rows are the same rows of the array for every earlier slice of K."""
    return all(not fragment.is_same_rows(origin) or fragment.rows == origin.rows for fragment in earlier)


def _is_like_order(a: tuple[DescriptorUse, FragmentOrigin], b: tuple[DescriptorUse, FragmentOrigin]) -> bool:
    """Return whether A and B of one product have K in the same order, and each row and column once: global memory
    holds them as the core matrices are.
    """
    if (a[0].span, a[0].calls) != (b[0].span, b[0].calls) or a[1].k_order is None or a[1].k_order != b[1].k_order:
        return False
    return not any(fragment.has_rows_twice or fragment.repeated_k for fragment in (a[1], b[1]))


def _append_repeat(use: DescriptorUse) -> str:
    return f"{use.name.upper()} of {use.opcode}: descriptor {use.word:#018x} reads some rows twice, others never."


def _describe_finding(use: DescriptorUse, origin: FragmentOrigin) -> CheckFinding:
    name = f"{use.name.upper()} of {use.opcode}"
    wrong = int(origin.find_misplaced().sum())
    if origin.empty and not wrong:
        message = f"{name}: {origin.empty} of {origin.total} elements are read from bytes that no thread stores."
        return CheckFinding("tile_not_filled", message, use.site, 1)
    if not origin.array:
        message = f"{name}: the elements that descriptor {use.word:#018x} reads come from several arrays."
        return CheckFinding("fragment_mismatch", message, use.site, 1)
    message = (
        f"{name}: {wrong} of {origin.total} elements that descriptor {use.word:#018x} reads are not those of"
        f" {origin.array} that the instruction takes there: the tile's pitch, its swizzle or the descriptor's fields do"
        " not fit each other."
    )
    return CheckFinding("fragment_mismatch", message, use.site, 1)
