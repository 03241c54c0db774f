"""Map tensor-core instructions in SASS to the PTX instructions that ptxas compiles to them.

cuobjdump -sass, nvdisasm and Nsight print the same opcodes; addresses, predicates, encodings and control codes around
them are ignored. The mapping is layouts/ptx/table/sass.json (`make sass`): every variant, assembled for every target
that accepts it. A suffix missing in the text leaves more candidates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.ptx.catalog import SassListing
from lanescope.ptx.slots import reads_mn_major
from lanescope.reader.instructions.tensor_sass import (
    IS,
    SASS_KINDS,
    TENSOR_OPCODES,
    MmaOperands,
    describe_tensor_line,
    fit_operands,
    list_unmapped,
    parse_mma_operands,
)
from lanescope.reader.meaning import TextMeaning

_MOST = 64  # different mnemonics per text
_MOST_LINES = 4096
_MOST_PIECES = 8  # instructions of a text that may be the pieces of a wmma
_MOST_SEVERAL = 24  # listed PTX instructions that compile to several
_OF_WARPS = ("HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "LDSM", "STSM", "MOVM")
OPCODES = (*_OF_WARPS, *TENSOR_OPCODES)
MNEMONIC = re.compile(rf"(?<![\w.])({'|'.join(OPCODES)})((?:\.\w+)*)(?![\w.])(?=([^;\n]{{0,200}}))")
_TARGET = re.compile(r"(?:\.target\s+|arch\s*=\s*|code for\s+|EF_CUDA_)(?:sm_?)(\d+[af]?)\b", re.I)
_STEP = re.compile(r"\.STEP\d")
_TIMES = re.compile(r"(?<=\d)X(?=\d)|\AX(?=\d)")
_MOST_NEAREST = 4
_DIGIT = re.compile(r"\d")  # in a suffix for a type, a size or a count
_DESCRIPTOR = re.compile(r"gdesc\[[^\]]*\]((?:\.\w+)*)")


@lru_cache(maxsize=1)
def _index_sass() -> dict[str, dict[str, dict[str, SassListing]]]:
    """Map opcode → mnemonic → PTX texts with their shortest SASS forms."""
    sass: dict[str, dict[str, dict[str, SassListing]]] = {}
    for ptx, forms in catalog.load_sass().items():
        for form in sorted(forms, key=lambda sass_form: sass_form.total):
            for name, _ in form.runs:
                sass.setdefault(name.partition(".")[0], {}).setdefault(name, {}).setdefault(ptx, form)
    return sass


def spell_mnemonic(text: str) -> str:
    """Return a mnemonic in any case as the disassembler spells it: in capitals, but for some suffixes.

    >>> spell_mnemonic("ldtm.16DP256BIT.x8"), spell_mnemonic("hgmma.64X8X16.f32")
    ('LDTM.16dp256bit.x8', 'HGMMA.64x8x16.F32')
    """
    opcode, *suffixes = text.upper().split(".")
    return ".".join((opcode, *(_index_suffixes().get(suffix) or _TIMES.sub("x", suffix) for suffix in suffixes)))


@lru_cache(maxsize=1)
def _index_suffixes() -> dict[str, str]:
    """Map every suffix in capitals to its spelling."""
    names = (name for each in _index_sass().values() for name in each)
    return {suffix.upper(): suffix for name in names for suffix in name.split(".")[1:]}


def _is_single(form: SassListing) -> bool:
    """Return whether a form is a single instruction; Volta's steps of an instruction count as one."""
    return form.total == 1 or (
        len({_STEP.sub("", name) for name, _ in form.runs}) == 1 and form.runs[0][0].endswith("STEP0")
    )


def _name_topic(newer: list[str], wrong: list[str], notices: list[str]) -> TextMeaning:
    """Return the tcgen05 topic for its mnemonics without a known form. LayoutError for other mnemonics."""
    if newer:
        return TextMeaning("topic", f"{newer[0]}: tcgen05", {"topic": "tcgen05", "name": newer[0]}, tuple(notices))
    known = list(_index_sass().get(wrong[0].partition(".")[0], ()))
    near = get_close_matches(wrong[0], known, _MOST_NEAREST, 0) or ["HMMA.16816.F32"]
    raise LayoutError(
        "unknown_sass", f"No PTX instruction compiles to '{wrong[0]}'.", f"Nearest: {join_words(near)}.", "text"
    )


