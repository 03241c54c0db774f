"""Where the page of an ldmatrix or stmatrix leads: to a chain that holds, the product behind it, and its banks."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from lanescope.app.chain import facts as chains, forms
from lanescope.app.instruction import head, state
from lanescope.app.instruction.fed import find_fed_operand
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.shared import banks
from tests.cases import for_each

MOVES = [i for i in catalog.instructions() if i.family.memory is OperandPlace.ROWS]


def _list_links(instruction: Instruction) -> list[tuple[str, str]]:
    chosen = state.make_default_state(instruction)
    return [
        (one.text, one.href)
        for one in head.list_next_pages(instruction, chosen, head.list_pictures(instruction, chosen)[-1])
    ]


@for_each("move", MOVES, ids=lambda i: i.ptx)
def test_a_chain_that_a_page_leads_to_holds(move: Instruction) -> None:
    """On /chain's own storage, rows of 144 bytes, whose 16-byte chunks never meet in a bank."""
    for _, href in _list_links(move):
        query = dict(parse_qsl(urlsplit(href).query))
        if href.startswith("/chain"):
            given, spec = forms.parse_query(query)
            found = chains.parse_chain(forms.build_request(given, spec) | {"load": given["load"]})
            assert found.match and found.load.instruction.ptx == move.ptx
            assert [cost.ways for cost in found.costs] == [1] * len(found.costs)
        if href.startswith("/banks"):
            assert query["access"] in banks.ACCESSES


def test_ldmatrix_x4_fills_a_and_x2_b_of_the_f16_product() -> None:
    """As in CUTLASS's SM80_16x8x16 with SM75_U32x4_LDSM_N for A and SM75_U32x2_LDSM_N for B."""
    for count, operand in (("x4", "a"), ("x2", "b")):
        for turned, major in (("", "K"), (".trans", "MN")):
            fed = find_fed_operand(catalog.find(f"ldmatrix.m8n8.{count}{turned}.shared.b16"))
            assert fed is not None
            assert (fed.mma.shape, fed.mma.types["a"], fed.operand, fed.major) == ("m16n8k16", "f16", operand, major)
    texts = [text for text, _ in _list_links(catalog.find("ldmatrix.m8n8.x4.shared.b16"))]
    assert texts[:4] == [
        "Step through it",
        "From shared memory to A of mma.m16n8k16",
        "A of mma.m16n8k16",
        "Bank conflicts",
    ]
