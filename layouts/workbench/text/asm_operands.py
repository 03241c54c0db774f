"""Find the arguments of an asm statement by operand number or name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from lanescope.reader.code.findings import AsmRun
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt

_SEAM = re.compile(r'"(?>\s+|//[^\n]*|/\*.*?\*/)*+"', re.S)  # between two literals that C++ joins: may split a word
_BREAK = re.compile(r'\\[nt]|"')


@lru_cache(maxsize=1024)
def join_strings(text: str) -> str:
    """Return the PTX of an asm statement's strings on one line, literals side by side joined as C++ joins them.

    >>> join_strings('"cp.async.bulk." "commit_group;\\\\n"').split()
    ['cp.async.bulk.commit_group;']
    """
    return _BREAK.sub(" ", _SEAM.sub("", text))


def find_operand_argument(run: AsmRun, argument: str, cut: int) -> tuple[SymbolicInt | None, Span, tuple[Span, ...]]:
    """Find the argument of %3 or %[name] in an asm statement: (value, place, the calls around it)."""
    if len(argument) < 20 and argument.isdecimal():
        return SymbolicInt(int(argument)), run.span, ()
    match = re.fullmatch(r"%(?:(\d{1,4})|\[(\w+)\])", argument)
    if not match:
        return None, run.span, ()
    at = int(match[1]) - cut if match[1] else run.names.index(match[2]) if match[2] in run.names else len(run.inputs)
    if not 0 <= at < len(run.inputs):
        return None, run.span, ()
    _, value, span = run.inputs[at]
    return value, span, run.call_spans[at] if run.call_spans else ()


def find_predicate_source(predicate: str, code: str) -> str | None:
    """Find the operand that a predicate of an asm statement compares with 0: %5 of `setp.ne.b32 p, %5, 0`."""
    match = re.search(rf"setp\.ne\.\w+\s+{re.escape(predicate)}\s*,\s*(%?\w+|%\[\w+\])\s*,\s*0\b", code)
    return match[1] if match else None


def find_operand_number(run: AsmRun, argument: str) -> int | None:
    """Return the number passed for an operand of an asm statement, None if it is open."""
    value = find_operand_argument(run, argument, 0)[0]
    return None if value is None else value.known


def count_left_out(run: AsmRun, descriptors: Iterable[str]) -> int:
    """Count the operands that a text omits from an asm statement before the descriptors, as pasted code often does.

    If an asm statement has three operands and its text names %33, the last operand is number 33. If that gives a
    descriptor no 64-bit operand ("l"), use the offset that does: lines with later operands may be missing, too.
    """
    most = max((int(n) for n in re.findall(r"%(\d{1,4})\b", run.text)), default=-1)
    plain = max(0, most + 1 - len(run.inputs))
    numbers = [int(match[1]) for text in descriptors if (match := re.fullmatch(r"%(\d{1,4})", text))]
    wide = [n for n, (kind, _, _) in enumerate(run.inputs) if "l" in kind]

    def fits(cut: int) -> bool:
        return all(n - cut in wide for n in numbers)

    if not numbers or fits(plain) or fits(0):
        return plain if fits(plain) or not numbers else 0
    others = [numbers[0] - n for n in wide if fits(numbers[0] - n)]
    return others[0] if len(others) == 1 else plain


def can_be_word(value: SymbolicInt) -> bool:
    """Return whether a value is more than an unknown parameter."""
    return bool(value.const >> 16 & (1 << 46) - 1) or len(value.pieces) > 1 or any(p.shift == 4 for p in value.pieces)
