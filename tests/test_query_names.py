"""A page says which names of its address it does not use."""

from __future__ import annotations

import re
from html import unescape

from lanescope.app.kit.query_names import describe_ignored_names
from tests.cases import for_each
from tests.client import Client

NOTICE = re.compile(r'<p class="notice" role="status">((?:This page has no option|\w+ occurs)[^<]*)</p>')
MISSPELT = {
    "/?shpe=m16n8k16": "This page has no option 'shpe' and ignores it. Did you mean 'shape'?",
    "/instructions?shpe=m16n8k16": "This page has no option 'shpe' and ignores it. Did you mean 'shape'?",
    "/smem?swizle=64B": "This page has no option 'swizle' and ignores it. Did you mean 'swizzle'?",
    "/i/mma.m16n8k16.row.col.f32.f16.f16.f32?colur=lane": "This page has no option 'colur' and ignores it."
    " Did you mean 'colour'?",
    "/guide/swizzle?zzz=1": "This page has no option 'zzz' and ignores it. It takes no options.",
    "/banks?row_bytes=128&row_bytes=64": "row_bytes occurs 2 times in the address. The last one counts.",
}


def list_notices(client: Client, address: str) -> list[str]:
    return [unescape(text) for text in NOTICE.findall(client.get(address).text)]


@for_each("address", MISSPELT)
def test_a_name_that_a_page_does_not_use_is_named_with_the_nearest(address: str, client: Client) -> None:
    assert list_notices(client, address) == [MISSPELT[address]]


@for_each("example", ["/emulate?example=loop", "/dump?example=loop", "/capture?example=loop"])
def test_an_example_that_does_not_exist_is_refused(example: str, client: Client) -> None:
    assert "example is &#39;loop&#39;. Allowed: " in client.get(example).text


def test_a_link_that_only_carries_a_name_on_does_not_make_it_an_option() -> None:
    page = '<input name="rows"><a href="/x?rows=4&amp;zz=1">x</a><a href="/x?unit=chunk">y</a>'
    assert describe_ignored_names(page, [("zz", "1"), ("unit", "byte"), ("rows", "8")]) == [
        "This page has no option 'zz' and ignores it. It takes rows."
    ]


def test_a_dotted_option_may_be_sent_as_one_object() -> None:
    assert describe_ignored_names('<select name="a.swizzle">', [("a", "swizzle=none"), ("b", "")]) == []
