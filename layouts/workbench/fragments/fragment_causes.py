"""Find the mistake in a fragment of an mma: a code of `thread_tiles.TITLES`.

`thread_tiles.py` calls it for each operand of a product. A cause is reported only if correcting it was verified, or if
the elements cannot belong to a product in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lanescope.reader.threads.kernels import KernelRun
from lanescope.reader.threads.memory.records import MatrixLoad, MmaUse
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.computed_operands import count_lines_apart, has_lines_of_product
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.packed_copies import is_packed_load
from lanescope.workbench.fragments.thread_fragments import (
    ArrivedOperand,
    find_register_product,
    locate_operand,
    reload_operand,
)
from lanescope.workbench.fragments.thread_gaps import OperandKey
from lanescope.workbench.fragments.thread_steps import Product, is_turned, is_turned_fragment
from lanescope.workbench.fragments.warp_coverage import split_origin
from lanescope.workbench.text.known_values import find_common_value

_PAIR = 2  # registers of an operand that has one after the other along K


History = dict[tuple[object, str], list[tuple[tuple[int, ...], tuple[FragmentOrigin, ...]]]]


@dataclass(frozen=True, slots=True)
class JudgedProduct:
    """One product under judgement; history: earlier fragments by place and operand; pairs: products of its place."""

    run: KernelRun
    use: MmaUse
    history: Mapping[tuple[object, str], list[tuple[tuple[int, ...], tuple[FragmentOrigin, ...]]]]
    pairs: Sequence[Product]

    def list_earlier(self, name: str) -> list[tuple[tuple[int, ...], tuple[FragmentOrigin, ...]]]:
        return self.history.get(((self.use.span, self.use.calls), name), [])

    def find_turn_offset(self, name: str) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
        """Return the distance that an operand moves per iteration of the outermost loop that moves it."""
        for turns, warps in reversed(self.list_earlier(name)):
            for other, before in self.list_earlier(name):
                if len(turns) == len(other) and turns and turns[0] == other[0] + 1 and turns[1:] == other[1:]:
                    difference = tuple(b - a for a, b in zip(before[0].base, warps[0].base, strict=False))
                    if before[0].names == warps[0].names and any(difference):
                        return warps[0].names, difference
        return None


def list_register_products(
    run: KernelRun, history: History, uses: dict[OperandKey, bool]
) -> Iterator[tuple[JudgedProduct, ArrivedOperand, ArrivedOperand]]:
    """Yield the products of warpgroups whose A is in registers, each A once, with B, which a descriptor has. uses: see
    RunVerdicts.
    """
    seen: set[object] = set()
    for use in run.runner.register_products:
        key = use.span, use.calls
        instruction = find_register_product(use.opcode)
        uses[*key, "a"] = instruction is not None
        if instruction is None or (identity := identify_fragments(key, use)[0]) in seen:
            continue
        seen.add(identity)
        a = locate_operand(run.runner, use, instruction, "a")
        if a.warps is not None:
            history.setdefault((key, "a"), []).append((use.turns, a.warps))
        yield JudgedProduct(run, use, history, ()), a, ArrivedOperand("b", instruction, (), None)


def identify_fragments(key: object, use: MmaUse) -> list[object]:
    """Return what tells the fragments of A and B of a product from others. key: the place of the product."""
    return [
        (key, name, tuple((id(register.load or register.data), register.number) for register in registers))
        for name, registers in use.operands
    ]


Orders = Mapping[str, tuple[int, ...] | None]  # operand → the order along K that its warps get, None if it is unknown


def judge_fragment(
    judge: JudgedProduct, arrived: ArrivedOperand, other: ArrivedOperand, orders: Orders, stuck: str
) -> str | None:
    """Return the code of the mistake in an operand of a product, "" if it is right, None if that is not certain.

    other: the other operand; stuck: the operand whose step along K is wrong, "" if there is none.
    """
    order, other_order = orders[arrived.name], orders[other.name]
    fits = order is not None and (order == other_order or _is_plain(order))
    if arrived.warps is None or (order and not fits and other.warps is not None and not _is_plain(other_order)):
        return None  # which of the two is stored in another order along K is not known
    code = _find_repeated_rows(judge, arrived) if fits else _find_cause(judge, arrived, order is not None)
    if code == "":
        code = _judge_computed(judge, arrived, other, _is_plain(other_order))
    if not code and stuck == arrived.name:
        return "k_step_differs"
    return _find_transpose(judge, arrived, other) if code == "" else code


def _judge_computed(judge: JudgedProduct, arrived: ArrivedOperand, other: ArrivedOperand, plain: bool) -> str | None:
    """Return the code of the mistake in an operand that is elements of D or multiplies them, as judge_fragment does.

    plain: whether the other operand is in plain order along K.
    """
    assert arrived.warps is not None
    computed = [warp for warp in arrived.warps if warp.computed]
    if any(warp.repeats_rows for warp in computed):
        return "fragment_mismatch" if judge.run.complete and not judge.use.broken else None
    if any(not has_lines_of_product(judge.run.runner, warp.names, warp.rows) for warp in computed):
        return None  # D has its rows in another order, in which they may be stored
    return None if plain and _is_apart(arrived, other) else ""


def _is_apart(arrived: ArrivedOperand, other: ArrivedOperand) -> bool:
    """Return whether an operand may take other lines along K than those whose products the computed other operand
    holds: V of attention other keys than P. It may be meant: V begins after other rows, or has them in another order.
    """
    pairs = list(zip(other.warps or (), arrived.warps or (), strict=False))
    if not all(left.computed and not right.computed for left, right in pairs):
        return False
    return any(count_lines_apart((left.array, left.lines), (right.array, right.lines)) for left, right in pairs)


def is_order_open(arrived: ArrivedOperand, order: tuple[int, ...] | None) -> bool:
    """Return whether an operand is of unpacked elements that are not next to each other in the order of K: they may be
    packed so.
    """
    return arrived.unpacked and not (_is_plain(order) and all(warp.has_neighbours for warp in arrived.warps or ()))


def _is_plain(order: tuple[int, ...] | None) -> bool:
    """Return whether an order along K is that of the elements."""
    return order is not None and order == tuple(range(len(order)))


def _find_transpose(judge: JudgedProduct, arrived: ArrivedOperand, other: ArrivedOperand) -> str:
    """Return the code of a mistake if an operand continues along K only when it is transposed; "" otherwise."""
    if is_turned(judge.run.runner, judge.use, judge.pairs, arrived, other):
        return "trans_extra" if ".trans" in arrived.loads[0].opcode else "trans_missing"
    turned = judge.use.fragments and is_turned_fragment(judge.use, judge.pairs, arrived, other)
    return "wmma_layout" if turned else ""


def find_wrong_k_step(judge: JudgedProduct, a: ArrivedOperand, b: ArrivedOperand) -> str:
    """Return the operand whose step along K between iterations differs from its K width while the other's does not; ""
    if neither or both do, or an iteration takes more than one fragment along K.
    """
    if a.warps is None or b.warps is None:
        return ""
    now = {"a": a.warps[0], "b": b.warps[0]}
    widths = {name: warp.places[0].shape[1] for name, warp in now.items()}
    for depth, before in _list_earlier_turns(judge):
        moved = {name: before[name].count_k(warp) for name, warp in now.items()}
        if any(warp.has_rows_within(moved[name] or 0) for name, warp in now.items()):
            return ""  # blocks that are packed in global memory
        if any(_count_covered(judge, name, depth) > 1 for name in now):
            continue
        right = [name for name, count in moved.items() if count == widths[name]]
        wrong = [name for name, count in moved.items() if count and name not in right]
        if len(wrong) == len(right) == 1:
            return wrong[0]
    return ""


def list_unsure_steps(judge: JudgedProduct, a: ArrivedOperand, b: ArrivedOperand) -> set[str]:
    """Return the operands that may move along K by a wrong step: not by whole fragments, or elsewhere while the other
    one does. Such code is right if global memory has blocks in an order of its own.
    """
    now = {operand.name: operand.warps[0] for operand in (a, b) if operand.warps is not None}
    widths = {name: warp.places[0].shape[1] for name, warp in now.items()}
    unsure: set[str] = set()
    for before in _list_turns_before(judge.use):
        earlier = {name: [warps[0] for turns, warps in judge.list_earlier(name) if turns == before] for name in now}
        moved = {name: _find_step(earlier[name], warp) for name, warp in now.items()}
        if not all(earlier.values()) or any(warp.has_rows_within(moved[name] or 0) for name, warp in now.items()):
            continue
        other = {name for name, warp in now.items() if not any(old.has_terms_of(warp) for old in earlier[name])}
        unsure |= _choose_unsure(moved, widths) - other
    return unsure


def _choose_unsure(moved: Mapping[str, int | None], widths: Mapping[str, int]) -> set[str]:
    """Return the operands that move by a part of their K width, or elsewhere while the other one moves along K; both if
    they move along K by different numbers.
    """
    if all(moved.values()) and len({abs(count or 0) for count in moved.values()}) > 1:
        return set(moved)
    parts = {name for name, count in moved.items() if count and abs(count) < widths[name]}
    is_along = any(count and name not in parts for name, count in moved.items())
    return parts | {name for name, count in moved.items() if count is None and is_along}


def _find_step(earlier: Iterable[FragmentOrigin], now: FragmentOrigin) -> int | None:
    """Return how far along K a fragment is from one of the earlier ones in its row; None if none is."""
    return next((count for old in earlier if (count := old.count_k(now)) is not None), None)


def has_other_rows(judge: JudgedProduct, arrived: ArrivedOperand) -> bool:
    """Return whether the rows of a fragment differ from those of one further along K that another call multiplies."""
    assert arrived.warps is not None
    now = arrived.warps[0]
    of_operand = (of for (_, name), of in judge.history.items() if name == arrived.name)
    others = {id(warps[0]): warps[0] for of in of_operand for _, warps in of}.values()
    return any(old.rows != now.rows and old.k_step == now.k_step and old.is_same_rows(now) for old in others)


def _list_turns_before(use: MmaUse) -> Iterator[tuple[int, ...]]:
    """Yield the turns one iteration earlier, for each loop around a product, the outermost first."""
    for depth, turn in enumerate(use.turns):
        yield (*use.turns[:depth], turn - 1, *use.turns[depth + 1 :])


def _list_earlier_turns(judge: JudgedProduct) -> Iterator[tuple[int, dict[str, FragmentOrigin]]]:
    """Yield (its depth, A and B in the first warp one iteration earlier) for each loop around a product."""
    earlier = {name: dict(judge.list_earlier(name)) for name in "ab"}
    for depth, before in enumerate(_list_turns_before(judge.use)):
        if before in earlier["a"] and before in earlier["b"]:
            yield depth, {name: of_turn[before][0] for name, of_turn in earlier.items()}


def _count_covered(judge: JudgedProduct, name: str, depth: int) -> int:
    """Return how many fragments along K the iteration before of the loop at a depth takes."""
    outer = (*judge.use.turns[:depth], judge.use.turns[depth] - 1)
    warps = [of[0] for turns, of in judge.list_earlier(name) if turns[: depth + 1] == outer]
    return len({found[1] for warp in warps if (found := split_origin(warp)) is not None})


def find_k_order(arrived: ArrivedOperand) -> tuple[int, ...] | None:
    """Return the order along K that all warps get; None if they differ or it is unknown."""
    if arrived.warps is None or not all(warp.separable for warp in arrived.warps):
        return None
    return find_common_value(warp.k_order for warp in arrived.warps)


def _is_right(judge: JudgedProduct, name: str, warps: tuple[FragmentOrigin, ...] | None) -> bool:
    """Return whether fragments are rows and columns in plain order, and go on along K as the loop does."""
    if warps is None:
        return False
    offset = judge.find_turn_offset(name)
    for warp in warps:
        if not warp.separable or warp.k_order != tuple(range(warp.places[0].shape[1])) or warp.repeated_rows:
            return False
        if not warp.has_even_rows or warp.repeats_elements:
            return False
        if offset is not None and (offset[0] != warp.names or not warp.follows_along_k(offset[1])):
            return False
    return True


def _find_cause(judge: JudgedProduct, arrived: ArrivedOperand, separable: bool) -> str | None:
    """Return the code of the mistake in a fragment that is not in plain order; None if that is not certain."""
    assert arrived.warps is not None
    runner = judge.run.runner
    if cause := _find_load_cause(judge, arrived):
        return cause
    if judge.use.broken or not judge.run.complete or all(warp.empty == warp.total for warp in arrived.warps):
        return None  # code outside the text may fill it
    if any(warp.padded for warp in arrived.warps) or (
        arrived.loads and all(is_packed_load(runner, n) for n in arrived.loads)
    ):
        return None  # rows of padding, or global memory may hold the tile in the order in which it is read
    return _find_warp_cause(arrived, separable)


def _find_warp_cause(arrived: ArrivedOperand, separable: bool) -> str | None:
    """Return the code of the mistake in the elements that the warps of a product hold."""
    warps = arrived.warps or ()
    if separable and any(warp.repeated_k for warp in warps):
        return "k_repeated"
    has_order_of_d = arrived.instruction.operand(arrived.name).container_bits == 16
    if separable and not (has_order_of_d and all(warp.computed for warp in warps)):
        return None
    unfilled = any(warp.empty and not warp.find_misplaced().any() for warp in warps)
    return "tile_not_filled" if unfilled else "fragment_mismatch"


def _find_load_cause(judge: JudgedProduct, arrived: ArrivedOperand) -> str:
    """Return the code of a mistake in the ldmatrix whose correction alone makes the fragment right; "" if none."""
    if not arrived.loads:
        return ""
    runner, use = judge.run.runner, judge.use
    wide = arrived.instruction.operand(arrived.name).container_bits == 16
    transposed = wide and _is_right(judge, arrived.name, reload_operand(runner, use, arrived, True))
    numbers = {register.number for register in arrived.registers}
    pairs = [(1, 2), *[(min(numbers), max(numbers))] * (len(numbers) == len(arrived.registers) == _PAIR)]
    exchanged = any(_is_right(judge, arrived.name, reload_operand(runner, use, arrived, False, one)) for one in pairs)
    extra = ".trans" in arrived.loads[0].opcode
    codes = {
        (True, True): "trans_or_exchanged",
        (True, False): "trans_extra" if extra else "trans_missing",
        (False, True): "matrices_exchanged",
    }
    return codes.get((transposed, exchanged), "")


def _find_repeated_rows(judge: JudgedProduct, arrived: ArrivedOperand) -> str | None:
    """Return the code of a repeated-rows mistake, "" for a right fragment.

    It is a mistake if rows come twice while parts of the tile are never read, or if the rows differ from those at other
    positions along K.
    """
    assert arrived.warps is not None
    run = judge.run
    certain = run.complete and not run.runner.shared.broken
    for before in {id(warps): warps for _, warps in judge.list_earlier(arrived.name)}.values():
        pairs = zip(before, arrived.warps, strict=False)
        if any(old.rows != new.rows and old.is_same_rows(new) for old, new in pairs):
            return "fragment_mismatch" if certain else None
    if not arrived.loads or not any(warp.repeated_rows or warp.has_rows_twice for warp in arrived.warps):
        return ""
    return "rows_repeated" if certain and _leaves_stores_unread(run.runner, arrived.loads) else None


def _leaves_stores_unread(runner: KernelRunner, loads: Iterable[MatrixLoad]) -> bool:
    """Return whether a store that fills bytes of an ldmatrix also fills bytes that nothing reads."""
    shared = runner.shared
    writers = {n for load in loads for n in load.writers if n}
    return any(bool(((shared.writer == n) & ~shared.was_read).any()) for n in writers)
