"""Storages as requests describe them: a question per kind gives the schema, the forms and their labels.

`lanescope.shared.storage` reads and checks them, because that depends on the instruction that reads the tile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlencode

from lanescope.app.kit.enumerations import make_word_enum
from lanescope.app.kit.fact import Description, Json, RequestModel, TaggedUnion
from lanescope.app.kit.memory_words import CuteText, Major, Order, SwizzledBy, SwizzleMode
from lanescope.app.kit.question import (
    Option,
    declare_question,
    fields_of,
    kind_field,
    number_field,
    options_of,
    question_field,
    text_field,
    word_field,
)
from lanescope.app.kit.question_form import Control, Words, fill_fields, form_of
from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, require_object
from lanescope.shared.storage import HINT, KEYS, UNITS
from lanescope.shared.swizzle import BY_WIDTH
from lanescope.shared.tiling import DEFAULT_ORDER, SWIZZLED_BY

KINDS = {
    "canonical": "canonical tile (CuTe, CUTLASS)",
    "rows": "rows with a pitch or a TMA box",
    "atoms": "panels, or several TMA boxes",
    "cute": "a CuTe layout",
}
ORDERS = {"": "CUTLASS's order", "mn": "M or N", "k": "K"}
WGMMA_MODES = tuple(mode.name for mode in BY_WIDTH)
Unit: Any = make_word_enum("Unit", UNITS, "What a CuTe layout counts in.")
EXAMPLE = "Sw<3,3,3> o ((8,8),(64,1)):((64,512),(1,0))"


def _declare_kind(kind: str) -> Any:
    return kind_field(kind, KEYS, "Stored as", called=KINDS)


@declare_question
class _Swizzled:
    swizzle: str = word_field(WGMMA_MODES, "Stored with swizzle", "The swizzle mode.", "none", type=SwizzleMode)
    swizzle_by: str = word_field(SWIZZLED_BY, "XOR applied to", "What the XOR takes its bits from.", type=SwizzledBy)
    base: int = number_field(0, "First byte", "The byte address of the tile.", size=8)


@declare_question
class CanonicalStorage(_Swizzled):
    """The tile of GET /smem/tile."""

    kind: str = _declare_kind("canonical")
    element_bits: int = number_field(16, "Element bits", "The instruction's, where it is left out.")
    major: str = word_field(DEFAULT_ORDER, "Major", "The request's, where it is left out.", type=Major)
    mn: int = number_field(64, "Tile M or N", "Rows of M or N.", required=True, size=8)
    k: int = number_field(64, "Tile K", "Extent of K.", required=True, size=8)
    order: str = word_field(
        ORDERS,
        "Atoms first along",
        "The dimension along which the atoms are laid first; CUTLASS's order, where it is left out.",
        "",
        called=ORDERS,
        type=Order | Literal[""],
    )


@declare_question
class _Lines(_Swizzled):
    inner: str = word_field(
        DEFAULT_ORDER,
        "Contiguous dimension",
        "The dimension that is contiguous; lines run along the other. The request's major, where it is left out.",
        type=Major,
    )


@declare_question
class AtomsStorage(_Lines):
    """Panels: line n and inner byte b are stored at base + (n div 8)·outer8_stride + (n mod 8)·line_stride + (b div
    width_bytes)·inner_stride + b mod width_bytes, then the XOR.
    """

    kind: str = _declare_kind("atoms")
    width_bytes: int = number_field(128, "Panel width, bytes", "Bytes of a panel's line.", required=True, size=8)
    outer8_stride: int = number_field(
        1024, "Stride of 8 rows, bytes", "Bytes from 8 lines to the next 8.", required=True, size=8
    )
    inner_stride: int = number_field(0, "Panel stride, bytes", "Bytes from one panel to the next.", size=8)
    line_stride: int = number_field(128, "Row stride, bytes", "width_bytes, where it is left out.", size=8)


@declare_question
class RowsStorage(_Lines):
    """Line n and inner byte b are stored at base + n·pitch_bytes + b, then the XOR."""

    kind: str = _declare_kind("rows")
    pitch_bytes: int = number_field(128, "Row pitch, bytes", "Bytes from one line to the next.", required=True, size=8)


@declare_question
class CuteStorage:
    """A CuTe layout of (mn, k)."""

    kind: str = _declare_kind("cute")
    layout: str = text_field(
        EXAMPLE,
        "CuTe layout (mn, k)",
        "A CuTe layout of (mn, k).",
        type=CuteText,
        required=True,
        examples=("Sw<3,4,3> o ((8,8),(8,2)):((8,64),(1,512))",),
        size=30,
        wide=True,
        check=parse_layout,
    )
    unit: str = word_field(UNITS, "Unit", "What the layout counts.", type=Unit)
    base: int = number_field(0, "First byte", "The byte address of the layout's first element.", size=8)


STORAGES = dict(zip(KEYS, (CanonicalStorage, AtomsStorage, RowsStorage, CuteStorage), strict=True))
OPTIONS: dict[str, Option] = {name: option for kind in STORAGES.values() for name, option in options_of(kind).items()}
# Initial fields of the verifier's form: query name → default. `kind` selects which of them are read.
STORAGE = {name: str(option.default) for name, option in OPTIONS.items() if name not in ("element_bits", "major")} | {
    "kind": "canonical",
    "swizzle": "128B",
    "base": "0x1000",
    "inner_stride": "8192",
}
# The keys of each kind that the forms have; the instruction and "read as" give the others.
USED = {kind: tuple(name for name in names if name in STORAGE) for kind, names in KEYS.items()}
Storage: TypeAlias = Annotated[
    CanonicalStorage | AtomsStorage | RowsStorage | CuteStorage,
    TaggedUnion("kind", tuple(KEYS)),
    Description("Where the program put element (mn, k)."),
]
StorageSpec: TypeAlias = Annotated[Mapping[str, object], RequestModel(Storage)]  # of an answer


def storage_field(help: str, **more: Any) -> Any:
    """Declare a storage in a body, which the engine parses."""
    return question_field(
        tuple(STORAGES.values()),
        "Storage",
        help,
        parse=lambda value, field: require_object(value, field, HINT, "bad_storage"),
        type=Storage,
        prefix="s_",
        derived=True,
        **more,
    )


def describe_storage() -> dict[str, str]:
    """Return a description of each storage field of an address: the kinds that have it, and its help."""
    out = {"s_kind": f"how the tile is stored: {join_words(tuple(KEYS), 'or')}"}
    for name in STORAGE:
        kinds = ", ".join(kind for kind, used in USED.items() if name in used)
        if kinds:
            out[f"s_{name}"] = f"{kinds}: {OPTIONS[name].help}"
    return out


@declare_question
class StorageForm:
    """The storage of a page's form: `s_kind` and the fields of that kind."""

    storage: Json = storage_field("Where the program put element (mn, k).", required=True)


