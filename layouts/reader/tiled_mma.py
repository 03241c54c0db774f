"""CuTe's TiledMMA: types, make_tiled_mma in C++ and Python, and what print(tiled_mma) shows.

CUTLASS 4.7, cute/atom/mma_atom.hpp: threads are V of the atom times AtomLayoutMNK; the tile of one TiledMMA is the
larger of atoms × atom and the permutation, in each of M, N, K.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from lanescope.blackwell import umma_atom
from lanescope.cute import layout as cute
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.reader import atoms, labelled, shapes, terms
from lanescope.reader import umma as umma_atoms
from lanescope.reader.atoms import Atom
from lanescope.reader.found import Found, each_once
from lanescope.reader.terms import Term, Text
from lanescope.reading import listed

_MADE = re.compile(
    r"(?<!def )(?<![\w.])(?:\w+(?:::|\.)){0,6}(?:make_tiled_mma|make_trivial_tiled_mma)\s*\(|(?<!\w)TiledM(?:MA|ma)\s*<"
)
_HEAD = re.compile(r"(?:Thr[ _]?Layout[ _]?VMNK|Permutation[ _]?MNK)\s*:", re.I)
_FIELD = re.compile(
    r"(?P<name>Thr[ _]?Layout[ _]?VMNK|Permutation[ _]?MNK|Thr[ _]?ID|Shape[ _]?MNK|Layout(?P<cpp>[ABC])_TV"
    r"|TV[ _]?Layout[ _]?(?P<py>[ABC])\b(?!\s*tiled))\s*:[ \t]*",
    re.I,
)
_MOST_MADE = 8  # of one text
_MOST_LISTED = 48
UMMA = "This is a tcgen05 MMA: the threads are CTAs, its accumulator lives in tensor memory. Documented, not run."
TENSOR_MEMORY = "This is a tcgen05 MMA: its accumulator lives in tensor memory; /tmem shows where."


def atoms_alone(text: str) -> tuple[Found, ...]:
    """The UMMA atom of a text that makes no TiledMMA of it: the TiledMMA of that atom alone."""
    if _MADE.search(text) or _HEAD.search(text) or not umma_atoms.is_atom(text) or umma_atoms.is_ptx(text):
        return ()
    spelled = umma_atoms.read(text)
    if spelled is None or spelled.atom is None:
        return ()
    name = spelled.text
    atom = Atom((), name, {one: spelled.atom.major(one) for one in "ab"}, True, umma=spelled)
    return (_found(atom, None, atoms_mnk=[1, 1, 1], permutation=None, sizes=[], opened=[], notices=[]),)


def read(text: str) -> tuple[Found, ...]:
    """Every TiledMMA that a text makes or prints, each once."""
    out = []
    if _HEAD.search(text):
        out += [one for block in _blocks(text) if (one := _printed(block))]
    if _MADE.search(text):
        home = terms.of(text)
        out += [one for term in terms.found(home, _MADE) if (one := made(home, term))]
    if any("umma" in one.facts for one in out):  # a print in a comment beside it names no atom
        out.sort(key=lambda one: "umma" not in one.facts)
    return each_once(out, _MOST_MADE)


def made(home: Text, term: Term) -> Found | None:
    """The TiledMMA of a term; None where the text does not say what it is made of."""
    if term.name == "make_trivial_tiled_mma":
        atom, layout, third = atoms.atom(home, term), term.at(5, "atom_layout_mnk"), None
        if len(term.args or ()) < 4 and not term.named:
            return None
        if atom is None and atoms.BLACKWELL.search(term.path):
            return None
        if atom is not None and atom.umma:
            layout = None
    else:
        angle = term.args if term.name == "make_tiled_mma" else term.angle
        if not angle and not term.named:
            return None
        first = (angle or (None,))[0]
        if first is None:
            first = term.at(9, "op_or_atom", "op", "atom")
        layout = angle[1] if angle and len(angle) > 1 else term.at(9, "atom_layout_mnk", "atom_layout")
        third = angle[2] if angle and len(angle) > 2 else term.at(9, "permutation_mnk", "permutation_tiler")
        if term.name != "make_tiled_mma" and isinstance(home.meant(first), Term) and home.meant(first).name == "Atom":
            return None  # CuTe's own TiledMMA<Atom, TiledThr, TiledPerm>
        atom = atoms.atom(home, first)
        if atom is None and layout is None and third is None and term.args is None:
            return None
    laid = shapes.layout(home, layout) if layout is not None else None
    opened = [] if atom and (atom.found or (atom.umma and atom.umma.atom)) else ["atom"]
    if layout is not None and laid is None:
        opened.append("atom_layout")
    atoms_mnk = _three(laid.shape) if laid else [1, 1, 1]
    permutation, sizes = shapes.tiler(home, third) if third is not None else (None, [])
    notices: list[str] = []
    value = home.meant(third) if third is not None else None
    if isinstance(value, Term) and value.name in ("Layout", "make_layout"):
        values = shapes.layout(home, value)
        times = _three(values.shape) if values else [1, 1, 1]
        sizes = _times(_times(atom.shape if atom else None, atoms_mnk), times) or []
        permutation = (
            shapes.spelled(tuple(sizes)) if sizes and max(x for x in times if isinstance(x, int)) > 1 else None
        )
        notices.append("The third argument is the value layout of older CuTe: the tile is the atoms' times it.")
    elif third is not None and permutation is None and not sizes:
        opened.append("permutation")
    return _found(atom, laid, atoms_mnk=atoms_mnk, permutation=permutation, sizes=sizes, opened=opened, notices=notices)


def _found(
    atom: Atom | None,
    laid: shapes.Laid | None,
    *,
    atoms_mnk: list[Any],
    permutation: str | None,
    sizes: list[Any],
    opened: list[str],
    notices: list[str],
    threads: int | None = None,
) -> Found:
    shape = atom.shape if atom else None
    count = shapes.size(tuple(atoms_mnk))
    if threads is None and atom and atom.threads and count and "atom_layout" not in opened:
        threads = atom.threads * count
    whole = _times(shape, atoms_mnk)
    tile = [_larger(core, size) for core, size in zip(whole or [None] * 3, [*sizes, None, None, None], strict=False)]
    names = shapes.symbols(tuple(atoms_mnk), tuple(x for x in sizes if x is not None))
    known = all(isinstance(x, int) for x in tile)
    umma = atom.umma if atom else None
    if umma:
        names = [*names, *umma.open]
    opened = [*opened, *(["threads"] if threads is None else []), *([] if known else ["tile_mnk"]), *names]
    found = atom.found if atom else ()
    ptx = [umma.atom.bound.ptx] if umma and umma.atom else [i.ptx for i in found]
    layout = laid if laid is not None else shapes.Laid((1, 1, 1), (0, 0, 0))
    body = {
        "atom": atom.spelled if atom else None,
        "atom_layout": None if "atom_layout" in opened else str(_rank_three(layout)),
        "permutation": permutation,
        "tile": tile if known and not umma else None,
    }
    facts: dict[str, Any] = {
        "threads": threads,
        "tile_mnk": tile if any(x is not None for x in tile) else None,
        "atom_mnk": shape,
        "permutation": permutation,
        "candidates": ptx[:_MOST_LISTED],
        "body": body,
        **({"majors": atom.majors} if atom and atom.majors else {}),
    }
    if umma and umma.atom:
        facts["umma"] = {
            "idesc": str(umma.atom.word),
            "ctas": umma.atom.ctas,
            "a_from": "tensor" if umma.atom.tensor_a else "shared",
        }
        notices = [*notices, UMMA]
        notices += [f"The text leaves {', '.join(umma.open)} open; the tile is the same for all."] if umma.open else []
    elif atom and atom.tensor_memory:
        notices = [*notices, TENSOR_MEMORY]
    said = "×".join("?" if x is None else str(x) for x in tile)
    who = f"{threads if threads is not None else '?'} {'CTA' if umma else 'thread'}{'s' * (threads != 1)}"
    title = f"TiledMMA: {who}, tile {said}"
    return Found("tiled_mma", title, facts, tuple(notices), True, tuple(dict.fromkeys(opened)))


def _three(shape: Any) -> list[Any]:
    """M, N and K of an atom layout: a rank-2 one gets a 1 in K."""
    modes = list(shape) if isinstance(shape, tuple) else [shape]
    out = [shapes.size(one) if shapes.size(one) is not None else shapes.spelled(one) for one in modes[:3]]
    return [*out, *[1] * (3 - len(out))]


def _rank_three(laid: shapes.Laid) -> shapes.Laid:
    if isinstance(laid.shape, tuple) and len(laid.shape) >= 3:
        return laid
    shape = laid.shape if isinstance(laid.shape, tuple) else (laid.shape,)
    stride = laid.stride if isinstance(laid.stride, tuple) else (laid.stride,)
    more = 3 - len(shape)
    return shapes.Laid((*shape, *[1] * more), None if laid.stride is None else (*stride, *[0] * more))


def _times(shape: list[Any] | None, by: list[Any]) -> list[Any] | None:
    if shape is None:
        return None
    return [a * b if isinstance(a, int) and isinstance(b, int) else None for a, b in zip(shape, by, strict=False)]


def _larger(core: Any, size: Any) -> Any:
    if size is None or isinstance(size, str):
        return size or core
    return max(core, size) if isinstance(core, int) else size


# what print shows -----------------------------------------------------------------------------------------------------


def _blocks(text: str) -> list[dict[str, str]]:
    """The fields of every print in a text, by plain names: thr, permutation, thrid, shape, a, b, c."""
    out: list[dict[str, str]] = []
    for match, value in labelled.fields(_FIELD, text):
        letter = match["cpp"] or match["py"]
        name = letter.lower() if letter else re.sub(r"[ _]", "", match["name"]).lower()
        name = {"thrlayoutvmnk": "thr", "permutationmnk": "permutation", "shapemnk": "shape"}.get(name, name)
        if name == "thr" or not out or (name in out[-1] and name != "thr"):
            out.append({})
        out[-1][name] = value
    return [one for one in out if "thr" in one or "shape" in one][:_MOST_MADE]


def _printed(block: dict[str, str]) -> Found | None:
    thr = shapes.printed(block.get("thr", ""))
    shape = shapes.printed(block.get("shape", ""))
    if thr is None or not isinstance(thr.shape, tuple) or len(thr.shape) < 2:
        return None
    threads = shapes.size(thr.shape)
    in_atom = shapes.size(thr.shape[0]) or 1
    modes, steps = thr.shape[1:], thr.stride[1:]
    steps = tuple(_divided(step, in_atom) for step in steps)
    laid = shapes.Laid(modes, steps if all(s is not None for s in steps) else shapes.compact(modes))
    mnk = [shapes.size(one) for one in shape.shape] if shape and isinstance(shape.shape, tuple) else None
    opened, notices = [], []
    found: list[Instruction] = []
    sizes = dict(zip("mnk", (int(n or 0) for n in mnk), strict=False)) if mnk and len(mnk) == 3 else {}
    if sizes:
        found = [i for i in catalog.instructions() if _is(i, sizes, in_atom, block)]
    memory = bool(sizes) and in_atom <= 2 and sizes["m"] >= 64
    held = shapes.printed(block.get("a", ""))
    of_threads = held.stride[0] if held and isinstance(held.stride, tuple) else 0
    registers = any(shapes.leaves(of_threads)) and bool(found) and found[0].family.by_descriptor
    atom = Atom(tuple(found), "", {}, memory, registers)
    if not found:
        opened.append("atom")
    elif len(found) > 1:
        notices.append(
            f"The print names no atom: {len(found)} instructions have these maps, which are the same for all."
        )
    issued = umma_atom.fitting(in_atom, sizes["m"], sizes["n"], sizes["k"]) if memory and not found else []
    if issued:
        kinds = listed([f"{'sparse ' * each.sparse}kind::{each.kind.name}" for each in issued], "or")
        notices.append(f"The print names no atom: it is a tcgen05.mma of {kinds}, whose threads are the CTAs.")
    permutation, extents = shapes.printed_tiler(block["permutation"]) if "permutation" in block else (None, [])
    one = _found(
        atom,
        laid,
        atoms_mnk=_three(modes),
        permutation=permutation,
        sizes=extents,
        opened=opened,
        notices=notices,
        threads=threads,
    )
    if sizes and not found:
        one.facts["atom_mnk"] = list(sizes.values())  # type: ignore[index]
        whole = _times(list(sizes.values()), _three(modes))
        tile = [_larger(c, s) for c, s in zip(whole or [], [*extents, None, None, None], strict=False)]
        one.facts["tile_mnk"] = one.facts["body"]["tile"] = tile  # type: ignore[index]
    if issued:
        one.facts["candidates"] = [each.ptx for each in issued]  # type: ignore[index]
        return replace(one, title=f"TiledMMA: {in_atom} CTA{'s' * (in_atom > 1)}, tile {'×'.join(map(str, tile))}")
    return one


def _divided(step: Any, by: int) -> Any:
    if isinstance(step, tuple):
        inner = tuple(_divided(one, by) for one in step)
        return inner if all(one is not None for one in inner) else None
    return None if step % by else step // by


def _is(i: Instruction, sizes: dict[str, int], threads: int, block: dict[str, str]) -> bool:
    """Whether an instruction's fragments are those of a print."""
    family = i.family
    if not family.multiplies or not family.specified or i.sizes != sizes:
        return False
    if threads != (8 if i.shape == "m8n8k4" and i.types["a"] != "f64" else family.scope.threads):
        return False
    if threads == 8:
        return True
    for letter in "abc":
        op = i.operands.get(letter) or (i.operands.get("d") if letter == "c" else None)
        laid = shapes.printed(block[letter]) if letter in block else None
        if laid is None or op is None:
            continue
        if family.by_descriptor and letter == "b":
            continue
        if any(one.sparsity for one in i.operands.values()) and letter == "a":
            continue
        if family.by_descriptor and letter == "a" and 0 in shapes.leaves(laid.stride[:1]):
            continue
        if not same_map(op, laid, letter == "b"):
            return False
    return True


def same_map(op: Operand, laid: shapes.Laid, turned: bool) -> bool:
    """Whether a TV layout (thread, value) → element is an operand's map; turned: CuTe's B, which is (n, k)."""
    shape, stride = laid.shape, laid.stride
    if not isinstance(shape, tuple) or len(shape) != 2:
        return False
    if (shapes.size(shape[0]), shapes.size(shape[1])) != (op.threads, op.values):
        return False
    index = _tv(shape, stride)
    rows, cols = (op.cols, op.rows) if turned else (op.rows, op.cols)
    height = op.col_count if turned else op.row_count
    return bool(np.array_equal(index, rows + height * cols))


def _tv(shape: Any, stride: Any) -> Any:
    modes = [list(zip(cute.leaves(s), cute.leaves(d), strict=True)) for s, d in zip(shape, stride, strict=True)]
    counts = [prod(n for n, _ in mode) for mode in modes]
    one, two = (np.arange(n) for n in counts)
    return cute.index(one, modes[0])[:, None] + cute.index(two, modes[1])[None, :]
