"""What is inferred or not documented says so on every page and answer of Blackwell, and nothing says verified."""

from __future__ import annotations

from functools import cache
from typing import Any

from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.tmem import OPERANDS, TmemMma
from lanescope.errors import LayoutError
from lanescope.ptx.table.kinds import ALONE, KINDS, PAIR
from tests.cases import for_each
from tests.client import Client, share_client
from tests.sample import is_chosen


@cache
def open_client() -> Client:
    return share_client()


def _list_placements() -> list[tuple[str, TmemMma, str]]:
    """(query, MMA, operand) of every kind, form, sparsity and M, once each."""
    out = []
    for row in KINDS:
        for (form, sparse), sizes in row.sizes.items():
            for m in sizes.m:
                n = 64
                mma = TmemMma(row, form, sparse, m, n)
                group, ws = (2 if form == PAIR else 1), int(form not in (ALONE, PAIR))
                query = f"kind={row.name}&cta_group={group}&ws={ws}&sparse={int(sparse)}&m={m}&n={n}"
                out += [(query, mma, operand) for operand in OPERANDS if operand in mma.operands]
    return out


def test_every_layout_of_tensor_memory() -> None:
    counted = {"inferred": 0, "open": 0, "agrees": 0}
    for query, mma, operand in _list_placements():
        asked = is_chosen(f"{query} {operand}", 4)
        told = open_client().get(f"/api/v1/tmem/layout?{query}&operand={operand}") if asked else None
        try:
            found = tmem.make_tmem_layout(mma, operand)
        except LayoutError:
            assert told is None or (told.status_code == 422 and "is not documented" in told.json()["error"]["message"])
            counted["open"] += 1
            continue
        word = "agrees" if found.maps else "inferred"
        said = told.json()["evidence"] if told else ""
        assert not told or all(part in said for part in (word, "documented", "not executed")), (query, operand)
        counted[word] += 1
    assert counted == {"inferred": 28, "open": 4, "agrees": 174}, counted


def test_an_idesc_that_says_otherwise_is_named() -> None:
    wrong = open_client().get("/tmem?n=256&idesc=0x08400494&access=").text
    assert "sparse_mismatch_between_idesc_mod" in wrong and "Bit 2 of 0x08400494 means sparse" in wrong
    assert "sparse_mismatch" not in open_client().get("/tmem?n=256&idesc=0x08400490&access=").text
    right: dict[str, Any] = {"m": 128, "n": 64, "sparse": 1}
    word = idesc.encode(idesc.get_kind("f16"), right)
    assert "idesc" not in [
        fault.name for fault in tmem.find_idesc_faults(word, TmemMma(word.kind, ALONE, True, 128, 64))
    ]
    assert "idesc_size" in open_client().get(f"/tmem?n=256&sparse=1&idesc={word}&access=").text


@for_each(
    "address",
    [
        "/tmem",
        "/tmem/epilogue",
        "/scale-factors",
        "/metadata/order",
        "/idesc/0x08400490?kind=f16",
        "/zero-column-mask",
        "/descriptor/tcgen05/0x4000404000010100",
        "/smem?format=tcgen05",
        "/smem?format=tcgen05&element_bits=32&major=MN&swizzle=128B_base32B&mn=64&k=32",
    ],
)
def test_no_page_of_blackwell_says_that_it_ran(address: str) -> None:
    text = open_client().get(address).text.split("<main", 1)[1]
    assert any(word in text for word in ("documented", "Documented", "not executed", "not run")), address
    assert "ran on" not in text and "verified" not in text
