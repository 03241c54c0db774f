"""Find which tensor map or CuTe layout of a text holds which operand's tile, and why.

`contents.py` collects the stores, `workbench_builder.py` calls `pair_stores` once for each instruction; `tiles.py`
makes a storage of the chosen one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from lanescope.inputs import join_words
from lanescope.reader.code.maps.map_objects import list_filled_names
from lanescope.reader.code.maps.tma_rules import LOADED, TensorMap
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.text.names import CUT, find_operand_letter, split_name
from lanescope.workbench.text.scan import PrintedLayout

_COMMON = frozenset(
    "a b as bs sa sb lhs rhs"
    " s g t r c tma tensor map maps desc descriptor smem gmem shared mem sm ptr base addr address buf buffer tile tiles"
    " params param load copy layout sh shm start data uint h d global tensors dev device host x y p the".split()
)
_OUTPUTS = frozenset("c d o out output outputs acc accum epi epilogue result".split())
# reasons for a store that nothing in the text assigns
ONLY, FIRST, SECOND, NO_OTHER = "it is the only one", "A’s comes first", "B’s second", "the text has no other"
OVERWRITTEN = "threads store into it after TMA has filled it"
BY_ORDER = (FIRST, SECOND, NO_OTHER)
GUESSED = (ONLY, *BY_ORDER)


@dataclass(frozen=True, slots=True)
class TileStore:
    """A tensor map or a CuTe layout; piece: which piece of the text it is; operand: a or b where a name says so.

    A tensor of shared memory has more names, its first byte in the names of descriptors' starts (`begins`), what its
    pointer counts (`bits`, None if that is open), what its layout depends on where the text leaves it `open`, and
    the function that makes it (`function`).
    """

    piece: int
    map: TensorMap | None = None
    layout: PrintedLayout | None = None
    name: str = ""
    others: tuple[str, ...] = ()
    begins: LinearExpression | None = None
    bits: int | None = None
    open: str = ""
    function: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return self.map.names if self.map is not None else (self.name, *self.others)

    def is_same_layout(self, other: TileStore) -> bool:
        """Return whether both store a tile in the same way."""
        if self.map is not None and other.map is not None:
            mine, theirs = self.map, other.map
            return (mine.box, mine.swizzle, mine.element_bits, mine.storage) == (
                theirs.box,
                theirs.swizzle,
                theirs.element_bits,
                theirs.storage,
            )
        if self.layout is not None and other.layout is not None:
            return self.layout.text == other.layout.text
        return False

    @property
    def is_open(self) -> bool:
        """Whether the box or the swizzle of its tensor map is not known."""
        return self.map is not None and (None in self.map.box or self.map.swizzle is None)

    def has_name_in(self, names: Collection[str]) -> bool:
        """Return whether one of its names, also as an address, is among these, or the object that its map fills."""
        if self.map is not None:
            return self.map.has_name_in(names)
        return any(name.lstrip("&") in names for name in self.names)

    @property
    def operand(self) -> str | None:
        if self.map is not None:
            calls = [name for name, _ in self.map.calls]
            return (
                find_operand_letter(*self.map.names)
                or (find_operand_letter(self.map.names[0]) if self.map.names else None)
                or find_operand_letter(*calls)
            )
        return next(filter(None, map(find_operand_letter, self.names)), None)


@dataclass(frozen=True, slots=True)
class Clues:
    """Facts from the text about where one operand's tile is stored.

    buffer: the operand whose buffer it is given, itself unless the names say otherwise; chosen: the number of a store
    that was given; addresses: names that its descriptors are made of; start: the first start of its descriptors;
    function: the one that takes them; loaded: names of the maps that TMA loads its tile from.
    """

    operand: str
    buffer: str
    chosen: str | None = None
    addresses: tuple[str, ...] = ()
    start: LinearExpression | None = None
    function: str = ""
    loaded: frozenset[str] = frozenset()


Choice = tuple[TileStore | None, str]  # an operand's store, and the reason


def pair_stores(stores: Sequence[TileStore], clues: Sequence[Clues], used: Collection[int] = ()) -> dict[str, Choice]:
    """Map each operand to (its store, why).

    A tensor over the operand's buffer decides, then names: those in the operand's addresses, then its letter. Without
    them the order of the stores in the text decides, A before B; but TMA does not fill the tile of an operand if it is
    known to fill the other one's alone. used: pieces of the stores that hold other tiles, which are taken last.
    """
    inputs = [store for store in stores if not _is_output_store(store)]
    chosen: dict[str, Choice] = {}
    free = []
    for clue in clues:
        choice = (
            _find_chosen_store(stores, clue)
            or _find_store_over_buffer(inputs, clue)
            or _find_named_store(inputs, clue, used)
        )
        if choice is not None:
            chosen[clue.operand] = choice
        else:
            free.append(clue.operand)
    assigned = [store for store, _ in chosen.values()]
    loaded = {clue.operand for clue in clues if clue.loaded}
    by_threads = bool(loaded) and loaded.isdisjoint(free)
    rest = [
        store
        for store in inputs
        if _is_unclaimed(store)
        and not any(store is other for other in assigned)
        and not (by_threads and store.map is not None)
    ]
    return {**chosen, **_assign_in_order(rest, free, used)}


def _is_unclaimed(store: TileStore) -> bool:
    """Return whether the order may decide whose store it is; loads alone determine that of a map encoded elsewhere."""
    return store.operand is None and store.begins is None and not (store.map is not None and store.map.source == LOADED)


def _find_chosen_store(stores: Iterable[TileStore], clues: Clues) -> Choice | None:
    """Return the store that was requested by its number."""
    if clues.chosen is None:
        return None
    return next((store for store in stores if str(store.piece) == clues.chosen), None), "chosen"


def _find_store_over_buffer(stores: Iterable[TileStore], clues: Clues) -> Choice | None:
    """Return the tensor over the operand's buffer."""
    tensors = find_tensors_over(stores, clues.start, clues.operand, clues.function)
    if not tensors:
        return None
    return (tensors[0], f"it is named {tensors[0].name}") if len(tensors) == 1 else (None, _describe_several(tensors))


