"""The zero-column mask of tcgen05.mma: PTX's examples, its limits, the API and the page."""

from __future__ import annotations

from lanescope.blackwell import zeromask
from lanescope.blackwell.zeromask import ZeroMask
from tests.cases import for_each
from tests.client import Client
from tests.oracle import tcgen05 as oracle


@for_each(("start", "first", "skip", "use", "printed"), oracle.MASKS)
def test_masks_are_ptxs_examples(start: int, first: int, skip: int, use: int, printed: str) -> None:
    fields = {"start_count_2": start, "first_span_2": first, "skip_span": skip, "use_span": use}
    mask = zeromask.encode_mask({**fields, "non_zero_mask": 1})
    assert "".join(map(str, mask.expand_sub_mask(2, len(printed))))[::-1] == printed
    assert sum(zeromask.encode_mask(fields).expand_bits(32, 64)) == 0


def test_sub_masks_stand_side_by_side() -> None:
    mask = zeromask.encode_mask(
        {"non_zero_mask": 1, "skip_span": 1, "use_span": 2, "first_span_1": 1, "start_count_3": 1}
    )
    bits = mask.expand_bits(32, 64)
    assert (
        bits == [bit for part in range(4) for bit in mask.expand_sub_mask(part, 16)]
        and len(set(map(tuple, [bits[:16], bits[16:32], bits[48:]]))) == 3
    )
    assert mask.list_zero_columns(128, 64) == [n for n in range(64) if n % 5 >= 3]
    assert ZeroMask(33 << 56).find_problems(128) == ["The shift is 33; with M = 128 it is at most 32."]
    assert ZeroMask(17 << 56).find_problems(64) == [] and ZeroMask(17 << 56).find_problems(32)
    assert ZeroMask(1 << 36).find_problems(64) == ["Reserved bits are set: 0x0000001000000000. They must be 0."]


def test_the_api_lists_the_zero_columns(client: Client) -> None:
    """Of each quarter of 16 columns, three of seven."""
    told = client.get("/api/v1/zero-column-masks/0x0003028000000000?m=64&n=64").json()
    assert told["columns"] == [4, 5, 6, 11, 12, 13, 18, 19, 20, 25, 26, 27, *(n + 32 for n in told["columns"][:12])]