def recognise_sass(text: str) -> tuple[TextMeaning, ...]:
    """Return the PTX instructions that compile to each mnemonic of a text.

    LayoutError if there are none, or if a warpgroup instruction transposes an operand that has to be K-major.
    """
    lines = [match for match, _ in zip(MNEMONIC.finditer(text), range(_MOST_LINES), strict=False)]
    if not lines:
        return ()
    _check_transposition(lines)
    counts = Counter(_split_line(match) for match in lines)
    targets = tuple(dict.fromkeys(f"sm_{match[1].lower()}" for match in _TARGET.finditer(text)))
    each: list[tuple[str, int, list[str], dict[str, int]]] = []
    notices: list[str] = []
    wrong: list[str] = []
    newer: list[str] = []
    for line in list(counts)[:_MOST]:
        spelled, operands = line
        names, left_out = _expand_mnemonic(spelled)
        unmapped = list_unmapped(spelled, targets) if spelled.startswith(TENSOR_OPCODES) else {}
        names = [] if unmapped and left_out else names
        notices += dict.fromkeys(f"{spelled} is also {form.message}" for form in unmapped.values())
        if not names:
            wrong += [spelled] * (not unmapped)
            newer += [spelled] * bool(unmapped)
            continue
        if left_out:
            notices.append(
                f"'.{'.'.join(left_out)}' of {spelled} is not a suffix that {catalog.get_assembler_release()} emits."
            )
        fit, more = _find_fitting(names, targets, counts[line], len(lines))
        notices += filter(None, [describe_tensor_line(spelled, operands)])
        each.append((spelled, counts[line], fit_operands(fit, operands), more))
    if not each:
        return (_name_topic(newer, wrong, notices),)
    notices += [IS] * any(name.startswith(TENSOR_OPCODES) for name, *_ in each)
    return (_make_meanings(each, _find_majors(lines), (*dict.fromkeys(notices), *_format_unknown(wrong))),)


def _split_line(match: re.Match[str]) -> tuple[str, MmaOperands | None]:
    """Return a line's mnemonic and, for tcgen05.mma, its operands."""
    return match[1] + match[2], parse_mma_operands(match[3]) if match[1] in SASS_KINDS else None


def _make_meanings(
    each: list[tuple[str, int, list[str], dict[str, int]]],
    majors: dict[str, str] | None,
    notices: tuple[str, ...],
) -> TextMeaning:
    """Return the meaning of mnemonics.

    each: (mnemonic, count, PTX that compiles to it, PTX that compiles to several of it → how many).
    """
    candidates = list(dict.fromkeys(ptx for _, _, fit, _ in each for ptx in fit))
    several = {ptx: n for _, _, _, more in each for ptx, n in more.items()}
    facts = {
        "ptx": None,
        "candidates": candidates,
        "operand": None,
        "all": [],
        "sass": [{"mnemonic": name, "count": count, "candidates": fit[:8]} for name, count, fit, _ in each],
        "several": dict(list(several.items())[:_MOST_SEVERAL]),
        **({"majors": majors} if majors else {}),
    }
    what = each[0][0] if len(each) == 1 else f"{len(each)} SASS instructions"
    source = candidates[0] if len(candidates) == 1 else f"{len(candidates) or 'no'} PTX instructions"
    compiled = _format_notices(len(candidates), several)
    return TextMeaning("instruction", f"{what}: compiled from {source}", facts, (*compiled, *notices))


def _format_notices(count: int, several: dict[str, int]) -> Iterable[str]:
    ambiguity = "; several of them compile to the same SASS" if count > 1 else ""
    yield f"Found by compiling every PTX instruction with {catalog.get_assembler_release()}{ambiguity}."
    if several:
        ptx, times = next(iter(several.items()))
        yield f"It is also a part of larger instructions: {ptx} contains {times}."


def _format_unknown(wrong: list[str]) -> Iterable[str]:
    if wrong:
        yield f"No PTX instruction compiles to {join_words(wrong[:3], 'or')}."


