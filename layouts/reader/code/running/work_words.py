"""Find the functions that matter for checks by evaluation.

They multiply through descriptors, build one, encode a tensor map, copy through one, raise the limit of shared memory,
launch a kernel, or lead to such a function. Kernels with mma.sync, wmma and ldmatrix do not:
`lanescope.reader.threads` runs them for all threads.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache

from lanescope.cxx.source_text import INCLUDE, blank_comments, blank_matches, list_macros
from lanescope.reader.code.preprocessing.used_functions import Entry
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.code.ptx.sass_module import is_sass_listing
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.source_text import is_python
from lanescope.reader.code.syntax.tree_statements import UnreadText

Named = tree.Declaration | tree.Alias | tree.Enum | tree.StructDefinition
# Functions that compute or print: neither a fence, a wait nor a product. (A bodiless one may be called so in any text.)
ROUNDED_UP_NAMES = "ceil_div ceildiv ceil_divide cdiv div_up divup div_ceil divceil".split()  # of a quotient
ROUNDED_UP = f"(?i:{'|'.join(ROUNDED_UP_NAMES)})"
TUPLE_MAKERS = r"(?:make_|forward_as_)?tuple|(?:make_)?pair"
COMPUTING = (
    rf"(?:atomic|make_)\w*|printf|assert|clock\w*|{ROUNDED_UP}|{TUPLE_MAKERS}|(?i:(?:round|align)_?up)|size|swap"
    r"|(?:h2?|f)?(?:exp2?|exp10|log2?|r?sqrt|max|min|abs|pow|tanh|floor|ceil|fma|rcp|sin|cos|add|mul|sub)f?2?"
    r"|u?int\d*_t|(?:u?int|float|double|u?short|u?char|half)\d?|n?v?_?b?float16\w*|bf16|half2?|dim3"
)
WORDS = re.compile(r"[A-Za-z_]\w*")
# Words of which every macro for such work has one.
_MACRO_WORK = (
    r"(?:wg|[ug])mma(?![a-z]{2})|warpgroup|(?<!ld)(?<!st)(?<!load_)(?<!store_)matrix_(?![ab]\b)|tcgen05"
    r"|tensor_?map|make_tma|bulk|bitfield|<<<|0x3ffff?\b|<<=?\s{0,9}(?:4[69]|52|6[0-3])\b"
    r"|start_address|(?:leading|stride)\w{0,24}byte_offset|layout_type"
    r"|(?<!\w)SM(?:90|1\d\d)_|(?:make|partition)_fragment|tiled_?mma"
)
# Shifts to LBO and to SBO: a text without both builds no descriptor with shifts alone.
_TO_LBO, _TO_SBO = re.compile(r"<<=?\s{0,9}1[46]\b"), re.compile(r"<<=?\s{0,9}3[02]\b")
# not the letters in floatMatrix, nor CUTLASS's tags of schedules
_TMA = r"(?-i:(?<![A-Za-z])[tT][mM][aA]|[a-z]Tma|TMA)(?!\w{0,30}WarpSpecialized)"
# not the letters in EncodeScalar, nor pybind11's type_descr and PyArrayDescr_Proxy
_DESC = r"(?-i:desc|Desc|DESC)(?!ri|end|(?i:r)(?![A-Za-z]))"
_WORK = rf"{_TMA}|{_DESC}|cudaFuncSetAttribute"
# Further words if every instruction matters, to find those that a target lacks.
_EVERY_MACRO_WORK = r"mma(?![a-z]{2})|matrix_|ldmatrix|shared\s*(?:::|\.)"
_EVERY_WORK = r"extern\s+__shared__"
_PYTHON_WORK = re.compile(r"cute|cutlass|mma|ldmatrix|layout|swizzle", re.I)  # of CuTe's Python and of texts in strings
BIT_FIELD = re.compile(r":\s{0,9}14\s{0,9}[,;]")  # the width of a descriptor's start, LBO and SBO


@cache
def _compile_words(shifts: bool, every: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns for (functions, macros). shifts: include shifts to LBO and SBO."""
    macros = [_MACRO_WORK, *([f"{_TO_LBO.pattern}|{_TO_SBO.pattern}"] if shifts else [])]
    macros += [_EVERY_MACRO_WORK] if every else []
    words = [*macros, _WORK, *([_EVERY_WORK] if every else [])]
    return re.compile("|".join(words), re.I), re.compile("|".join(macros), re.I)