def _find_named_store(stores: Sequence[TileStore], clues: Clues, used: Collection[int]) -> Choice | None:
    """Return the store named by TMA's loads, the names of the addresses or the operand's letter."""
    loaded = [store for store in stores if store.map is not None and store.has_name_in(clues.loaded)]
    return (
        _find_loaded_store(loaded, clues)
        or _find_store_named_alike(stores, clues)
        or _find_lettered_store(stores, clues, used)
        or ((None, _describe_several_maps(loaded)) if loaded else None)
    )


def _find_loaded_store(loaded: Sequence[TileStore], clues: Clues) -> Choice | None:
    """Return the store that TMA's loads name. loaded: those that they may name."""
    if loaded and all(store is loaded[0] or _is_surely_same(store, loaded[0]) for store in loaded):
        store = next((store for store in loaded if store.operand == clues.operand), loaded[0])
        return store, f"TMA loads it from {store.names[0].lstrip('&')}"
    if list_filled_names(clues.loaded):
        return None, _describe_several_maps(loaded) if loaded else "TMA fills its bytes through a map that is not known"
    return None


def _find_store_named_alike(stores: Iterable[TileStore], clues: Clues) -> Choice | None:
    """Return the one store that shares a word of its names with the operand's addresses."""
    alike = _list_stores_named_alike(stores, clues)
    return (alike[0][0], f"it is named {alike[0][1]}") if len(alike) == 1 else None


def _find_lettered_store(stores: Iterable[TileStore], clues: Clues, used: Collection[int]) -> Choice | None:
    """Return the store named after the operand."""
    named = [store for store in stores if store.operand == clues.buffer]
    if not named:
        return None
    if named[0].piece in used and all(find_operand_letter(address) != clues.buffer for address in clues.addresses):
        return named[0], NO_OTHER
    first, *others = _keep_maps_of_function(named, clues.function)
    maps = [store for store in others if store.map is not None]
    if clues.function and first.map and not all(first.is_same_layout(store) for store in maps):
        return None, _describe_several_maps([first, *maps])
    return first, f"it is named {_format_store_name(first, clues.buffer)}"


