"""What the descriptor page shows: fields, warnings, and the verification that its address asks for. No framework."""

from __future__ import annotations

from math import lcm
from typing import Any
from urllib.parse import urlencode

from app.kit.encode import dumps
from app.memory import descriptors as memory
from app.memory.draw import verdict_svg
from app.memory.storage import KINDS, ORDERS, STORAGE, USED, WORDS, storage_of, stored_so
from app.memory.tile import product
from layouts import descriptor as desc
from layouts.descriptor import Descriptor
from layouts.errors import LayoutError
from layouts.format import Format
from layouts.reading import PATTERN, number
from layouts.storage import storage
from layouts.swizzle import mode
from layouts.tiling import Tile

VIEW = {"instruction": memory.FIXED, "operand": "a", "major": "K", "slice_mn": "0", "slice_k": "0"}


def page_context(descriptor: Descriptor, query: dict[str, str]) -> dict[str, Any]:
    """Everything the editor shows: fields, warnings, and the verification the query asks for."""
    view = {name: query.get(name, default) for name, default in VIEW.items()}
    spec = _form(view, query)
    request: dict[str, Any] = {
        "descriptor": str(descriptor),
        **{name: view[name] for name in ("instruction", "operand", "major")},
        "storage": storage_of(spec, view["major"]),
        "slice": {"mn": view["slice_mn"], "k": view["slice_k"]},
    }
    context: dict[str, Any] = {
        "descriptor": descriptor,
        "facts": memory.descriptor_facts(descriptor),
        "bits": [[descriptor.word >> n & 1, descriptor.format.field_at(n)] for n in range(63, -1, -1)],
        "view": view,
        "storage": spec,
        "used": USED,
        "orders": ORDERS,
        "kinds": KINDS,
        "storage_words": WORDS,
        "word_error": None,
        "typed": str(descriptor),
        "query": urlencode(_of_page(query)),
        "fields_data": dumps(_script_data(descriptor.format)).decode(),
        "error": None,
        "compare": None,
    }
    try:
        context |= _verified(descriptor, request, query)
    except LayoutError as error:
        context |= {"error": error, "unused": {}}
    try:
        context |= _compared(descriptor, query.get("compare", ""))
    except LayoutError as error:
        context["compare_error"] = error
    return context


def _form(view: dict[str, str], query: dict[str, str]) -> dict[str, str]:
    """The storage the form says; what it leaves out fits the instruction, or the storage's other fields."""
    usual = (
        STORAGE
        | fitting(view, query)
        | {"inner": view["major"], "line_stride": query.get("s_width_bytes", STORAGE["width_bytes"])}
    )
    return {name: query.get(f"s_{name}", default) for name, default in usual.items()}


def _of_page(query: dict[str, str]) -> dict[str, str]:
    """The query of the whole page, where a script asked for a part of it."""
    return {name: value for name, value in query.items() if name != "part"}


def _verified(descriptor: Descriptor, request: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
    """The verdict, its pictures, and where it leads: the tile's own word, the next K step, a whole product;
    LayoutError as a verification.
    """
    result, seen, _ = memory.verdict_of(request)
    assert result is not None, "the form says a storage"
    stored = storage(request["storage"], seen.bits, seen.major)
    mn, k = (number(at, name) for name, at in request["slice"].items())
    next_k = k + seen.k if stored.tile else k
    return {
        "result": result,
        "seen": seen,
        "pictures": verdict_svg(result),
        "unused": desc.inert(descriptor, seen),
        "beyond": desc.repeated(descriptor, seen) + desc.outside(descriptor, seen),
        "ways": desc.bank_ways(result.read, seen),
        "otherwise": [stored_so(query, found.storage) if found.storage else "" for found in result.diagnoses],
        "command": _command(request),
        "stored": stored.text,
        "canonical": _slice(stored.tile, mn, k, seen.k),
        "whole": product(request, stored.tile, mn, k),
        "next": {"k": next_k, "word": _slice(stored.tile, mn, next_k, seen.k)} if stored.tile else None,
        "next_query": urlencode({**_of_page(query), "slice_k": next_k}),
    }


def _compared(descriptor: Descriptor, word: str) -> dict[str, Any]:
    """Another word beside this one, and the fields in which they differ; nothing where none is given."""
    if not word:
        return {}
    other = memory.parse_descriptor(word)
    differ = {f.name for f in descriptor.format.fields if f.get(other.word) != f.get(descriptor.word)}
    return {"compare": {"word": str(other), "facts": memory.descriptor_facts(other), "differ": differ}}


def fitting(view: dict[str, str], query: dict[str, str]) -> dict[str, str]:
    """The default sizes of a canonical tile: what the instruction reads, in whole atoms. Empty where the view is not
    legal.
    """
    try:
        _, seen = memory.seen_by(view)
        mn, k = mode(query.get("s_swizzle", STORAGE["swizzle"])).atom(seen.bits, seen.major)
    except LayoutError:
        return {}
    return {"mn": str(-(-max(seen.rows, 64) // mn) * mn), "k": str(lcm(k, seen.k))}


def _script_data(form: Format) -> dict[str, Any]:
    """What the script needs: the format's row, the field that holds the start, and how numbers are spelled."""
    return {"format": form.name, "start": desc.START.name, "fields": fields_of(form), "number": PATTERN}


def fields_of(form: Format) -> list[dict[str, Any]]:
    """A format's fields and what the form calls them."""
    return [{"name": f.name, "low": f.low, "high": f.high, "unit": f.unit, "label": f.label} for f in form.fields]


def _slice(tile: Tile | None, mn: int, k: int, reach: int) -> str | None:
    """The descriptor of a slice, None where none can begin there."""
    try:
        return str(tile.descriptor(mn, k, reach)) if tile else None
    except LayoutError:
        return None


def _command(request: dict[str, Any]) -> str:
    """The same verification in a shell."""
    spec = " ".join(f"--storage '{name}={value}'" for name, value in request["storage"].items())
    part = "".join(f" --slice-{name} {value}" for name, value in request["slice"].items() if str(value) != "0")
    return (
        f"lanescope descriptor verify {request['descriptor']} --instruction {request['instruction']} --operand"
        f" {request['operand']} --major {request['major']} {spec}{part}"
    )
