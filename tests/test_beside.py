"""A refused field keeps what was typed and says beside itself what it takes."""

from __future__ import annotations

import re
from html import unescape

from lanescope.app.read.workbench import compress_text
from tests.cases import for_each
from tests.client import Client

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
TILED, LDSM = "SM80_16x8x16_F32F16F16F32_TN", "SM75_U32x4_LDSM_N"
SPARSE = "mma.sp.m16n8k32.row.col.f32.f16.f16.f32"


@for_each(
    ("address", "name", "typed"),
    [
        ("/banks?row_bytes=x", "row_bytes", "x"),
        ("/banks?swizzle=7B", "swizzle", "7B"),
        ("/chain?s_kind=rows&s_pitch_bytes=-1", "s_pitch_bytes", "-1"),
        ("/idesc?kind=f16&m=7&n=64", "m", "7"),
        ("/diagram?operand=a&rows=9-99", "rows", "9-99"),
        ("/diagram?colour=puce", "colour", "puce"),
        ("/diagram?ptx=mma.m16", "ptx", "mma.m16"),
        (f"/gpu/run?kind=mma&backend=numpy&instruction={MMA}&seed=x", "seed", "x"),
        (f"/gpu/run?kind=mma&backend=numpy&instruction={WGMMA}&b=swizzle=96B", "b", "swizzle=96B"),
        (f"/gpu/run?kind=fragment&backend=numpy&instruction={MMA}&operand=q", "operand", ">q<"),
        ("/smem?mn=x", "mn", "x"),
        ("/smem?swizzle=9B", "swizzle", "9B"),
        ("/layouts/tv?slice=zz", "slice", "zz"),
        ("/layouts/tv?cute=(4,2):(2,1)&tile=x", "tile", "x"),
        ("/layouts/triton?to=zz", "to", "zz"),
        ("/cute?expression=zz(", "expression", "zz("),
        ("/gpu/run?kind=quux", "kind", "quux"),
        (f"/metadata/{SPARSE}?selector=9", "selector", "9"),
        (f"/metadata/{SPARSE}?words=zz", "words", "zz"),
        (f"/steps/{MMA}?load_b=foo", "load_b", "foo"),
        (f"/steps/{MMA}?row=99", "row", "99"),
        (f"/steps/{WGMMA}?b_descriptor=hello", "b_descriptor", "hello"),
        (f"/kernel/{WGMMA}?a=swizzle=96B", "a.swizzle", "96B"),
        ("/emulate?example=ring&copies=foo", "copies", "foo"),
        ("/descriptor/wgmma?lbo_bytes=foo", "lbo_bytes", "foo"),
        ("/descriptor/wgmma/0x4000004000010100?slice_k=foo", "slice_k", "foo"),
    ],
)
def test_a_wrong_field_is_described_by_its_message(client: Client, address: str, name: str, typed: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 422
    labels = [label for label in re.findall(r"<label.*?</label>", answer.text, re.S) if "data-error" in label]
    assert len(labels) == 1 and typed in re.sub("<small.*", "", labels[0])
    control = re.search(rf'<(?:input|select|textarea) name="{name}"[^>]*>', labels[0])
    assert control and 'aria-invalid="true"' in control[0]
    described = re.search(r'aria-describedby="([^"]*)"', control[0])
    said = re.search(r'<small [^>]*id="([^"]*)" role="alert">[^<]{20,}<', labels[0])
    assert described and said and said[1] in described[1].split()
    assert answer.text.count(f'id="{said[1]}"') == 1


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


def test_an_address_without_an_instruction_leads_to_a_page(client: Client) -> None:
    assert client.get("/metadata").status_code == 200


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
