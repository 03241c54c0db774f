"""Quotients of open sizes: row * K / 8 is as many times K ÷ 8, for every K that 8 divides.

A kernel that reads 8 elements at a time is right for such sizes only, so nothing is lost. A quotient is a name of its
own, K÷8, until a multiplication by 8 makes it K again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

Coefficient = int | NDArray[np.int64]
Monomial = tuple[str, ...]
_MARK = "÷"
_QUOTIENT = re.compile(r"\((\d+)\*([A-Za-z_][\w.]*)\)/\((\d+)\)")  # of a size that all threads share


def divide_terms(terms: Mapping[Monomial, Coefficient], by: int) -> dict[Monomial, Coefficient] | None:
    """Divide a polynomial by a positive number, where its open names are multiples of it.

    Return None if it may be negative, or if only indices of blocks have to be such, as in (blockIdx.x * 3 + lane) / 16.

    >>> divide_terms({("K",): 3, (): 17}, 8)
    {('K÷8',): 3, (): 2}
    >>> divide_terms({("blockIdx.x",): 3, (): 17}, 8)
    """
    result: dict[Monomial, Coefficient] = {}
    for names, factor in terms.items():
        if not names:
            if np.any(np.asarray(factor) < 0):
                return None
            result[names] = factor // by
        elif not np.any(np.asarray(factor) % by):
            result[names] = factor // by
        elif (at := _find_size(names)) is not None:
            result[_join((*names[:at], _divide_name(names[at], by), *names[at + 1 :]))] = factor
        else:
            return None
    marked = any(_MARK in name for names in result for name in names)
    return result if marked or not any(np.any(np.asarray(factor) < 0) for factor in result.values()) else None


def _find_size(names: Monomial) -> int | None:
    """Return the position of the last name other than the index of a block; None if there are only such indices."""
    return next((n for n in reversed(range(len(names))) if not names[n].startswith(("blockIdx.", "gridDim."))), None)


def cancel_quotients(terms: dict[Monomial, Coefficient]) -> dict[Monomial, Coefficient]:
    """Shorten the quotients of a polynomial by the common divisors of their coefficients.

    >>> cancel_quotients({("K÷8",): 48})
    {('K',): 6}
    """
    if not any(_MARK in name for names in terms for name in names):
        return terms
    result: dict[Monomial, Coefficient] = {}
    for names, factor in terms.items():
        key, left = _shorten(names, factor)
        result[key] = result.get(key, 0) + left
    return result


def _shorten(names: Monomial, factor: Coefficient) -> tuple[Monomial, Coefficient]:
    for n, name in enumerate(names):
        base, marked, divisor = name.rpartition(_MARK)
        if marked:
            common = gcd(int(divisor), int(np.gcd.reduce(np.atleast_1d(np.asarray(factor)))))
            left = int(divisor) // common
            kept = f"{base}{_MARK}{left}" if left > 1 else base
            return _join((*names[:n], kept, *names[n + 1 :])), factor // common
    return names, factor


def split_quotients(names: Monomial) -> tuple[Monomial, float]:
    """Return the names of a product without their divisors, and what it is of the product of these.

    >>> split_quotients(("K÷8", "blockIdx.x")), split_quotients(("(2*N)/(4)",))
    ((('K', 'blockIdx.x'), 0.125), (('N',), 0.5))
    """
    parts = [_split_name(name) for name in names]
    return _join(tuple(base for base, _ in parts)), prod(factor for _, factor in parts)


def _split_name(name: str) -> tuple[str, float]:
    if (quotient := _QUOTIENT.fullmatch(name)) is not None:
        return quotient[2], int(quotient[1]) / int(quotient[3])
    base, marked, divisor = name.rpartition(_MARK)
    return (base, 1 / int(divisor)) if marked else (name, 1)


def _divide_name(name: str, by: int) -> str:
    base, marked, divisor = name.rpartition(_MARK)
    return f"{base}{_MARK}{int(divisor) * by}" if marked else f"{name}{_MARK}{by}"


def _join(names: Monomial) -> Monomial:
    return tuple(sorted(names))