def fill_storage(query: Mapping[str, str], usual: Mapping[str, str]) -> dict[str, str]:
    """Return the storage of an address, with the usual values for omitted fields."""
    defaults = {f"s_{name}": text for name, text in usual.items()}
    fields = fields_of(StorageForm, {"s_kind": query.get("s_kind") or usual["kind"]})
    sent = fill_fields(fields, query, defaults)
    return dict(usual) | {name.removeprefix("s_"): text for name, text in sent.items() if name in defaults}


def build_form(
    spec: Mapping[str, str],
    choices: Mapping[str, Words] | None = None,
    but: tuple[str, ...] = (),
    error: LayoutError | None = None,
) -> dict[str, Control]:
    """Return the controls of `s_kind` and of the fields that this kind uses, except `but`; see form_of."""
    names = [name for name in ("kind", *USED.get(spec["kind"], ())) if name not in but]
    query = {f"s_{name}": text for name, text in spec.items()}
    form = form_of(StorageForm, query, {"s_swizzle": WGMMA_MODES} | dict(choices or {}), error)
    return {f"s_{name}": form[f"s_{name}"] for name in names}


def replace_storage(query: dict[str, str], spec: dict[str, Any]) -> str:
    """Return the page's query with another storage."""
    kept = {name: value for name, value in query.items() if name != "part" and not name.startswith("s_")}
    return urlencode(
        kept | {f"s_{name}": value for name, value in spec.items() if name in ("kind", *USED[spec["kind"]])}
    )


def parse_storage(spec: dict[str, str], major: str) -> dict[str, str]:
    """Return the storage that a form's fields describe, with the keys of its kind."""
    fixed = {"major": major} if spec["kind"] == "canonical" else {}
    return {"kind": spec["kind"], **fixed, **{name: spec[name] for name in USED.get(spec["kind"], ())}}
