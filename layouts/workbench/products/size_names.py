"""Find which numbers of a kernel are M, N and K if these are not what its parameters are called.

They may have other names, such as rows, columns and depth; one number may be all of them; or they are constants.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from lanescope.cxx.source_text import split_arguments
from lanescope.inputs import join_words
from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.workbench.products.known_matrices import KnownMatrices
from lanescope.workbench.products.known_sizes import KnownSizes, is_depth
from lanescope.workbench.products.known_sums import KnownFragment, OpenPart, find_other_sum
from lanescope.workbench.products.product_sizes import is_count, is_leading, shorten_name
from lanescope.workbench.products.replaced_sizes import list_assigned
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import TextEdit
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_functions, list_reached_texts

_LETTERS = "mnk"
_SQUARE = 512  # of all sizes, if they are one number
_INTEGER = re.compile(r"(?:(?:const|unsigned|signed|long|int|size_t|u?int(?:32|64)_t|std::size_t)\s+)+(\w+)\s*")
_MEMBERS = re.compile(r"\b(?:int|unsigned|long|size_t|u?int(?:32|64)_t)\s+(\w+(?:\s*,\s*\w+)*)\s*;")
_CONSTANT = re.compile(r"\b([A-Za-z_]*[MNK](?:_[A-Za-z]+)?)(?:\s*=\s*|[ \t]+)(\d+)\b")
_BLOCK = re.compile(r"blockIdx|ctaid|block_rank|group_index")
_WORD = re.compile(r"[A-Za-z_]\w*")
_SHAPE = re.compile(r"\bmake_shape\s*\(\s*([\w.]+)\s*,\s*([\w.]+)\s*,\s*([\w.]+)\s*\)")
_OF_SHAPE = re.compile(r"shape|problem|mnk", re.I)  # in the name of a parameter that is a tuple of M, N and K
_MEMBER = re.compile(r"(?:[A-Za-z_]\w*\s*(?:\.|->)\s*)*[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class NamedSizes:
    """A text with launches of a kernel in which M, N and K are known. alone: whether they have no other numbers."""

    text: str
    recorded: Sequence[KernelLaunchRecord]
    known: KnownMatrices
    alone: bool


def list_named_sizes(
    text: str, function: FunctionText, recorded: Sequence[KernelLaunchRecord], usual: KnownMatrices
) -> Iterator[NamedSizes]:
    """Yield what M, N and K of a kernel may be. usual: their numbers."""
    names = list_sizes(text, function)
    used = [name for name in names if re.search(rf"\b{name}\b", text[slice(*function.body)])]
    if len(used) == 1:
        known = KnownMatrices(_SQUARE, _SQUARE, _SQUARE, names={used[0]: "m"})
        scaled = _scale_launches(function, recorded, used[0])
        if scaled:
            yield NamedSizes(text, scaled, known, alone=True)
        if not scaled or any(str(one) == "1" for launch in scaled for one in launch.grid[:2]):  # a line of all tiles
            yield NamedSizes(text, _name_host(function, recorded, known)[0], known, alone=True)
    elif len(names) == len(_LETTERS):
        for chosen in _list_roles(names, _list_inside(function, recorded, names)):
            launches, known = _name_host(function, recorded, replace(usual, names=chosen))
            yield NamedSizes(text, launches, known, alone=False)
    edits = list(_list_constants(text, usual, set(_LETTERS).difference(map(shorten_name, names))))
    if edits:
        yield NamedSizes(apply_edits(text, edits), (), usual, alone=True)


def list_own_sizes(text: str, fragments: Sequence[KnownFragment]) -> Iterator[KnownMatrices]:
    """Yield the M, N and K that fragments may be all of D of; not those that constants by these names contradict."""
    if not fragments:
        return
    products, bits = fragments[0].products, fragments[0].bits
    rows, columns = (len(side.places[0]) for side in products[0].sides)
    depth = sum(one.a.places[0].shape[1] for one in products) * max(bits, 8) // bits
    elements = sum(len(one.place) for one in fragments)
    constants = _read_constants(text)
    for m in range(rows, elements + 1, rows):
        n, rest = divmod(elements, m)
        known = KnownMatrices(m, n, depth)
        if rest or n % columns or not constants.items() <= {"m": m, "n": n, "k": depth}.items():
            continue
        if find_other_sum(fragments, known, (1, 1, 1)) is None:
            yield known


def names_square(name: str) -> bool:
    """Return whether the only size of a kernel is all of M, N and K by its name.

    >>> [names_square(name) for name in ("N", "matrix_size", "dim", "k_tiles", "batch")]
    [True, True, True, False, False]
    """
    return shorten_name(name) in ("", "n", "matrix", "width")


def has_blocks(text: str, function: FunctionText) -> bool:
    """Return whether the blocks of a kernel may differ."""
    return any(map(_BLOCK.search, list_reached_texts(text, find_functions(blank_text(text)), function)))


def _read_constants(text: str) -> dict[str, int]:
    """Return the numbers of the constants that are called M, N and K."""
    found = ((shorten_name(one[1]), int(one[2])) for one in _CONSTANT.finditer(blank_text(text)))
    return {name: number for name, number in found if name in _LETTERS}


def _list_inside(function: FunctionText, recorded: Sequence[KernelLaunchRecord], names: Sequence[str]) -> list[str]:
    """Return the parameters that are launched with sizes which the grid does not depend on."""
    found = dict[str, bool]()
    for launch in recorded:
        if launch.name == function.name:
            grid = {word for number in launch.grid for word in _WORD.findall(str(number))}
            given = dict(zip(function.parameters, map(str, launch.arguments), strict=False))
            found |= {name: grid.isdisjoint(_WORD.findall(given.get(name, ""))) for name in names}
    return [name for name, inside in found.items() if inside]


def _list_roles(names: Sequence[str], inside: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield which of three names is m, n and k. D is A·B, or Bᵀ·Aᵀ, for either order of m and n. inside: those that the
    grid does not depend on.
    """
    deep = [name for name in names if is_depth(name)] or inside
    for k in deep if len(deep) == 1 else reversed(names):
        m, n = (name for name in names if name != k)
        yield {m: "m", n: "n", k: "k"}


