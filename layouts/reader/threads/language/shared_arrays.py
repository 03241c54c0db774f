"""Allocate the arrays and objects in shared memory that a kernel, or the text around it, declares."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from lanescope.cxx.source_text import read_statement_head, strip_comments
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.numbers import LONG, make_uniform
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.storage import Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_MOST_BYTES = 100 * 1024
_ALIGNMENT = re.compile(r"(?:alignas|__align__|aligned(?:__)?)\s*\(\s*(\d{1,5})\s*\)")


def is_shared(run: KernelRunner, declaration: tree.Declaration) -> bool:
    """Return whether a declaration has __shared__."""
    return "__shared__" in _find_head(run, declaration)


def allocate_shared(run: KernelRunner, declaration: tree.Declaration, kind: SizedType | None) -> Pointer | None:
    """Return the place of an array in shared memory; all names of dynamic shared memory share one address.

    An `extern` array with a size is not dynamic: nvcc defines it (its warning 20044).
    """
    if kind is None:
        run.shared.incomplete = run.shared.incomplete or "shared memory of a type that is not known"
        return None
    dims, item_type = kind.dims, replace(kind, dims=())
    sized = declaration.type is not None and declaration.type.dims[:1] not in ((), (None,))
    if ("extern" in _find_head(run, declaration) or declaration.external) and not sized:
        address = make_uniform(run.shared.place_dynamic(_find_alignment(run, declaration)), LONG)
        one = declaration.type is not None and not declaration.type.dims  # an object, of a class
        result = Pointer("shared", None, address, item_type, () if one else (0, *dims[1:]))
        run.dynamic.setdefault("", result)
        return result
    key = f"{declaration.span}"
    if key in run.dynamic:
        return run.dynamic[key]
    size = item_type.size * prod(dims)
    if not size or size > _MOST_BYTES:
        run.shared.incomplete = run.shared.incomplete or "shared memory of a size that is not known"
        return None
    address = make_uniform(run.shared.allocate_array(size, _find_alignment(run, declaration)), LONG)
    run.dynamic[key] = Pointer("shared", None, address, item_type, dims)
    return run.dynamic[key]


def _find_alignment(run: KernelRunner, declaration: tree.Declaration) -> int:
    """Return the alignment in bytes that a declaration gives as a number; 0 if it gives none, or not a power of 2."""
    stated = _ALIGNMENT.search(_find_head(run, declaration))
    amount = int(stated[1]) if stated is not None else 0
    return amount if amount & (amount - 1) == 0 else 0


def _find_head(run: KernelRunner, declaration: tree.Declaration) -> str:
    """Return what is before a declaration in its statement; a struct is before its name."""
    type_ = declaration.type
    first = type_ if type_ is not None and type_.body is not None else declaration
    return _read_line_head(run.text, first.span[0])


@lru_cache(maxsize=4096)
def _read_line_head(text: str, at: int) -> str:
    return strip_comments(read_statement_head(text, at))
