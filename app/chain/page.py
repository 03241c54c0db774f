"""/chain: whether a load supplies an operand, or a store writes it to its storage."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope import find
from lanescope.app.banks.draw import draw_banks
from lanescope.app.chain import facts as chains, forms
from lanescope.app.chain.draw import draw_lanes, draw_operand, draw_rows
from lanescope.app.chain.facts import LoadChainBody
from lanescope.app.kit import links
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question import fields_of, labels_of
from lanescope.app.kit.question_form import add_wrong_fields, answer_without_wrong, find_refused, require_values
from lanescope.app.memory.storage import USED
from lanescope.errors import LayoutError
from lanescope.shared import chain

LABELS = labels_of(LoadChainBody)
router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/chain")
def chain_page(request: Request) -> Response:
    """Show shared memory → ldmatrix → MMA operand, or accumulator → stmatrix → shared memory."""
    fields, spec = forms.parse_query(request.query_params)
    context: dict[str, Any] = {"given": fields, "labels": LABELS, "error": None}
    try:
        require_values(forms.FIELDS, fields)
        context |= _build_context(fields, spec)
    except LayoutError as error:
        sent = {**fields, **{f"s_{name}": text for name, text in spec.items()}}
        declared = fields_of(LoadChainBody, sent)
        context["error"] = wrong = add_wrong_fields(error, declared, sent) or error
        refused = {find_refused(declared, one) for one in wrong.every}
        others = {name: text for name, text in request.query_params.items() if name not in refused}
        result, _ = answer_without_wrong(_answer_query, others, partial(find_refused, declared))
        context |= (result or {}) | {"loads": []}  # those of the form are not known
    context["form"] = forms.build_form(fields, spec, _list_loads(fields["load"], context), context["error"])
    return render_page(request, "chain/page.html", context)


def _answer_query(query: dict[str, str]) -> dict[str, Any]:
    return _build_context(*forms.parse_query(query))


def _list_loads(chosen: str, context: dict[str, Any]) -> dict[str, str]:
    """Return the loads of the form, each with its text; those that fit the storage have a tick."""
    loads = context.get("loads") or [chosen] * bool(chosen)
    best = context.get("best", ())
    return {"": "Best fit"} | {
        load: load.replace(".sync.aligned", "") + (" ✓" if load in best else "") for load in loads
    }


def _build_context(fields: dict[str, str], spec: dict[str, str]) -> dict[str, Any]:
    request = forms.build_request(fields, spec)
    fits, best = chains.find_loads(request)
    request["load"] = fields["load"] = fields["load"] or (best or fits)[0]
    found = chains.parse_chain(request)
    fields["load"] = found.load.instruction.ptx  # as the form's menu spells it
    same = {**fields, **{f"s_{name}": spec[name] for name in ("kind", *USED[spec["kind"]]) if name != "inner"}}
    operand, facts = found.want.operand, chains.build_chain(found)
    mma = find(fields["mma"])
    access = found.load.instruction.ptx.split(".shared")[0].replace(".sync.aligned.m8n8", "").replace(".trans", "")
    row = [str(at) if at >= 0 else "-" for at in found.lane_addresses[0, 0].tolist()]
    further = {
        "instruction": links.link_instruction(mma, mma.operand(fields["operand"])),
        "banks": links.link_banks({"access": access, "address": ",".join(row)}),
        "steps": "" if found.store else links.link_steps(mma, _build_steps_query(same)),
        "moves": links.link_steps(found.load.instruction, _build_moves_query(same)),
        "deliver": _link_delivery(fields, spec, found),
        "tile": links.link_smem(_build_tile_query(spec, fields["major"])) if spec["kind"] == "canonical" else "",
    }
    return {
        "next": further,
        "converted": operand is not mma.operand(fields["operand"]),
        "loads": fits,
        "best": best,
        "store": found.store,
        "facts": facts,
        "links": {load: links.link_chain(same | {"load": load}) for load in facts.instead},
        "as_json": encode_json(request).decode(),
        "operand": operand,
        "lane_rows": found.lane_addresses.tolist(),
        "starts": found.spread_over_lanes(found.starts).tolist(),
        "operand_svg": draw_operand(found),
        "lanes_svg": draw_lanes(found),
        "rows_svg": draw_rows(found) if found.match else "",
        "banks_svg": draw_banks(found.costs) if found.costs else "",
    }


def _link_delivery(fields: dict[str, str], spec: dict[str, str], chain_result: chain.Chain) -> str:
    """Link to the search for loads and moves to the same operand; "" if it does not support the storage."""
    query = {"instruction": fields["mma"], "operand": fields["operand"]}
    if chain_result.store or spec["kind"] not in ("rows", "cute") or spec.get("unit", "elements") != "elements":
        return ""
    if spec["kind"] == "cute":
        return f"/deliver?{urlencode(query | {'source': 'layout', 'layout': spec['layout']})}"
    stored = {name: spec[name] for name in ("pitch_bytes", "swizzle") if spec.get(name)}
    return f"/deliver?{urlencode(query | {'source': 'rows' if chain_result.major == 'K' else 'columns'} | stored)}"


def _build_steps_query(same: dict[str, str]) -> dict[str, str]:
    """Return the stepper's query for the storage and load of one operand."""
    letter = same["operand"]
    renamed = {"major": f"major_{letter}", "load": f"load_{letter}"}
    return {renamed.get(name, name): value for name, value in same.items() if value and name != "mma"}


def _build_moves_query(same: dict[str, str]) -> dict[str, str]:
    """Return the query of the load's or store's own steps: a row of S is a line of the storage."""
    return {name: value for name, value in same.items() if value and name.startswith("s_")}


def _build_tile_query(spec: dict[str, str], major: str) -> dict[str, str]:
    """Return the tile page's query for a canonical storage."""
    kept = {name: spec[name] for name in ("swizzle", "mn", "k", "order", "base") if spec.get(name)}
    return kept | {"major": major} | ({"element_bits": spec["element_bits"]} if spec.get("element_bits") else {})
