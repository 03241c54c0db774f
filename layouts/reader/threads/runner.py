"""The state of a kernel that is run for all threads of a block, and its accesses to memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.deadline import check_deadline
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers.barrier_trace import BarrierTrace, TraceLostError
from lanescope.reader.threads.barriers.clusters import ClusterPlace
from lanescope.reader.threads.barriers.tensor_trace import TensorTrace
from lanescope.reader.threads.cute.open_strides import OpenStrides
from lanescope.reader.threads.language import calling, evaluating, executing, names, places
from lanescope.reader.threads.language.numbers import UINT, ThreadNumber, add_numbers, make_number
from lanescope.reader.threads.language.program import LaterValue, Scope, StructSet
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.comparisons import Compared
from lanescope.reader.threads.memory.number_tape import NumberTape
from lanescope.reader.threads.memory.records import DescriptorUse, FactorUse, MmaUse, ProductResult, ResultStore
from lanescope.reader.threads.memory.shared_memory import SharedMemory
from lanescope.reader.threads.memory.shared_order import SharedAccess, SharedOrder
from lanescope.reader.threads.memory.storage import (
    OPEN,
    DataBytes,
    FloatConstant,
    Ints,
    LoadRecord,
    Mask,
    Pointer,
    Span,
    make_open_data,
    spread_coefficient,
)
from lanescope.reader.threads.memory.store_conflicts import find_lost_bytes, note_clash, note_misaligned
from lanescope.reader.threads.memory.turn_counts import TurnCounts
from lanescope.reader.threads.run_state import FrameState, KernelErrorFound, LaunchedInstance, StepsOverError

MOST_STEPS, MOST_PRODUCTS = 20_000, 2_000


class KernelRunner:
    """The state of a kernel that is run."""

    def __init__(self, text: str, threads: int, block: tuple[int, int, int], globals_: Scope) -> None:
        self.text = text
        self.allocated = TensorTrace()  # of a run that follows no mbarriers
        self.length = len(text)  # without library functions that follow it
        self.has_operators = "operator" in text or "array<" in text.lower()
        self.threads = threads
        self.block = block
        self.globals = globals_
        self.records: list[LoadRecord] = [
            LoadRecord("", make_number(0)) for _ in range(OPEN + 1)
        ]  # EMPTY, ZEROED and OPEN
        self.everyone: Mask = np.ones(threads, np.bool_)
        self.nobody: Mask = np.zeros(threads, np.bool_)
        self.mask: Mask = self.everyone
        self.running: Mask = self.everyone  # the last mask that was seen to have threads
        self.frames: list[FrameState] = [FrameState()]
        self.calls: list[Span] = []
        self.steps = 0
        self.reached: Span = (0, 0)  # the innermost statement of the text itself that has not ended
        self.products: list[MmaUse] = []
        self.register_products: list[MmaUse] = []  # of warpgroups: A in registers, B through a descriptor
        self.results: list[ProductResult] = []
        self.sums: dict[object, int] = {}  # the number of a sum of described products, by the result or address of D
        self.starts: dict[int, str] = {}  # by the number of a sum: what it begins with instead of 0
        self.unit_records: dict[tuple[int, int], int] = {}  # by record and bits: the record that counts these
        self.sides: dict[int, Any] = {}  # by the id of a product: what its D is made of
        self.origins: dict[Any, Any] = {}  # by the registers of an operand: where its elements come from
        self.element_records: dict[tuple[int, int], int] = {}  # by record and element of D: the record of its origin
        self.outputs: list[ResultStore] = []
        self.kept_pointers: dict[int, Pointer] = {}  # those in shared memory, by their addresses
        self.combined: set[int] = set()  # records of products whose elements are combined with other values
        self.changed: dict[int, Span | None] = {}  # by records: where `note_change` sees a change
        self.scalars: dict[tuple[str, str], list[tuple[Ints, Span]]] = {}  # by operator and name: elements, and where
        self.joined: set[tuple[int, int]] = set()  # records of products of which the same elements are combined
        self.factors: list[FactorUse] = []
        self.open_outputs: set[Span] = set()  # stores of elements of D whose addresses are not known
        self.other_outputs: list[ResultStore] = []  # stores of bytes that are no elements of D
        self.lost_outputs = False  # whether what is stored to global memory, or where elements of D are, is not known
        self.descriptors: list[DescriptorUse] = []
        self.stores: list[Span] = [(0, 0)]  # by the numbers of writers: the expression of the address
        self.open_loads = False  # whether an address in global memory that is loaded is not known
        self.clashes: list[tuple[Span, int, int, int]] = []  # stores of which two threads write one byte, and its place
        self.indices: dict[str, list[Ints]] = {}  # by the matrix of computed elements: which of them are stored
        self.named: dict[int, tuple[Any, ...]] = {}  # by the id of an expression: the names in it
        self.values: dict[LaterValue, Any] = {}  # constants that were evaluated
        self.opening: set[LaterValue] = set()
        self.structs: dict[StructSet, SizedType] = {}  # without template arguments
        self.dynamic: dict[str, Pointer] = {}
        self.turns, self.loops = list[int](), list[Span]()  # of the loops that are being run, and these
        self.entered: dict[tuple[Span, Span], bool] = {}  # (loop, its condition) → whether it has had a turn
        self.ends: list[frozenset[str]] = []  # of these loops: the open sizes that their ends depend on
        self.limits: dict[Span, tuple[ThreadNumber, ThreadNumber]] = {}  # open comparisons → what they compared last
        self.compared: dict[tuple[Span, int], Compared] = {}  # by comparison and number, in a run with known sizes
        self.guards: dict[Span, Compared] = {}  # of those of a number of each thread with one of all: this
        self.outcomes: dict[Span, set[str]] = {}  # of these comparisons, of any numbers: who meets them
        self.sites: dict[Any, Span] = {}  # of addresses that asm statements are given
        self.meeting = 0  # how many pairs of branches around are run that meet at their barriers
        self.bounds = 0  # how many open conditions of jumps were taken as not met
        self.masked = False  # whether an open condition around that is taken as met differs between threads
        self.assumed = 0  # how many open conditions around are taken as met
        self.undecided = False  # whether any condition, or the end of a loop, was not known
        self.size = 0  # of matrices; 0 if they are open
        self.sizes: Mapping[str, int] | None = None  # of each parameter, where all are known
        self.tape: NumberTape | None = None  # of a run that computes
        self.unsized: set[str] = set()  # parameters that these lack
        self.grid = self.block_index = (0, 0, 0)  # of a run with known sizes
        self.launched: tuple[int, ...] | None = None  # the grid that the text launches it with, for these sizes
        self.cluster: ClusterPlace | None = None  # of a run that follows mbarriers, if its shape is known
        self.kernel = ""  # its name
        self.instance = LaunchedInstance()
        self.lost = ""  # why a run that follows mbarriers has ended early; "" if only where is known
        self.turn_counts = TurnCounts()
        self.most_steps, self.most_products, self.last_product = MOST_STEPS, MOST_PRODUCTS, 0
        self.update: Any = None  # of the elements of a wmma fragment, while one is computed
        self.wanted: Span | None = None  # the call of which the place is wanted that it refers to, not the value
        self.referred: tuple[Any, Span] = None, (0, 0)  # the place that the call at a place of the text refers to
        self.folded = False  # whether each lane runs another iteration of a loop of one thread
        self.open_member: SizedType | None = None  # for members of open types, else their structs are open, too
        self.order: SharedOrder | None = None  # of a run with known sizes, which follows barriers and groups
        self.barriers: BarrierTrace | None = None  # of a run with known sizes, which follows mbarriers
        self.strides = OpenStrides()  # of CuTe's layouts
        self.tensor_ends: dict[str, int] = {}  # the bytes of the arrays of CuTe's TMA copies
        self.copied_tiles: dict[tuple[int, int], int] = {}  # of CuTe's TMA copies: first and last byte → reads before
        self.misaligned: dict[Span, int] = {}  # stores whose addresses are not multiples of their bytes → these
        self.kernel_errors: dict[str, tuple[str, Span]] = {}  # what is wrong with a tensor → code and place
        self.open_loops: list[int] = []  # the depths of the loops around what is run whose ends are not known
        self.open_turns = executing.count_open_turns(text)  # of the outermost loop whose end is not known

    @cached_property
    def shared(self) -> SharedMemory:
        """Shared memory: 18 MB, which a run for the host's constants never needs."""
        return SharedMemory()

    @property
    def is_certain(self) -> bool:
        """Whether what is run is executed with the values that it has here, whatever is not known."""
        return not self.assumed and not any(self.turns[depth] for depth in self.open_loops)

    @property
    def is_long(self) -> bool:
        """Return whether half of the steps of a run without known sizes are taken."""
        return not self.size and self.steps > self.most_steps // 2

    @property
    def is_full(self) -> bool:
        """Whether no more products are recorded."""
        return len(self.products) >= self.most_products

    def stop_at_error(self, code: str, why: str, site: Span) -> None:
        """Record what is wrong with a tensor, and end the run."""
        self.kernel_errors[why] = code, site
        raise KernelErrorFound

    def make_real(self, constant: FloatConstant, number: float) -> Any:
        """Return a constant, of a run that computes its number."""
        return constant if self.tape is None else self.tape.make_constant(self, number)

    def evaluate(self, expression: tree.Expression | None, scope: Scope) -> Any:
        """Return the value of an expression, None if unknown."""
        handler = evaluating.HANDLERS.get(expression.__class__)
        return None if handler is None else handler(self, expression, scope)

    def evaluate_template(self, argument: tree.Expression, scope: Scope) -> Any:
        return names.evaluate_template(self, argument, scope)

    def find_place(self, node: tree.Expression, scope: Scope) -> Any:
        return places.find_place(self, node, scope)

    def find_type(self, type_: tree.Type | None, scope: Scope) -> SizedType | None:
        return names.find_type(self, type_, scope)

    def resolve(self, path: tree.Path, scope: Scope) -> Any:
        return names.resolve_path(self, path, scope)

    @property
    def follows_bytes(self) -> bool:
        """Whether the origin of bytes is followed: not by a run for mbarriers alone."""
        return self.barriers is None or not self.barriers.skips_products

    def store_shared(
        self, address: Any, data: DataBytes, site: Span, copied: bool = False, step: Span | None = None
    ) -> None:
        """Store data at addresses of shared memory, as far as these are known.

        copied: by cp.async; step: where the address is moved, if that is elsewhere than the site.
        """
        places = None if address is None or address.const is None else spread_coefficient(address.const, self.threads)
        self._forget_addresses(places, data.size)
        if places is None:
            self.shared.incomplete = self.shared.incomplete or "a store has an address that is not known"
            return
        if not self.follows_bytes:
            return
        places = self.shared.localize(places)
        if self.assumed and self.barriers is not None:
            data = make_open_data(self.threads, data.size)
        if site not in self.stores:
            self.stores.append(site)
        note_misaligned(self, places, data.size, site)
        note_clash(self, places, data, site)
        if self.order is not None:
            near = self.find_order_site(site)
            lost = find_lost_bytes(self, self.order, places, data)
            if copied:
                self.order.copy = (*self.calls, site)
            moved = step if step is not None and near == site else near
            self.order.store_bytes(self._make_access(places, data.size, self.mask, moved), copied)
            self.order.note_lost(lost, moved)
        self.shared.store_bytes(places, data, self.mask, self.stores.index(site))
        if self.barriers is not None:
            self.barriers.note_store(self, places, data, site)
        if not self.assumed:
            self.shared.note_stored(places[self.mask], data.size)

    def _forget_addresses(self, places: NDArray[np.int64] | None, size: int) -> None:
        stored = None if places is None else places[self.mask]
        for at in list(self.kept_pointers):
            if stored is None or bool(((stored < at + 8) & (stored + size > at)).any()):
                del self.kept_pointers[at]
        self.tensor.forget_words(stored, size)

    def load_shared(self, places: NDArray[np.int64], size: int, mask: Mask, site: Span) -> DataBytes:
        """Return the bytes of shared memory at an address of every thread."""
        if not self.follows_bytes:
            return make_open_data(self.threads, size)
        if self.order is not None:
            self.order.read_bytes(self._make_access(places, size, mask, site))
        places = self.shared.localize(places)
        data = self.shared.load_bytes(places, size, mask)
        return data if self.barriers is None else self.barriers.replace_bytes(self, data, places, mask, site)

    @property
    def tensor(self) -> TensorTrace:
        """The addresses that allocations of tensor memory have put into shared memory."""
        return self.allocated if self.barriers is None else self.barriers.tensor

    def find_tensor_address(self, places: NDArray[np.int64]) -> ThreadNumber | None:
        """Return the address of tensor memory that the running threads load from shared memory, None if they do not."""
        word = self.tensor.find_word(places, self.mask)
        return None if word is None else make_number(word, UINT)

    def _make_access(self, places: NDArray[np.int64], size: int, mask: Mask, site: Span) -> SharedAccess:
        return SharedAccess(places, size, mask, self.find_order_site(site), self.assumed > 0)

    def find_order_site(self, site: Span) -> Span:
        """Return the call that leads to an access from the function with the last barrier, else the access."""
        depth = self.order.depth if self.order is not None else 0
        return self.calls[depth] if depth < len(self.calls) else site

    def forget_stores(self) -> None:
        """Take all stores as visible, since something with an unknown effect on them was executed."""
        if self.order is not None:
            self.order.forget_stores()

    def forget_order(self) -> None:
        """Take all stores as visible, since something with an unknown effect on the order was executed."""
        self.forget_stores()
        if self.barriers is not None:
            raise TraceLostError

    def load_global(self, array: str, offset: Any, size: int, site: Span = (0, 0)) -> DataBytes:
        """Return bytes of a global array, with the record of this load."""
        if not self.follows_bytes:
            return make_open_data(self.threads, size)
        if offset is None or (len(self.records) > 20_000 and self.tape is None):
            self.open_loads = True
            return make_open_data(self.threads, size)
        self.records.append(LoadRecord(array, offset, site, tuple(self.calls)))
        lanes = np.arange(self.threads)[:, None] * np.ones((1, size), np.int64)
        here = np.arange(size) + np.zeros((self.threads, 1), np.int64)
        return DataBytes(here * 0 + len(self.records) - 1, lanes, here)

    def call_method(self, place: Pointer, name: str, node: tree.Call, scope: Scope) -> Any:
        return calling.call_method(self, place, name, node, scope)

    def get_call(self, span: Span) -> Span:
        """Return the innermost call that is executed, a place if none is."""
        return self.calls[-1] if self.calls else span

    def find_own_place(self, site: Span) -> Span:
        """Return a place of the text itself: a site, else the innermost call that leads to it from there."""
        return next((place for place in (site, *reversed(self.calls)) if place[1] <= self.length), site)

    # statements

    def run(self, statement: tree.Statement | None, scope: Scope, mask: Mask) -> Mask:
        """Run a statement; return the threads that continue after it."""
        if statement is None or (mask is not self.running and not np.count_nonzero(mask)):
            return mask
        self.running = mask
        self.steps += 1
        reached = self.reached
        if statement.span[1] <= self.length:
            self.reached = statement.span
        if self.steps > self.most_steps:
            raise StepsOverError
        if not self.steps % 64:
            check_deadline()
        self.mask = mask
        handler = executing.HANDLERS.get(type(statement))
        if handler is None:
            self.forget_order()
        else:
            mask = handler(self, statement, scope, mask)
        self.reached = reached
        return mask

    def run_function(
        self, body: tree.Statement | None, scope: Scope, call: Span, returns: tree.Type | None = None
    ) -> Any:
        """Run the body of a function for the threads that call it; return its result, which has the type `returns`."""
        frame, mask = FrameState(returns), self.mask
        self.frames.append(frame)
        self.calls.append(call)
        try:
            self.run(body, scope, mask)
        finally:
            self.frames.pop()
            self.calls.pop()
            self.mask = mask
        return frame.result

    def enter_loop(self, span: Span, left: list[Mask]) -> None:
        """Enter a loop. left: the threads that break and that continue, as far as it has run."""
        self.frames[-1].loops.append(left)
        self.loops.append(span)
        self.turns.append(0)
        self.ends.append(frozenset())
        if self.order is not None:
            self.order.loops.append((span, 0))

    def count_turn(self) -> None:
        """Count a finished turn of the innermost loop."""
        self.turns[-1] += 1
        if self.order is not None:
            self.order.loops[-1] = self.order.loops[-1][0], self.turns[-1]

    def leave_loop(self) -> None:
        self.turns.pop()
        self.loops.pop()
        self.ends.pop()
        self.frames[-1].loops.pop()
        if self.order is not None:
            self.order.loops.pop()

    def decide_condition(self, condition: tree.Expression | None, scope: Scope, mask: Mask) -> Mask | None:
        """Return the threads whose condition is true, None if unknown."""
        if condition is None:
            return mask
        self.mask = mask
        value = self.evaluate(condition, scope)
        met = value.const if isinstance(value, ThreadNumber) else None
        if met is None:
            self.undecided = True
            if isinstance(value, ThreadNumber):
                self.limits[condition.span] = value, make_number(0)
            return None
        if isinstance(met, int):
            return mask if met else self.nobody
        threads: Mask = mask & (met != 0)
        return threads

    def differs_in_threads(self, condition: tree.Expression) -> bool:
        """Return whether the threads compare different numbers in an open condition."""
        pairs = (
            pair for span, pair in self.limits.items() if condition.span[0] <= span[0] <= span[1] <= condition.span[1]
        )
        return any(away is None or not away.uniform for away in (add_numbers(*pair, -1) for pair in pairs))

    def runs_everyone(self) -> bool:
        """Return whether all threads execute what is run."""
        return self.mask is self.everyone or np.count_nonzero(self.mask) == self.threads

    def join_masks(self, left: Mask, right: Mask) -> Mask:
        """Return the threads of either mask."""
        if left is self.nobody or right is self.nobody:
            return right if left is self.nobody else left
        return left if left is right else left | right

    def run_otherwise(self, execute: Callable[[], object]) -> None:
        """Execute what may be executed instead of something else: the bytes that it stores become unknown."""
        outer, products = self.shared.changed, len(self.products)
        self.shared.changed = []
        self.assumed += 1
        execute()
        self.assumed -= 1
        inner, self.shared.changed = self.shared.changed, outer
        self.shared.forget_changes(self.records, self.threads, inner)
        if outer is not None:
            outer += inner
        del self.products[products:]