def explain_sizes(open_part: OpenPart | None, sizes: Collection[str]) -> OpenPart | None:
    """Return why the D of a kernel is open: that sizes are not among its parameters, if they decide it. sizes: those
    that are.
    """
    missing = [name.upper() for name in _LETTERS if name not in sizes]
    if missing and (not sizes or (open_part is not None and open_part.sized)):
        return OpenPart(f"none of its parameters is called {join_words(missing, 'or')}")
    return open_part


def find_letters(text: str, function: FunctionText, recorded: Iterable[KernelLaunchRecord]) -> set[str]:
    """Return which of m, n and k integers among a kernel's parameters, or members of these, are called."""
    pointers = list_pointers(text, function)  # such as K of attention
    members = {name for one in recorded if one.name == function.name for _, name, _ in one.members}
    members |= _list_members(text, function)
    if any(map(_OF_SHAPE.search, function.parameters)):
        shapes = (set(map(shorten_name, one.groups())) for one in _SHAPE.finditer(blank_text(text)))
        members |= next((shape for shape in shapes if shape == set(_LETTERS)), set())
    letters = {shorten_name(name) for name in members.union(function.parameters) - pointers} & set(_LETTERS)
    return letters or _find_host_letters(text, function)


def _find_host_letters(text: str, function: FunctionText) -> set[str]:
    """Return which of m, n and k parameters are called of a function that launches a kernel with tensors of CuTe."""
    blank = blank_text(text)
    if not names_cute(blank):
        return set()
    named = re.compile(rf"\b{re.escape(function.name)}\b")
    hosts = (one for one in find_functions(blank) if not one.kernel and named.search(blank, *one.body))
    found = ({shorten_name(name) for name in one.parameters} & set(_LETTERS) for one in hosts)
    return next((letters for letters in found if len(letters) == len(_LETTERS)), set())


def _list_members(text: str, function: FunctionText) -> set[str]:
    """Return the integers that a class of a kernel's parameter declares, if the kernel names one of its members."""
    blank, found = blank_text(text), set[str]()
    for part in _list_parameters(text, function):
        *types, name = _WORD.findall(part.partition("=")[0]) or [""]
        used = re.search(rf"(?<![.\w>]){name}\s*(?:\.|->)\s*[A-Za-z_]", blank[slice(*function.body)]) if name else None
        declared = re.search(rf"\bstruct\s+{types[-1]}\s*\{{", blank) if used and types else None
        if declared is not None:
            first = declared.end()
            found.update(
                word
                for one in _MEMBERS.finditer(blank, first, blank.find("}", first))
                for word in _WORD.findall(one[1])
            )
    return found


def list_pointers(text: str, function: FunctionText) -> set[str]:
    """Return the pointers among a kernel's parameters."""
    parts = (part.partition("=")[0] for part in _list_parameters(text, function) if "*" in part)
    return {words[-1] for part in parts if (words := _WORD.findall(part))}