@lru_cache(maxsize=4)
def _blank_prose(text: str) -> str:
    """Return a C++ text with blanks in place of its comments and includes."""
    return blank_matches(INCLUDE, blank_comments(text))


@lru_cache(maxsize=4)
def _choose_words(text: str, every: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    shifts = every or bool(_TO_LBO.search(text) and _TO_SBO.search(text))
    return _compile_words(shifts, every)


@lru_cache(maxsize=4)
def may_have_work(text: str) -> bool:
    """Return whether a C++ or Python text has a word of checked code; True for PTX and SASS."""
    python = is_python(text)
    code = text if python else _blank_prose(text)  # kernels may be in Python's strings
    if "<<<" in code or is_ptx_module(text) or is_sass_listing(text):
        return True
    work, _ = _choose_words(code, False)
    return bool(work.search(code) or BIT_FIELD.search(code) or (python and _PYTHON_WORK.search(code)))


def has_work(functions: Iterable[Entry], text: str, every: bool) -> bool:
    """Return whether a function or macro has a word of checked code; every: of any instruction."""
    code = _blank_prose(text)
    work, macro_work = _choose_words(code, every)
    return any(work.search(code, *function.span) for function, _, _ in functions) or any(
        macro_work.search(body) for _, body in list_macros(code)
    )


def may_work(text: str, span: Span, working: Collection[str] | None) -> bool:
    """Return whether a part of a text has a word of checked code or of `working`; True if any name may do such work."""
    code = _blank_prose(text)
    if working is None or _choose_words(code, False)[0].search(code, *span):
        return True
    return not set(working).isdisjoint(WORDS.findall(code, *span))


def find_working_names(
    functions: Sequence[Entry], body: Sequence[tree.Statement], text: str, names: Iterable[str]
) -> frozenset[str] | None:
    """Return the names of functions, macros, types and variables that do checked work or lead to it.

    None if any name may, since the callers of an operator are unknown. names: of structs and macros that count as work.
    """
    text = _blank_prose(text)
    parts = [*((function.name, _cut(text, function.span)) for function, _, _ in functions), *list_macros(text)]
    types: set[str] = set()
    for declaration in _list_named(body):
        parts.append((declaration.name, _cut(text, declaration.span)))
        if not isinstance(declaration, tree.Declaration):
            types.add(declaration.name)
    unnamed = [(function, owner) for function, owner, _ in functions if function.name.startswith(("operator", "~"))]
    calling = [(function.name, _list_callers(function, owner, text, types)) for function, owner in unnamed]
    users: dict[str, set[str]] = {}
    for name, part in parts:
        for used in set(WORDS.findall(part)):
            users.setdefault(used, set()).add(name)
    for name, callers in calling:
        users.setdefault(name, set()).update(callers)
    work, _ = _choose_words(text, False)
    working: set[str] = set()
    pending = {name for name, part in parts if work.search(part)} | set(names)
    while pending:
        name = pending.pop()
        working.add(name)
        pending |= users.get(name, frozenset()) - working
    return None if any(name in working and not callers for name, callers in calling) else frozenset(working)


def _cut(text: str, span: Span) -> str:
    return text[slice(*span)]


def _list_callers(
    function: tree.Function, owner: tree.StructDefinition | None, text: str, types: Collection[str]
) -> frozenset[str]:
    """Return the types, one of which any caller of an operator or destructor names."""
    if owner is not None:
        return frozenset((owner.name,))
    return frozenset(WORDS.findall(_cut(text, function.span).partition("{")[0])) & frozenset(types)


def _list_named(body: Iterable[tree.Statement]) -> Iterator[Named]:
    """Yield the named declarations outside functions: types with their members, and variables."""
    for statement in body:
        if isinstance(statement, tree.Namespace | UnreadText):
            yield from _list_named(statement.body)
        elif isinstance(statement, Named) and statement.name:
            yield statement
