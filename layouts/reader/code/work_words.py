"""Which functions of a text bear on what is checked of it by evaluation: those that multiply by descriptors, build
one, encode a tensor map, copy through one or raise the limit of shared memory, and those that lead to one of these.

Products of mma.sync and wmma, and the ldmatrix and stores before them, are no such work: `lanescope.reader.threads`
runs their kernels for all threads.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from lanescope.reader.code import tree
from lanescope.reader.code.reached import Entry
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.tree_statements import UnreadText

Named = tree.Declaration | tree.Alias | tree.Enum | tree.StructDefinition
WORDS = re.compile(r"[A-Za-z_]\w*")
# Words of which one is in every macro that stands for such work.
_MACRO_WORK = re.compile(
    r"(?:wg|[ug])mma(?![a-z]{2})|warpgroup|(?<!ld)(?<!st)matrix_(?![ab]\b)|tcgen05|tensor_?map|make_tma|bulk|bitfield"
    r"|0x3ffff?\b|<<=?\s{0,9}(?:1[46]|3[02]|4[69]|52|6[0-3])\b|start_address|(?:leading|stride)\w{0,24}byte_offset"
    r"|layout_type|SM(?:90|1\d\d)_",
    re.I,
)
_TMA = r"(?-i:(?<![A-Za-z])[tT][mM][aA]|[a-z]Tma|TMA)"  # not the letters in floatMatrix
_WORK = re.compile(rf"{_MACRO_WORK.pattern}|{_TMA}|desc(?!ri|end)|cudaFuncSetAttribute", re.I)
# What counts besides where the instructions of kernels are asked for: those that a target does not have.
_MORE = r"|mma(?![a-z]{2})|matrix_|ldmatrix|shared\s*(?:::|\.)"
_EVERY_MACRO_WORK = re.compile(_MACRO_WORK.pattern + _MORE, re.I)
_EVERY_WORK = re.compile(_WORK.pattern + _MORE + r"|extern\s+__shared__", re.I)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)((?:[^\n]*\\\n)*[^\n]*)", re.M)


def has_work(functions: Iterable[Entry], text: str, every: bool) -> bool:
    """Return whether a function or a macro of a text has a word of what is checked; every: of any instruction."""
    work, macro_work = (_EVERY_WORK, _EVERY_MACRO_WORK) if every else (_WORK, _MACRO_WORK)
    return any(work.search(text, *function.span) for function, _, _ in functions) or any(
        macro_work.search(body) for _, body in list_macros(text)
    )


def list_macros(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the replacement, with its parameters, of each macro that a text defines."""
    return ((macro[1], macro[2]) for macro in _MACRO.finditer(text))


def find_working_names(
    functions: Sequence[Entry], body: Sequence[tree.Statement], text: str, names: Iterable[str]
) -> frozenset[str] | None:
    """Return the names of a text's functions, macros, types and variables that have work in them or name one that has,
    directly or through others. None for every name: where it is not known what calls an operator.

    names: of structs and macros that are work.
    """
    parts = [*((function.name, _cut(text, function.span)) for function, _, _ in functions), *list_macros(text)]
    types: set[str] = set()
    for one in _list_named(body):
        parts.append((one.name, _cut(text, one.span)))
        if not isinstance(one, tree.Declaration):
            types.add(one.name)
    words = [(name, frozenset(WORDS.findall(part))) for name, part in parts]
    calling = [(function, _list_callers(function, owner, text, types)) for function, owner, _ in functions]
    working = {name for name, part in parts if _WORK.search(part)} | set(names)
    before = -1
    while len(working) > before:
        before = len(working)
        working |= {name for name, used in words if not working.isdisjoint(used)}
        for function, callers in calling:
            if callers is not None and function.name in working:
                if not callers:
                    return None
                working |= callers
    return frozenset(working)


def _cut(text: str, span: Span) -> str:
    return text[slice(*span)]


def _list_callers(
    function: tree.Function, owner: tree.StructDefinition | None, text: str, types: Collection[str]
) -> frozenset[str] | None:
    """Return the types of which what calls a function names one where it does not name the function: an operator or a
    destructor; None of any other function.
    """
    if not function.name.startswith(("operator", "~")):
        return None
    if owner is not None:
        return frozenset((owner.name,))
    return frozenset(WORDS.findall(_cut(text, function.span).partition("{")[0])) & frozenset(types)


def _list_named(body: Iterable[tree.Statement]) -> Iterator[Named]:
    """Yield each declaration outside functions that has a name: types with their members, and variables."""
    for one in body:
        if isinstance(one, tree.Namespace | UnreadText):
            yield from _list_named(one.body)
        elif isinstance(one, Named) and one.name:
            yield one
