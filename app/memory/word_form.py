"""The word of the descriptor page: the form of its fields, the script's data, and what a refused form shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.question import Field, options_of
from lanescope.app.kit.question_form import Control, add_wrong_fields, answer_without_wrong, build_controls
from lanescope.app.memory import descriptors as memory
from lanescope.app.memory.questions import EncodeBody
from lanescope.bits import BitField
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.inputs import PATTERN
from lanescope.ptx.table.descriptors import START


def encode_fields(form: DescriptorFormat, amounts: Mapping[str, str]) -> tuple[Descriptor, LayoutError | None]:
    """Return the descriptor of the fields that a form sends, 0 where one is wrong, and the errors of those."""

    def encode(kept: Mapping[str, str]) -> Descriptor:
        return memory.parse_descriptor(memory.encode_descriptor({**kept, **form.query}).descriptor, form)

    encoded, error = answer_without_wrong(encode, {name: text for name, text in amounts.items() if text.strip()})
    return encoded or Descriptor(0, form), add_wrong_fields(error, _list_fields(form), amounts)


def _list_fields(form: DescriptorFormat) -> dict[str, Field]:
    """Return the controls of a format's fields by their amounts, the highest first."""
    declared = options_of(EncodeBody)
    codes = {mode.name: f"{mode.name} ({code})" for mode, code in form.codes.items()}
    out = {}
    for part in sorted(form.fields, key=lambda part: -part.high):
        option = replace(declared[part.amount], label=part.label, size=part.columns, numeric=not part.in_bytes)
        if part.name == form.coded:
            option = replace(option, words=tuple(codes), called=codes)
        out[part.amount] = Field(part.amount, option)
    return out


def build_amounts(
    descriptor: Descriptor, typed: Mapping[str, str] = MappingProxyType({}), error: LayoutError | None = None
) -> list[tuple[BitField, Control]]:
    """Return each field of a descriptor with its control: the amount, or what was typed of a refused form."""
    facts = memory.build_decoded(descriptor)
    fields = _list_fields(descriptor.format)
    shown = {name: str(getattr(facts, name)) for name in fields} | dict(typed)
    controls = build_controls(fields, shown, error=error)
    return [(descriptor.format.get_field(name), control) for name, control in controls.items()]


def build_refused(standing: Descriptor, typed: Mapping[str, str], error: LayoutError) -> dict[str, Any]:
    """Return the template's variables that differ for a wrong word, or for wrong fields: both as typed, and "?" for the
    bits that are not known.
    """
    wrong_word = "word" in typed
    shown = dict.fromkeys(_list_fields(standing.format), "") if wrong_word else typed
    amounts = build_amounts(standing, shown, error)
    unknown = [part for part, control in amounts if wrong_word or control.error]
    hidden = sum(part.most << part.low for part in unknown)
    digits = "".join(
        "?" if hidden >> 4 * at & 15 else digit for at, digit in zip(range(15, -1, -1), str(standing)[2:], strict=True)
    )
    return {
        "refused": True,
        "word_error": error if wrong_word else None,
        "typed": typed["word"] if wrong_word else f"0x{digits}",
        "amounts": amounts,
        "unknown": {part.name for part in unknown},
        "fields_data": encode_json(build_script_data(standing, hidden)).decode(),
    }


def build_script_data(descriptor: Descriptor, unknown: int = 0) -> dict[str, Any]:
    """Return the script's data: the word, its format's row and API query, the field of the start address, and the
    spelling of numbers. unknown: the bits of the word that are not known.
    """
    form = descriptor.format
    query = f"?{urlencode(form.query)}" if form.query else ""
    return {
        "word": str(descriptor),
        "unknown": hex(unknown),
        "format": form.name,
        "query": query,
        "target": form.target,
        "start": START.name,
        "fields": list_form_fields(form),
        "codes": {mode.name: code for mode, code in form.codes.items()},
        "number": PATTERN,
    }


def list_form_fields(form: DescriptorFormat) -> list[dict[str, Any]]:
    """Return a format's fields with their labels."""
    return [{"name": f.name, "low": f.low, "high": f.high, "unit": f.unit, "label": f.label} for f in form.fields]
