"""Verdicts: the bytes that a descriptor reads, whether the data are stored there, and why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from lanescope.app.kit.enumerations import Word64
from lanescope.app.kit.fact import (
    Description,
    IntegerArray,
    Json,
    Numbers,
    RequestModel,
    copy_fact,
    fact,
    make_optional_field,
)
from lanescope.app.kit.target import parse_target
from lanescope.app.memory.descriptors import (
    DescriptorWarning,
    build_warnings,
    find_format,
    get_mode_name,
    parse_descriptor,
    parse_with_notes,
)
from lanescope.app.memory.facts import MAJORS
from lanescope.app.memory.questions import Slice
from lanescope.app.memory.storage import StorageSpec
from lanescope.app.memory.tile_descriptors import DescribedTile, describe_tile
from lanescope.blackwell import idesc, umma
from lanescope.blackwell.idesc import IdescWord
from lanescope.descriptor import case, matrix as desc
from lanescope.descriptor.fits import find_fitting_tiles
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.descriptor.notices import find_outside_reads, find_repeated_reads, find_uncertain_reads, find_warnings
from lanescope.descriptor.verify import Verdict, verify
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer, require_object
from lanescope.names import lookup
from lanescope.ptx.architectures import get_architecture, require_instruction
from lanescope.shared.storage import HINT as STORAGE_HINT, Storage as StoredTile, parse_operand_storage, storage

SEEN_BY = ("instruction", "operand", "major")


@fact
class Reads:
    """The byte address that the hardware reads for every element."""

    descriptor: Word64
    address: Annotated[Numbers, IntegerArray(2, "[row][k], absolute byte addresses; row is M for a, N for b.")]
    first: int
    last: int
    unused: Annotated[dict[str, str], Description("Fields that are not read, and why.")]
    bank_ways: int
    warnings: Annotated[list[DescriptorWarning], Description("Reads where no block has shared memory.")]


@fact
class ReadMismatch:
    """The first element that is read from another byte address than it was stored at."""

    row: int
    k: int
    read: int
    expected: int


@fact
class Change:
    """The encoded values of a field, before and after a repair."""

    from_: int
    to: int


@fact
class Fix:
    """A descriptor that verifies, and the fields in which it differs."""

    descriptor: Word64
    changes: dict[str, Change]


@fact
class Diagnosis:
    """A named cause; the true one comes first."""

    code: Annotated[str, Description(examples=("start_wrong",), limits={"pattern": "^[a-z0-9_]+$"})]
    message: str
    fix: Fix | None
    storage: Annotated[
        StorageSpec | None,
        Description("How the tile would have to be stored instead, where the data and not the word are at fault."),
    ]


@fact
class Fit:
    """A standard tile of which the word reads a slice."""

    storage: StorageSpec
    slice: Annotated[Mapping[str, int], RequestModel(Slice)]
    text: str


@fact
class Verified:
    """Whether the descriptor reads the tile where the program stored it; "unknown" without a storage."""

    descriptor: Word64
    verdict: Literal["match", "mismatch", "unknown"]
    matched: int | None
    total: int
    first_mismatch: ReadMismatch | None
    malformed: Annotated[str, Description("Illegal bits of its format, whatever it reads; empty if there are none.")]
    diagnoses: list[Diagnosis]
    fits: Annotated[
        list[Fit] | None, Description("With the verdict unknown: the tiles whose slices this word reads.")
    ] = make_optional_field()
    warnings: list[DescriptorWarning]
    caution: Annotated[
        tuple[str, ...],
        Description("Beside a match: reserved bits that are set, and addresses that no source states. Else empty."),
    ]
    described: Annotated[
        list[DescribedTile] | None,
        Description("Of a CuTe layout that this word does not read: which descriptor does, or why none."),
    ] = make_optional_field()


def parse_view(body: Json) -> tuple[str, View]:
    """Return the PTX text and the view from "instruction", "operand" and "major"; for tcgen05 "idesc" gives M, N,
    types and majors.
    """
    if find_format(body).by_idesc:
        by = umma.parse_mma_opcode(body.get("instruction"))
        operand = parse_choice(body.get("operand", "a"), "operand", ("a", "b"), "bad_operand")
        major = body.get("major") or ""
        major = major and parse_choice(major, "major", MAJORS, "bad_major")
        if not body.get("idesc"):
            hint = "The instruction descriptor contains M, N and the types; /idesc builds it."
            raise LayoutError("bad_idesc", "idesc is missing.", hint, "idesc")
        return by.ptx, umma.make_view(
            by, IdescWord(idesc.parse_idesc_word(body["idesc"], "idesc"), by.kind, parse_target(body)), operand, major
        )
    if body.get("idesc", "") != "":
        raise LayoutError("bad_idesc", "wgmma has no idesc.", "Leave it out, or set format: tcgen05.", "idesc")
    instruction = lookup.parse_instruction(body.get("instruction"), "instruction")
    operand = parse_choice(body.get("operand", "a"), "operand", ("a", "b"), "bad_operand")
    major = parse_choice(body.get("major", "K"), "major", MAJORS, "bad_major")
    return instruction.ptx, desc.view(instruction, operand, major)


def _list_view_keys(body: Json) -> tuple[str, ...]:
    """Return the keys that determine how the descriptor is read; format and idesc only if the request has a format."""
    return (*SEEN_BY, "format", "idesc") if {"format", "idesc"} & set(body) else SEEN_BY


def build_reads(body: Json) -> Reads:
    """Return the absolute byte address that the hardware reads for every element."""
    check_keys(body, ("descriptor", *_list_view_keys(body), "target"))
    descriptor = parse_descriptor(body.get("descriptor"), find_format(body))
    _, seen = parse_view(body)
    address = desc.reads(descriptor, seen)
    return Reads(
        descriptor=str(descriptor),
        address=address,
        first=int(address.min()),
        last=int(address.max()) + max(seen.bits // 8, 1) - 1,
        unused=desc.find_unread_fields(descriptor.mode, seen),
        bank_ways=desc.count_bank_ways(address, seen),
        warnings=build_warnings(
            find_uncertain_reads(descriptor, seen)
            + find_repeated_reads(descriptor, seen)
            + find_outside_reads(descriptor, seen)
        ),
    )


def verify_request(body: Json) -> tuple[Verdict | None, View, Descriptor]:
    """Verify a request; None if it lacks the storage of the tile. LayoutError names the wrong field."""
    check_keys(body, ("descriptor", *_list_view_keys(body), "storage", "slice", "target"))
    descriptor, written = parse_with_notes(body.get("descriptor"), find_format(body))
    ptx, seen = parse_view(body)
    target = parse_target(body)
    require_instruction(lookup.find(ptx), target)
    part = require_object(body.get("slice", {}), "slice", "Give {'mn': 0, 'k': 0}.", "bad_slice")
    check_keys(part, ("mn", "k"), "slice")
    mn, k = (parse_integer(part.get(name, 0), f"slice.{name}", 0, desc.MOST_SHARED * 8 - 1) for name in ("mn", "k"))
    if "storage" not in body:
        return None, seen, descriptor
    spec = require_object(body["storage"], "storage", STORAGE_HINT, "bad_storage")
    stored = parse_operand_storage(spec, seen)
    computed = "<<" in str(body["descriptor"]) and not written
    verdict = verify(descriptor, seen, stored, mn=mn, k=k, notes=written, computed=computed)
    return replace(verdict, caution=(*verdict.caution, *_list_size_cautions(stored, target))), seen, descriptor


def _list_size_cautions(stored: StoredTile, target: str) -> tuple[str, ...]:
    """Return a warning if the tile exceeds the shared memory of a block on the target."""
    limit = get_architecture(target).block_shared_memory if target else None
    if not (limit and stored.tile) or stored.tile.bytes <= limit:
        return ()
    return (f"The tile takes {stored.tile.bytes} bytes of shared memory; a block on {target} has at most {limit}.",)


def build_verified(body: Json) -> Verified:
    """Verify whether the descriptor reads the tile where the program stored it; with diagnoses and a repair if it
    does not.
    """
    result, seen, descriptor = verify_request(body)
    if get_mode_name(descriptor) is None:
        twice, plain, beyond = [], [], []
    else:
        twice, beyond = find_repeated_reads(descriptor, seen), find_outside_reads(descriptor, seen)
        plain = [notice for notice in find_warnings(descriptor) if not (twice and notice.code == "overlap")]
        plain += find_uncertain_reads(descriptor, seen)
    return Verified(
        descriptor=str(descriptor),
        verdict="unknown" if result is None else "match" if result.match else "mismatch",
        matched=result.matched if result else None,
        total=seen.rows * seen.k,
        first_mismatch=copy_fact(ReadMismatch, result.first_mismatch) if result and result.first_mismatch else None,
        malformed=result.malformed if result else "",
        diagnoses=[build_diagnosis(found) for found in result.diagnoses] if result else [],
        fits=None if result else _find_fits(descriptor, seen),
        warnings=build_warnings([*plain, *twice, *beyond]),
        caution=result.caution if result else (),
        described=describe_tile(body["storage"], seen.bits) if _is_undescribed(result, body, seen) else None,
    )


def _is_undescribed(result: Verdict | None, body: Json, seen: View) -> bool:
    """Return whether the word of a request does not read a CuTe layout, so that another word might."""
    return bool(result and not result.match and body["storage"].get("kind") == "cute" and not seen.form.by_idesc)


def _find_fits(descriptor: Descriptor, seen: View) -> list[Fit]:
    return [
        Fit(storage=spec, slice=part, text=storage(spec, seen.bits, seen.major, seen.form).text)
        for spec, part in find_fitting_tiles(descriptor, seen)
    ]


def build_diagnosis(diagnosis: case.Diagnosis) -> Diagnosis:
    """Return a diagnosis with its repair and, if the data are at fault, how they would have to be stored."""
    changed = {name: Change(from_=had, to=want) for name, (had, want) in diagnosis.changes.items()}
    fix = Fix(descriptor=str(diagnosis.fix), changes=changed) if diagnosis.fix else None
    return copy_fact(Diagnosis, diagnosis, fix=fix)
