"""What the modules of banks, bits and the catalogue answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lanescope import bits
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, differences
from lanescope.ptx.table.descriptors import FORMATS
from lanescope.shared import banks
from lanescope.shared.swizzle import Swizzle
from tests.asked import F16
from tests.calls import Call, parts, zlib_of
from tests.held import attempt, said, whole

# banks ----------------------------------------------------------------------------------------------------------------


def of_banks() -> Iterator[Call]:
    for name, kind in banks.ACCESSES.items():
        yield name, lambda kind=kind: kind
        for reach, pitch in product(banks.REACHES, (0, 36, 128, 144, 65536, 65537)):
            yield f"{name} {reach} {pitch}", lambda n=name, r=reach, p=pitch: [
                (one := banks.rows(banks.access(n), r, p)).given,
                one.text,
                one.finest,
                banks.REACHES[r].text,
                *(attempt(lambda one=one, x=x: brief(one.cost(x))) for x in (Swizzle(0, 4, 3), Swizzle(3, 4, 3),
                Swizzle(2, 2, 3))),
            ]  # fmt: skip
        many = [16 * (lane * lane % 40) for lane in range(kind.lanes)]
        for given in (
            many, [*many[:-1], None], [None] * 32, [*map(str, many)], [*many[:-1], 2**32], [*many[:-1], 2**32 - 16],
            [*many[:-1], 8], [*many[:-1], "x"], [*many[:-1], 1.5], many[:7], [*many, *[0] * (32 - len(many))], "0",
            None,
            [*many[:-1], True], [*many[:-1], -16], [*many[:-1], " 0x20 "],
        ):  # fmt: skip
            yield f"{name} at {given}"[:90], lambda kind=kind, given=given: [
                banks.at(kind, given).text, banks.at(kind, given).reach,
                brief(banks.cost(kind, given)), banks.cost(kind, given)
            ]  # fmt: skip
    for text in ("", "1, 2,3 - null", "1 x", "1,,2", "0x10 0b11", "9" * 40, "1 " * 3000, "-1", "1 " * 2048):
        yield f"addresses {text[:30]}", partial(banks.parse, text)
    for name in ("x", "", None, "ld.shared.b256", "ldmatrix.x3"):
        yield f"access {name}", partial(banks.access, name)
    yield "pattern x", lambda: banks.rows(banks.access("ld.shared.b32"), "x" * 60, 128)
    yield "first and last bank", lambda: banks.banks_of(np.arange(0, 300, 7), 16)
    yield "cute", lambda: banks.cute(Swizzle(3, 4, 2))


def brief(one: banks.Cost) -> list[int]:
    return [one.wavefronts, one.ideal, one.ways, len(one.phases)]


# words and fields -----------------------------------------------------------------------------------------------------


def of_bits() -> Iterator[Call]:
    own = bits.Field("x", 3, 10, 4, columns=2)
    odd = bits.Field("flag", 63, 63, title="Flag", of="rows")
    rows = bits.Field("rows", 0, 4, 8, of="rows")
    for one in (*(f for form in FORMATS for f in form.fields), own, odd, rows):
        names = [n for n in one.__dataclass_fields__ if n not in ("meaning", "title") or one is own]
        yield f"field {one.name}", lambda one=one, names=names: [
            *parts(one), *(f"{n} {getattr(one, n)}" for n in names)
        ]  # fmt: skip
        for value in (-1, 0, 1, one.most, one.most + 1, 7):
            yield f"put {value} into {one.name}", lambda one=one, v=value: [hex(one.put(w, v)) for w in (0, 2**64 - 1)]
        for value in (-one.unit, 0, one.unit, one.unit * one.most, one.unit * (one.most + 1), one.unit + 1):
            yield f"{value} of {one.name}", lambda one=one, v=value: [attempt(lambda: one.encode(v)), one.cut(v)]
    yield "gaps", lambda: [bits.gaps((own, odd)), bits.gaps((rows,), 8), bits.gaps((rows,), 5), bits.gaps((), 3)]
    yield "words", lambda: [bits.hex_word(0), bits.hex_word(2**63 + 10)]


def overlapping() -> str:
    """What two fields of one bit answer."""
    try:
        return str(bits.gaps((bits.Field("a", 0, 3), bits.Field("b", 3, 5))))
    except ValueError as error:
        return str(error)


# the catalogue --------------------------------------------------------------------------------------------------------


def of_catalog() -> Iterator[Call]:
    yield "families", lambda: [catalog.FAMILY_NAMES, catalog.SPACES, catalog.TARGETS, len(catalog.instructions())]
    yield "assembler", lambda: [catalog.assembler(), catalog.assembler_release()]
    yield "what ptxas takes", lambda: zlib_of(str([whole(catalog.assembled(i)) for i in catalog.instructions()]))
    yield "what ptxas makes", lambda: [
        len(catalog.compiled()), zlib_of(str([(k, [(one.targets, one.runs, one.total) for one in v])
        for k, v in catalog.compiled().items()])),
    ]  # fmt: skip
    yield "what has run", lambda: zlib_of(str([whole(catalog.runs(i)) for i in catalog.instructions()[::7]]))
    for size in ((16, 8, 16), (64, 64, 16), (16, 16, 16), (1, 2, 3), (8, 8, 4)):
        yield f"products {size}", lambda size=size: [i.ptx for i in catalog.products(*size)]
    for text in (
        F16.upper(), f'asm volatile("{F16} ' + '{%0}");', f"@p  mma . sync . aligned . {F16[4:]}", "mma.m16n8k17.row",
        "wgmma.m64n64k16.f32.f16.f16", "wgmma.m64n64k16.f32.f16.f17", "wgmma.mma_async.m64n64k16.f32.f16", "xmma.sync",
        "mma", "", "ldmatrix.m8n8.x4.shared::cta.b16", "ldmatrix.m8n8.x4.b16",
        "ldmatrix.shared.m8n8.x4.shared::cta.b16",
        "ldmatrix.x4.m8n8.trans.shared.b16", "stmatrix.m8n8.x2.b16", "wmma.load.a.row.m16n16k16.shared.f16",
        "wmma.load.a.row.m16n16k16.global.f16", "wmma.load.a.row.m16n16k16.f16",
        "ldmatrix.m8n16.x2.shared.b8x16.b6x16_p32",
        "mma.m16n8k16.kind::f8f6f4.sp::ordered_metadata.row.col.f32.e4m3.e4m3.f32",
        "mma.sync.aligned.kind::f8f6f4.sp::ordered_metadata.m16n8k64.row.col.f32.e4m3.e4m3.f32",
        "mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4x.f32.e2m1.e2m1.f32.ue4m3", "a.mma.b", "1mma.m8",
        "tcgen05.mma.cta_group::1.kind::f16:", "mma.m16n8k16" + ".f16" * 61, "mma.m16n8k16" + ".f16" * 62,
        "wmma.store.d.row.m16n16k16.shared::cta.f32", "min.NaN.f16", "mma.sync.satfinite.m8n8k16.row.col.s32.s8.s8.s32",
    ):  # fmt: skip
        yield f"known {text[:90]}", lambda text=text: [
            catalog.opcode_of(text)[:300], attempt(lambda: whole(catalog.find(text))), whole(catalog.known(text)),
            attempt(lambda: list(refused(text))),
        ]  # fmt: skip
    yield "a name that is none", lambda: catalog.named(5, "from")
    yield "a name too long", lambda: catalog.named("x" * 70000, "from")
    yield "words", lambda: sorted(catalog.qualifiers())
    for i in (i for i in catalog.instructions() if i.family.name == "wmma" and i.family.multiplies):
        if i.shape == "m16n16k16" and not i.modifiers:
            for letter, way in product("abcd", ("row", "col", "x")):
                yield f"access {letter} {way} {i.ptx}", partial(catalog.access, i, letter, way)


def refused(text: str) -> tuple[str, ...]:
    try:
        return (catalog.find(text).listed_ptx,)
    except LayoutError as error:
        return error.nearest


def of_differences() -> Iterator[Call]:
    differences.rows.cache_clear()
    differences.narrow_strides.cache_clear()
    for row in differences.rows():
        yield row.key, lambda row=row: [row.document, *(said(getattr(row, n)) for n in row.__dataclass_fields__)]


def of_errors() -> Iterator[Call]:
    one = LayoutError("a", "Message.", "Hint.", "field", ("near",))

    def shown(error: LayoutError) -> list[Any]:
        return [str(error), error.code, error.message, error.hint, error.field, error.nearest]

    yield (
        "an error",
        lambda: [shown(one), shown(one.at("other")), shown(one.at("other", "b")), shown(LayoutError("", "M."))],
    )