def _list_parameters(text: str, function: FunctionText) -> list[str]:
    blank = blank_text(text)
    head = blank[blank.rfind(function.name, 0, function.body[0]) : function.body[0]]
    return split_arguments(head[head.find("(") + 1 : head.rfind(")")])


def list_sizes(text: str, function: FunctionText) -> list[str]:
    """Return the integers among a kernel's parameters that may be sizes of matrices."""
    return [name for name in _list_integers(text, function) if not is_leading(name) and not is_count(name)]


def _list_integers(text: str, function: FunctionText) -> list[str]:
    parameters = _list_parameters(text, function)
    return [one[1] for part in parameters if (one := _INTEGER.fullmatch(part.strip() + " "))]


def has_other_numbers(
    text: str, function: FunctionText, recorded: Iterable[KernelLaunchRecord], known: KnownMatrices
) -> bool:
    """Return whether a launch gives a kernel integers that are not computed from M, N and K alone: these, or members of
    the object that gives them.
    """
    integers = _list_integers(text, function)
    given = [
        (name, word)
        for one in recorded
        if one.name == function.name
        for name, value in zip(function.parameters, one.arguments, strict=False)
        if name in integers
        for word in _MEMBER.findall(str(value))
    ]
    objects = {"", *(_find_object(word) for name, word in given if known.find(name))}
    return not all(known.find(word) and _find_object(word) in objects for _, word in given)


def _find_object(word: str) -> str:
    """Return the object of a member, "" for another name."""
    return word.replace("->", ".").rpartition(".")[0].strip()


def _name_host(
    function: FunctionText, recorded: Sequence[KernelLaunchRecord], known: KnownMatrices
) -> tuple[Sequence[KernelLaunchRecord], KnownMatrices]:
    """Return (the launches, without sizes that are numbers; the sizes with what the host calls them)."""
    names = dict(known.names)
    numbers = False
    for launch in recorded:
        given = (
            zip(function.parameters, map(str, launch.arguments), strict=False) if launch.name == function.name else ()
        )
        for name, value in given:
            words = _WORD.findall(value) if name in known.names else []
            if name in known.names and [shorten_name(word) for word in words] == [known.names[name]]:
                names.pop(name)  # computed from the host's size, such as K / 2
            elif name in known.names:
                numbers |= not _WORD.fullmatch(value)
                names |= {value: known.names[name]} if _WORD.fullmatch(value) else {}
    if numbers:
        recorded = [replace(one, arguments=(), members=(), grid=(None, None, None)) for one in recorded]
    return recorded, replace(known, names=names)


def _scale_launches(
    function: FunctionText, recorded: Iterable[KernelLaunchRecord], name: str
) -> list[KernelLaunchRecord]:
    """Return the launches of a kernel whose sizes are one number, with _SQUARE in its place and as many of the blocks;
    none if that is not a whole number of blocks. name: the parameter of the size.
    """
    scaled, sizes = list[KernelLaunchRecord](), KnownSizes({})
    for launch in recorded:
        given = dict(zip(function.parameters, launch.arguments, strict=False)) if launch.name == function.name else {}
        own = sizes.evaluate(given.get(name))
        blocks = [sizes.evaluate(one) or 0 for one in launch.grid[:2]]  # along z there are batches, or parts of K
        if not own or any(one % own for one in (_SQUARE * count for count in blocks if count != 1)) or 0 in blocks:
            continue
        arguments = (_set_number(one, _SQUARE) if sizes.evaluate(one) == own else one for one in launch.arguments)
        pairs = zip(launch.grid, blocks, strict=False)
        grid = (one if count == 1 else _set_number(one, count * _SQUARE // own) for one, count in pairs)
        scaled.append(replace(launch, arguments=tuple(arguments), grid=(*grid, *launch.grid[2:])))
    return scaled


def _set_number(value: SymbolicInt | None, number: int) -> SymbolicInt | None:
    """Return a number in place of another one."""
    return replace(value, const=number) if value is not None else None


def _list_constants(text: str, usual: KnownMatrices, letters: Set[str]) -> Iterator[TextEdit]:
    """Yield edits that give constants called M, N and K their numbers; none unless each of these letters is one."""
    found = [(shorten_name(name), span) for name, span in list_assigned(blank_text(text))]
    if {name for name, _ in found} >= letters:
        yield from (TextEdit(span, str(usual.find(name))) for name, span in found if name in letters)
