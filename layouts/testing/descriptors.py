"""Assertions about matrix descriptors: one word, and the words of all K steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lanescope.descriptor.matrix import MOST_SHARED, Descriptor, View
from lanescope.descriptor.verify import Verdict, verify
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.ptx.instruction import Instruction
from lanescope.shared.storage import Storage, parse_operand_storage
from lanescope.testing.failures import describe_verdict, fail
from lanescope.testing.operands import TileLike, Word, make_operand_view, make_storage_spec, parse_descriptor


def assert_descriptor_reads(
    word: Word,
    tile: TileLike,
    instruction: Instruction | str,
    operand: str = "a",
    *,
    mn: int = 0,
    k: int = 0,
    major: str = "",
    idesc: int | str | None = None,
) -> None:
    """Assert that a descriptor reads the slice of a tile at (mn, k) for an operand of an instruction.

    word: in the instruction's format, wgmma's or tcgen05's; major: K or MN, for a CuTe layout (K by default); idesc:
    the instruction descriptor of a tcgen05.mma. The message has the cause and the word that reads the tile. LayoutError
    for an invalid argument.
    """
    __tracebackhide__ = True
    spec = make_storage_spec(tile)
    view = make_operand_view(instruction, operand, spec, idesc, major)
    stored = parse_operand_storage(spec, view)
    mn, k = (parse_integer(at, name) for name, at in (("mn", mn), ("k", k)))
    assert_view_reads(word, view, stored, mn, k, operand)


def assert_view_reads(word: Word, view: View, stored: Storage, mn: int = 0, k: int = 0, operand: str = "") -> None:
    """Assert the same for a view: rows, K, element bits, major and format."""
    __tracebackhide__ = True
    descriptor = parse_descriptor(word, view.form)
    verdict = _verify_word(descriptor, view, stored, mn, k)
    if not verdict.match:
        what = operand.upper() or f"{view.rows} rows"
        head = f"{descriptor} does not read {what} at (mn {mn}, k {k}): {verdict.matched} of {verdict.total} elements"
        fail(head, f"tile: {stored.text}", *describe_verdict(verdict))


def assert_descriptors_read(
    words: Sequence[Word] | Callable[[int], Word],
    tile: TileLike,
    instruction: Instruction | str,
    operand: str = "a",
    *,
    mn: int = 0,
    depth: int | None = None,
    major: str = "",
    idesc: int | str | None = None,
) -> None:
    """Assert that descriptors read every K step of a tile, one word per step.

    words: in order of K, or a function from the step's k to its word; depth: the elements of K, if the storage is
    unbounded.
    """
    __tracebackhide__ = True
    spec = make_storage_spec(tile)
    view = make_operand_view(instruction, operand, spec, idesc, major)
    stored = parse_operand_storage(spec, view)
    steps = _list_steps(stored.k if depth is None else parse_integer(depth, "depth", 1, MOST_SHARED * 8), view.k)
    if not callable(words) and (isinstance(words, str) or not isinstance(words, Iterable)):
        raise TypeError(f"words is {type(words).__name__}; a list of words or a function of k is needed")
    encoded = [words(k) for k in steps] if callable(words) else list(words)
    if len(encoded) != len(steps):
        fail(
            f"{operand.upper()} is read in {len(steps)} K steps of {view.k}; there are {len(encoded)} descriptors",
            f"tile: {stored.text}",
        )
    wrong = []
    for step, (k, word) in enumerate(zip(steps, encoded, strict=True)):
        descriptor = parse_descriptor(word, view.form)
        verdict = _verify_word(descriptor, view, stored, parse_integer(mn, "mn"), k)
        if not verdict.match:
            wrong.append((step, k, descriptor, verdict))
    if wrong:
        step, k, descriptor, verdict = wrong[0]
        others = f"; wrong steps: {', '.join(str(number) for number, *_ in wrong)} of {len(steps)}"
        head = (
            f"{descriptor} does not read {operand.upper()} at K step {step} (k {k}): {verdict.matched} of"
            f" {verdict.total}"
        )
        fail(f"{head} elements{others}", f"tile: {stored.text}", *describe_verdict(verdict))


def _verify_word(descriptor: Descriptor, view: View, stored: Storage, mn: int, k: int) -> Verdict:
    """Return the verdict on a word; AssertionError if the bytes it reads are not documented."""
    __tracebackhide__ = True
    if descriptor.has_absolute_lbo:
        fail(
            f"{descriptor}: LBO is an absolute address; which bytes that reads is not documented",
            "repair: clear bit 52",
        )
    return verify(descriptor, view, stored, mn=mn, k=k)


def _list_steps(depth: int | None, step: int) -> list[int]:
    """Return the k of each step; LayoutError if they do not cover the whole depth."""
    if depth is None:
        raise LayoutError("bad_tile", "The storage has no end along K.", "Give depth, the elements of K.", "depth")
    if depth % step:
        raise LayoutError(
            "bad_tile",
            f"The tile's K is {depth}; it must be a multiple of the instruction's K, {step}.",
            "A multiple of it.",
            "depth",
        )
    return list(range(0, depth, step))
