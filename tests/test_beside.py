"""A refused field keeps what was typed and says beside itself what it takes."""

from __future__ import annotations

import re
from html import unescape

from lanescope.app.read.workbench import compress_text
from tests.cases import for_each
from tests.client import Client

WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
TILED, LDSM = "SM80_16x8x16_F32F16F16F32_TN", "SM75_U32x4_LDSM_N"


@for_each(
    ("path", "wrong", "right"),
    [
        ("/tiles/mma", {"atom_layout": "(2,2", "permutation": "foo", "tile": "64x65"}, {"atom": TILED}),
        ("/tiles/mma", {"atom": "nope", "tile": "64xfoox1"}, {"permutation": "(32,32,16)"}),
        (
            "/tiles/copy",
            {"atom": "nope", "tile": "64x", "thr_layout": "(16,8", "val_layout": "zz", "layout": "Sw", "global": "(("},
            {"stored": "cute"},
        ),
        ("/tiles/copy", {"mma": "nope", "permutation": "(32,x)", "pitch_bytes": "x"}, {"atom": LDSM, "stored": "rows"}),
        ("/chain", {"mma": "mma.m16n8k17", "load": "ldmatrix.x3", "s_layout": "(("}, {"s_kind": "cute"}),
        ("/weights", {"k": "17", "n": "65", "find": "zzz"}, {}),
        ("/weights", {"k": "17"}, {"find": "word 99999"}),  # the last word depends on K
        ("/metadata/order", {"rows": "7", "k": "9"}, {"opcode": "mma.sp", "row": "999"}),
        ("/metadata/order", {"rows": "7", "group": "999"}, {"opcode": "mma.sp", "row": "999"}),
        ("/metadata/order", {"element": "e2m1"}, {"opcode": "wgmma.sp", "rows": "7"}),  # its atom decides the rows
    ],
)
def test_all_wrong_fields_are_described_at_once(
    client: Client, path: str, wrong: dict[str, str], right: dict[str, str]
) -> None:
    """Fields whose legal values depend on a wrong one are not judged."""
    answer = client.get(path, params={**right, **wrong})
    assert answer.status_code == 422
    shown = unescape(answer.text)
    controls = re.findall(r'<(?:input|select|textarea) name="(\w+)"([^>]*)>', shown)
    assert {name for name, attributes in controls if 'aria-invalid="true"' in attributes} == wrong.keys()
    assert all(f'value="{typed}"' in shown for typed in wrong.values())


def test_an_unknown_filter_of_the_catalogue_is_refused_and_the_rest_shown(client: Client) -> None:
    answer = client.get("/instructions?family=zzz&q=m16n8k16")
    assert answer.status_code == 422 and "No family &#39;zzz&#39;" in answer.text and "m16n8k16" in answer.text


@for_each(
    ("address", "name"),
    [
        ("/chain?mma=", "mma"),
        ("/cute?expression=", "expression"),
        ("/diagram?ptx=", "ptx"),
        ("/dump?descriptor=", "descriptor"),
        ("/gpu/run?kind=mma&instruction=", "instruction"),
        ("/gpu/run?kind=fragment", "instruction"),
        ("/layouts/tv?cute=", "cute"),
        ("/layouts/triton?text=", "text"),
        ("/layouts/triton?z=" + compress_text(" "), "text"),
    ],
)
def test_an_emptied_text_is_not_answered_with_the_default(client: Client, address: str, name: str) -> None:
    answer = client.get(address)
    said = re.findall(r'id="(\w+)-error" role="alert">[^<]* is empty\. For example ', answer.text)
    assert answer.status_code == 422 and said == [name]


def test_a_run_of_no_kind_is_asked_for_and_not_refused(client: Client) -> None:
    answer = client.get("/gpu/run")
    assert answer.status_code == 200 and 'name="kind"' in answer.text and 'role="alert"' not in answer.text


def test_an_emptied_text_is_refused_when_posted_as_in_an_address(client: Client) -> None:
    answer = client.post("/layouts/triton", data={"text": "", "shape": "32x32"})
    assert answer.status_code == 422 and 'id="text-error"' in answer.text


@for_each(
    ("ptx", "shown"), [("mma.bogus", set()), ("mma.bogus&warps=1&idesc=m%3D64", {"warps", "idesc"}), (WGMMA, {"warps"})]
)
def test_a_figure_of_an_unknown_instruction_has_the_usual_fields(client: Client, ptx: str, shown: set[str]) -> None:
    """Beside the fields of every figure, those with a value; the colour is chosen from a list."""
    form = re.findall(r'<form action="/diagram".*?</form>', client.get(f"/diagram?ptx={ptx}").text, re.S)[0]
    assert set(re.findall(r'name="(warps|idesc)"', form)) == shown
    assert '<select name="colour"' in form and '<option value="g" selected>' in form