def _keep_maps_of_function(named: Sequence[TileStore], function: str) -> Sequence[TileStore]:
    """Keep the tensor maps that a function encodes, or what it calls; all stores if there are none."""
    return [
        store for store in named if store.map and store.map.calls[:1] and store.map.calls[0][0] == function
    ] or named


def _list_stores_named_alike(stores: Iterable[TileStore], clues: Clues) -> list[tuple[TileStore, str]]:
    """Return (store, name) of the pieces that share a word of their names with the operand's addresses."""
    words = {word for address in clues.addresses for word in _split_name(address)}
    alike = ((store, name) for store in stores for name in reversed(store.names) if words & set(_split_name(name)))
    return list({store.piece: (store, name) for store, name in alike}.values())


def _assign_in_order(rest: Sequence[TileStore], free: Sequence[str], used: Collection[int]) -> dict[str, Choice]:
    """Return stores for operands without one, in order: the first unclaimed store is A's, the second B's."""
    unused = [store for store in rest if store.piece not in used]
    if len(unused) < min(len(rest), len(free)):
        return {name: (rest[min(n, len(rest) - 1)], NO_OTHER) for n, name in enumerate(free)}
    chosen: dict[str, Choice] = {}
    for n, name in enumerate(free):
        if n < len(unused):
            alone = len(unused) == len(free) == 1
            chosen[name] = unused[n], ONLY if alone else FIRST if name == "a" else SECOND
        else:
            chosen[name] = (unused[0], NO_OTHER) if len(unused) == 1 else (None, "")
    return chosen


def find_tensors_over(
    stores: Iterable[TileStore], start: LinearExpression | None, operand: str, function: str = ""
) -> list[TileStore]:
    """Find the tensors whose buffer a descriptor begins in, one of each layout.

    Of several, the last that begins at or before it. Of several with that start, those of the function that takes the
    descriptor (`function`), and those that the operand's letter names.
    """
    if start is None or not start.terms:
        return []
    begins = [(s.begins.const, s) for s in stores if s.begins is not None and s.begins.terms == start.terms]
    last = max((at for at, _ in begins if at <= start.const), default=None)
    here = [store for at, store in begins if at == last]
    here = [store for store in here if store.function == function] or here
    here = [store for store in here if any(find_operand_letter(name) == operand for name in store.others)] or here
    return list({s.layout.notation if s.layout else "": s for s in reversed(here)}.values())[::-1]


def _is_output_store(store: TileStore) -> bool:
    """Return whether a tensor is named after C or D: the epilogue writes over the tiles of A and B."""
    words = {word.lower() for name in store.others[:1] for word in split_name(name)}
    return store.begins is not None and not words.isdisjoint(_OUTPUTS)


def _is_surely_same(store: TileStore, other: TileStore) -> bool:
    """Return whether two tensor maps are known to store a tile in the same way."""
    return not store.is_open and not other.is_open and store.is_same_layout(other)


def _describe_several_maps(loaded: Sequence[TileStore]) -> str:
    shared = Counter(name for store in loaded for name in store.names)
    own = (next((name for name in store.names if shared[name] == 1), store.names[0]) for store in loaded)
    names = list(dict.fromkeys(name.lstrip("&") for name in own))
    several = join_words(names) if len(names) > 1 else f"{len(loaded)} maps that {names[0]} names"
    return f"TMA fills its bytes through {several}, and which of them the instruction reads is open"


def _describe_several(tensors: Iterable[TileStore]) -> str:
    layouts = " and ".join(tensor.layout.notation if tensor.layout else f"one that {tensor.open}" for tensor in tensors)
    return f"the text lays several tensors over its buffer: {layouts}"


def _split_name(name: str) -> list[str]:
    """Return the parts of a name other than an operand's letter: sK, smem_k and tma_map_K are k."""
    words = (word.lower() for word in split_name(CUT.sub("", name.lstrip("&"))))
    return [word for word in words if word not in _COMMON]


def _format_store_name(store: TileStore, name: str) -> str:
    names = store.names
    return next((candidate for candidate in names if find_operand_letter(candidate) == name), names[0] if names else "")