def _expand_mnemonic(spelled: str) -> tuple[list[str], list[str]]:
    """Return (mnemonics, unknown suffixes) of a spelling: itself, else the mnemonics with all its suffixes."""
    opcode, *parts = spelled.split(".")
    known = _index_sass().get(opcode, {})
    if spelled in known:
        return [spelled], []
    words = {part for name in known for part in name.split(".")[1:]}
    strange = [part for part in parts if part not in words and part != "1"]
    if any(_DIGIT.search(part) for part in strange):
        return [], []
    legal = [part for part in parts if part in words]
    if ".".join((opcode, *legal)) in known:
        return [".".join((opcode, *legal))], strange
    needed = Counter(legal)
    return [name for name in known if not needed - Counter(name.split(".")[1:])], strange


def _find_fitting(
    names: list[str], targets: tuple[str, ...], times: int, lines: int
) -> tuple[list[str], dict[str, int]]:
    """Return (PTX that compiles to one of these mnemonics, PTX that compiles to several → how many)."""
    alone: list[str] = []
    pieces: list[str] = []
    several: dict[str, int] = {}
    for name in names:
        for ptx, forms in _find_sources(name).items():
            here = [form for form in forms if not targets or set(targets) & set(form.targets)] or []
            if not here:
                continue
            form = here[0]
            wmma = ptx.startswith("wmma.")
            if _is_single(form) and not wmma:
                alone.append(ptx)
            else:
                several[ptx] = dict(form.runs)[name]
                if wmma and times > 1 and lines <= _MOST_PIECES and times % several[ptx] == 0:
                    pieces.append(ptx)
    if not alone and not pieces:
        return list(several), {}
    return sorted(dict.fromkeys((*alone, *pieces)), key=lambda ptx: not _has_size(ptx, names)), several


def _has_size(ptx: str, names: list[str]) -> bool:
    """Return whether a mnemonic has the sizes of an instruction: IMMA.16816 has those of m16n8k16, not of m8n8k16."""
    return any(re.sub(r"[mnk]", "", catalog.find(ptx).shape) in name.split(".") for name in names)


@lru_cache(maxsize=2048)
def _find_sources(name: str) -> dict[str, list[SassListing]]:
    sources = _index_sass()[name.partition(".")[0]].get(name, {})
    return {
        ptx: sorted(
            (form for form in catalog.load_sass()[ptx] if name in dict(form.runs)),
            key=lambda sass_form: not _is_single(sass_form),
        )
        for ptx in sources
    }


def _find_modifiers(line: re.Match[str]) -> str | None:
    """Return the modifiers of a warpgroup instruction's descriptor, .tnspA.tnspB; None if the line has none."""
    descriptor = _DESCRIPTOR.search(line[3]) if line[1].endswith("GMMA") else None
    return descriptor[1] if descriptor else None


def _check_transposition(lines: list[re.Match[str]]) -> None:
    """Refuse warpgroup instructions that transpose operands that have to be K-major."""
    for spelled in dict.fromkeys(match[1] + match[2] for match in lines if "tnsp" in (_find_modifiers(match) or "")):
        found = [catalog.find(ptx) for name in _expand_mnemonic(spelled)[0] for ptx in _find_sources(name)]
        if found and not any(map(reads_mn_major, found)):
            raise LayoutError(
                "bad_major",
                f"{spelled} cannot have .tnspA or .tnspB: wgmma transposes 16-bit operands only.",
                f"{found[0].types['a']} has to be K-major in shared memory.",
                "text",
            )


def _find_majors(lines: list[re.Match[str]]) -> dict[str, str] | None:
    """Return the majors of A and B of the warpgroup instructions, if all agree."""
    majors = set()
    for match in lines:
        if (modifiers := _find_modifiers(match)) is not None:
            registers = re.match(r"\s*R\w+\s*,\s*R\w+", match[3]) is not None
            a = None if registers else "MN" if "tnspA" in modifiers else "K"
            majors.add((a, "MN" if "tnspB" in modifiers else "K"))
    if len(majors) != 1:
        return None
    a, b = majors.pop()
    return {**({"a": a} if a else {}), "b": b}
