"""Instruction descriptors: bodies."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, create_model

from lanescope.app.kit.enumerations import KindName
from lanescope.app.kit.schemas import ClosedModel, Number
from lanescope.blackwell.kind import KindField
from lanescope.blackwell.zeromask import FIELDS
from lanescope.ptx.table.kinds import KINDS


def _list_parts() -> dict[str, list[KindField]]:
    """Field name → that field in every kind that has it."""
    out: dict[str, list[KindField]] = {}
    for kind in KINDS:
        for part in kind.parts:
            out.setdefault(part.name, []).append(part)
    return out


def _make_field(parts: list[KindField]) -> Any:
    """A field of the wish: its words where it is given by name, a number or a flag where it is not."""
    says = f"{parts[0].field.title}: {parts[0].field.meaning}."
    if parts[0].chosen:
        words = sorted({word for part in parts for word in part.codes})
        return (Annotated[str | int, Field(description=f"{says} {', '.join(words)}.", json_schema_extra={})], "")
    return (Annotated[Number | bool, Field(description=says)], ... if parts[0].name in ("m", "n") else 0)


class _Issued(ClosedModel):
    kind: KindName = KindName("f16")
    cta_group: Number = Field(default=1, description="1 or 2: how the MMA is issued; without it, any legal form.")
    ws: Number | bool = Field(default=0, description="1: with .ws.")


IdescBody = create_model(
    "IdescBody",
    __base__=_Issued,
    __doc__="A product: its types, sizes and majors. What a kind does not have is refused.",
    **{name: _make_field(parts) for name, parts in _list_parts().items()},
)


class _Product(ClosedModel):
    m: Number = 128
    n: Number = 128


MaskBody = create_model(  # type: ignore[call-overload]
    "MaskBody",
    __base__=_Product,
    __doc__="The fields of a zero-column mask descriptor, and M and N of the product.",
    **{one.name: (Annotated[Number, Field(description=one.meaning)], 0) for one in FIELDS},
)
