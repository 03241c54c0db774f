"""What the API and /tmem/epilogue say about D's way from tensor memory to shared or global memory. No framework."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from lanescope.app.kit.fact import Integers, Json, Numbers, Says, fact, sometimes
from lanescope.app.tmem import facts
from lanescope.blackwell import epilogue, idesc, tmem
from lanescope.blackwell.epilogue import ROWS, STORED, Epilogue
from lanescope.errors import LayoutError
from lanescope.reading import asked, choice, keys, number
from lanescope.render import epilogue as code

ELEMENTS = ("bf16", "f16", "f32")
# parameter → (the words it may be, none for text; what it is; its default).
ASKED: dict[str, tuple[tuple[str, ...], str, str]] = {
    "kind": (idesc.NAMES, "The kind of the MMA.", "f16"),
    "cta_group": (("1", "2"), "CTAs that issue it together.", "1"),
    "ws": (("0", "1"), "1: with .ws.", "0"),
    "m": ((), "Rows of D; of both CTAs with cta_group 2.", "128"),
    "n": ((), "Columns of D.", "256"),
    "d": (("f32", "f16"), "The type of D: f16 takes the low half of a column.", "f32"),
    "access": ((), "The load of every warp.", "tcgen05.ld.16x256b.x4"),
    "element": (ELEMENTS, "The type that is stored.", "bf16"),
    "stored": (STORED, "How D lies in shared memory.", "128B"),
    "warp": ((), "The warp whose thread is looked at.", "0"),
    "thread": ((), "The thread of that warp.", "5"),
}
EXAMPLES: tuple[tuple[str, dict[str, str]], ...] = (
    ("16x256b → stmatrix", {}),
    ("32x32b → rows of global memory", {"access": "tcgen05.ld.32x32b.x32"}),
    ("f16 D, packed → stmatrix", {"d": "f16", "element": "f16", "access": "tcgen05.ld.16x128b.x8.pack::16b"}),
    ("M = 64", {"m": "64", "n": "128"}),
    ("A pair, M = 128", {"cta_group": "2", "n": "128"}),
    ("Whole rows in shared memory", {"stored": ROWS, "n": "64"}),
)


@fact
class ToShared:
    """stmatrix into one storage of D: instructions of the CTA, wavefronts, the least possible."""

    stored: str
    instructions: int
    wavefronts: int
    ideal: int


@fact
class TmemEpilogue:
    """What the loads of D give each thread, and what storing it costs."""

    id: Annotated[str, Says("PTX's letter of D's layout.", ("D",))]
    access: str
    loads: Annotated[int, Says("Loads of all four warps.")]
    registers: Annotated[int, Says("Of one load.")]
    matrices: Annotated[int, Says("8 × 8 matrices of 16 bits that a load gives as stmatrix takes them; 0: none.")]
    row: Annotated[
        Numbers, Integers(2, "[thread of the CTA][value] after each warp's first load; −1 where D has none.")
    ]
    col: Annotated[Numbers, Integers(2, "[thread of the CTA][value] after each warp's first load.")]
    fitting: Annotated[str, Says("A load whose registers stmatrix stores as they are.")]
    store_bytes: Annotated[int, Says("Bytes that a thread stores to a row of global memory at once.")]
    requests: Annotated[int, Says("Stores of a thread for one load.")]
    sectors: Annotated[int, Says("Sectors of 32 bytes that each of a warp's stores touches.")]
    evidence: str
    to_shared: Annotated[list[ToShared] | None, Says("Left out where stmatrix cannot take the registers.")] = (
        sometimes()
    )


def made_of(given: Json) -> tuple[Epilogue, dict[str, str]]:
    """The epilogue of a request and its words; LayoutError names the wrong field."""
    keys(given, ASKED)
    values = {name: str(asked(given, name, usual)) for name, (_, _, usual) in ASKED.items()}
    for name, (words, _, _) in ASKED.items():
        if words:
            values[name] = choice(values[name], name, words)
    if values["d"] == "f16" and values["element"] != "f16":
        says = f"D is f16; it is stored as {values['element']}."
        raise LayoutError("bad_choice", says, "An f16 D is stored as f16.", "element")
    mma = facts.mma_of({name: values[name] for name in ("kind", "cta_group", "ws", "m", "n")})
    found = tmem.access(values["access"])
    return Epilogue(mma, found, values["d"] == "f16"), values


def bits_of(values: Json) -> int:
    """Bits of the element that is stored."""
    return 32 if values["element"] == "f32" else 16


def costs(made: Epilogue) -> list[ToShared]:
    """Every storage of D, and what stmatrix costs there; none where it cannot take the registers."""
    if not made.matrices:
        return []
    told = [(name, made.cost(made.stored(name))) for name in STORED]
    return [ToShared(stored=name, instructions=n, wavefronts=w, ideal=i) for name, (n, w, i) in told]


def epilogue_facts(given: Json) -> TmemEpilogue:
    """GET /tmem/epilogue."""
    made, values = made_of(given)
    row, col = made.first()
    wide, requests, sectors = made.rows(bits_of(values))
    return TmemEpilogue(
        id=made.d.letter,
        access=made.access.ptx,
        loads=len(made.loads),
        registers=made.access.registers,
        matrices=made.matrices,
        row=row,
        col=col,
        fitting=epilogue.fitting(made.mma, made.halves).ptx,
        store_bytes=wide,
        requests=requests,
        sectors=sectors,
        evidence=f"D: {made.d.evidence}. Load: {made.access.evidence}",
        to_shared=costs(made) or None,
    )


def address(given: Json) -> str:
    """The page of an epilogue."""
    return "/tmem/epilogue" + (f"?{urlencode(given)}" if given else "")


def context(query: Json) -> dict[str, Any]:
    """Everything the page shows."""
    given = {name: str(query[name]) for name in query if name in ASKED}
    made, values = made_of(given)
    told = epilogue_facts(given)
    warp, thread = number(values["warp"], "warp", 0, 3), number(values["thread"], "thread", 0, tmem.QUARTER - 1)
    per = made.per_register
    at = warp * tmem.QUARTER + thread
    held = [
        (
            value // per,
            ("low", "high")[value % per] if per > 1 else "",
            int(told.row[at, value]),
            int(told.col[at, value]),
        )
        for value in range(told.row.shape[1])
    ]
    fits = made.matrices and values["element"] != "f32"
    shared = code.to_shared(made, made.stored(values["stored"]), values["element"]) if fits else ""
    return {
        "told": told,
        "given": values,
        "made": made,
        "choices": {name: words for name, (words, _, _) in ASKED.items() if words},
        "held": held[:16],
        "more": max(len(held) - 16, 0),
        "fits": fits,
        "shared": shared,
        "global": code.to_global(made, bits_of(values), values["element"]),
        "examples": [{"title": title, "href": address(one)} for title, one in EXAMPLES],
        "better": address(given | {"access": told.fitting}),
        "map": "/tmem?"
        + urlencode(
            {name: values[name] for name in ("kind", "cta_group", "ws", "m", "n")}
            | {"access": made.access.ptx, "at": "0:0", "warp": "0"}
        ),
        "error": None,
    }
