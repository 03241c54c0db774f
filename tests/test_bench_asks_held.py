"""The workbench asked what its corpus does not say: other values for what a text leaves open, one thing of a text made
another, two texts as one. Held are verdict and headline, and the checksum of all that is said; what right texts mean is
tested in tests/test_workbench.py.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping

from layouts.workbench import bench
from layouts.workbench.found import Assumed
from tests.benches import CASES
from tests.held import attempt, held, said

NUMBERS = ("0", "1025", "1 << 20", "x")
CHANGES = (
    ("SWIZZLE_128B", "SWIZZLE_64B"), ("SWIZZLE_128B", "SWIZZLE_NONE"), ("m64n64k16", "m64n128k16"),
    ("m64n64k16", "m64n8k16"), (".f16.f16", ".e4m3.e4m3"), (".bf16.bf16", ".tf32.tf32"), ("1 << 62", "2 << 62"),
    ("1ull", "1"), ("{64, 64}", "{64, 128}"), ("{64, 64}", "{32, 64}"), ("k * 32", "k * 64"), ("k < 4", "k < 8"),
    ("0, 0;", "1, 0;"), ("0, 0;", "0, 1;"), ("half", "float"), ("bf16", "fp8"), ("uint64_t", "uint32_t"),
    ("0x3FFFF", "0xFFFF"), ("__shared__", "__shared__ alignas(128)"), ("1024", "512"), ("wgmma", "tcgen05"),
    ("for (", "while ("), (" + ", " - "), ("_SS", "_RS"), ("Major::K", "Major::MN"), (">> 4", ""), ("<< 32", "<< 16"),
    ("64", "96"), ("desc", "other"), ("{", ""), ("2, ", "3, "), ("_FLOAT16", "_UINT8"),
)  # fmt: skip
EACH = 3  # texts that a change is tried on


def told(text: str, given: Mapping[str, str] | None = None, patience: int = 1, copied: bool = True) -> str:
    def answer() -> str:
        made = bench(text, given, patience, copied)
        return f"{made.verdict} {hashlib.sha256(said(made).encode()).hexdigest()[:12]} {made.headline}"

    return attempt(answer)


def others(one: Assumed) -> tuple[str, ...]:
    """Values that a text might have been given in place of the one that was taken."""
    return (*(word for word in one.choices if word != one.value), "zz") if one.choices else NUMBERS


def given_ones() -> Iterator[str]:
    """Each kind of key in a few texts."""
    seen: Counter[str] = Counter()
    for case in CASES[::3]:
        for one in bench(case.text).assumed:
            kind = one.key.partition(".")[0]
            seen[kind] += 1
            if seen[kind] > EACH:
                continue
            for value in others(one):
                yield f"{case} {one.key}={value}: {told(case.text, {one.key: value})}"
    assert len(seen) > 6, seen


def changed_ones() -> Iterator[str]:
    for old, new in CHANGES:
        fits = [case for case in CASES if old in case.text]
        for case in fits[:: max(1, len(fits) // EACH)][:EACH]:
            yield f"{case} {old} → {new}: {told(case.text.replace(old, new))}"


def joined_ones() -> Iterator[str]:
    for first, second in zip(CASES[::9], CASES[4::9], strict=False):
        yield f"{first} + {second}: {told(f'{first.text}{chr(10)}{second.text}')}"
        yield f"{first}, as it is, with patience: {told(first.text, None, 4, False)}"


def test_other_values() -> None:
    held("bench_asks/given", "\n".join(given_ones()) + "\n")


def test_other_texts() -> None:
    held("bench_asks/changed", "\n".join(changed_ones()) + "\n")


def test_two_texts() -> None:
    held("bench_asks/joined", "\n".join(joined_ones()) + "\n")
