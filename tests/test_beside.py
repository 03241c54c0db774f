"""A refused field says beside itself what it takes, also on the pages whose forms are written by hand."""

from __future__ import annotations

import re

from tests.cases import for_each
from tests.client import Client


@for_each(
    ("address", "name"),
    [
        ("/banks?row_bytes=x", "row_bytes"),
        ("/banks?swizzle=7B", "swizzle"),
        ("/chain?s_kind=rows&s_pitch_bytes=-1", "s_pitch_bytes"),
        ("/idesc?kind=f16&m=7&n=64", "m"),
    ],
)
def test_the_message_stands_in_the_label_of_its_field(client: Client, address: str, name: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 422
    labels = [label for label in re.findall(r"<label.*?</label>", answer.text, re.S) if "data-error" in label]
    assert len(labels) == 1 and f'name="{name}"' in labels[0]


def test_an_unknown_filter_of_the_catalogue_is_refused_and_the_rest_shown(client: Client) -> None:
    answer = client.get("/instructions?family=zzz&q=m16n8k16")
    assert answer.status_code == 422 and "No family &#39;zzz&#39;" in answer.text and "m16n8k16" in answer.text


def test_an_address_without_an_instruction_leads_to_a_page(client: Client) -> None:
    assert client.get("/metadata").status_code == 200
