"""Find doubtful fields in code that builds a descriptor: strides unusual for the swizzle mode, a mask that cuts the
address, a comment or a constant's name that contradicts the code. None is certainly a mistake.

The usual strides: PTX ISA 9.1, matrix descriptors of wgmma and tcgen05; layouts/ptx/table/descriptors.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lanescope.bits import BitField
from lanescope.cxx.source_text import find_closing, walk_outside_brackets
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.code.symbolic_integers import FIELD_BITS, Span, SymbolicInt
from lanescope.shared.swizzle import MODES

Origins = Mapping[str, Sequence[Span]]
PATTERNS = {mode.name: mode.pattern_bytes for mode in MODES if mode.chunks > 1}
UNSEEN = ("comment_contradicts", "mask_cuts_address", "mask_too_wide")  # which verified reads cannot show
CORE = 128  # bytes of a core matrix, 8 rows of 16
_COMMENT = re.compile(r"//(.*)$|/\*(.*?)(?:\*/|$)|(?<![\w\"'])#\s(.*)$", re.M)
_CHOICE = re.compile(r"\?|\bif\b.*\belse\b")  # a ? b : c, or Python's b if a else c
_ALONE = re.compile(r"\s*(?://|/\*|#\s).*")
_MODE = re.compile(
    r"(?<![A-Za-z0-9])(?:SW(?:IZZLE)?_?|swizzle[_ ]?|B)?(128|64|32)(?:[ -]?B(?:YTES?)?|[ -]byte)s?(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])(?:B|SW_?|SWIZZLE_)(128|64|32)(?!\d)",
    re.I,
)
_PTX_TYPE = re.compile(r"\.b(?:128|64|32)(?![A-Za-z0-9])")  # of mov.b64, not a swizzle
_SWIZZLE = re.compile(r"swizzl|\bSW_?\d|\bB(?:128|64|32)\b", re.I)
_NONE = re.compile(r"\bno(?:n-|[ -_]?)swizzl|SWIZZLE_NONE|\bINTERLEAVED?\b", re.I)
_LBO = re.compile(r"(?:\b|_|\bk)LBO|(?<!per_)leading", re.I)
_SBO = re.compile(r"(?:\b|_|\bk)SBO|stride[-_ ]?(?:dim|byte|off)", re.I)
_BYTES = re.compile(r"(?<![\w.])(\d{1,6})\s*(?:B|bytes?)(?!\w|[ -]swizzl)")  # not of a swizzle mode


def find_doubts(
    text: str,
    value: SymbolicInt,
    *,
    amounts: Mapping[str, int | None],
    swizzle: str | None,
    origins: Origins,
    span: Span,
    codes: Mapping[str, int],
    start: BitField,
) -> tuple[Pitfall, ...]:
    """Find doubtful fields of one descriptor.

    amounts: lbo and sbo in bytes. origins: field → spans that set it. codes: swizzle mode → its code. start: the field
    of the start address.
    """
    # PTX opcodes such as or.b64 do not name a swizzle
    contradictions = () if is_ptx_module(text) else _check_comments(text, amounts, swizzle, origins, codes)
    return (
        *_check_strides(amounts, swizzle, origins, span),
        *_check_mask(value, origins, span, start),
        *contradictions,
    )


def _get_span(origins: Origins, name: str, span: Span) -> Span:
    return next(iter(origins.get(name, ())), span)


def _check_strides(
    amounts: Mapping[str, int | None], swizzle: str | None, origins: Origins, span: Span
) -> Iterator[Pitfall]:
    """Yield LBO and SBO that are unusual for the swizzle mode."""
    lbo, sbo = amounts.get("lbo"), amounts.get("sbo")
    if swizzle == "none":
        yield from _check_overlap(lbo, sbo, origins, span)
        return
    pattern = PATTERNS.get(swizzle or "")
    if not pattern or swizzle is None:
        return
    if sbo in (0, 16) and lbo and not lbo % pattern:
        yield Pitfall(
            "strides_unusual",
            f"SBO is {sbo} B and LBO {lbo} B. Under the {swizzle} swizzle SBO is the distance between groups of 8 rows"
            f" (K-major) or of 8 k (MN-major), usually {pattern} B; the two look exchanged.",
            _get_span(origins, "sbo", span),
        )
        return
    if sbo is not None and (not sbo or sbo % pattern):
        yield Pitfall("sbo_unusual", _describe_unusual_sbo(sbo, swizzle, pattern), _get_span(origins, "sbo", span))
    if lbo is not None and lbo > 16:
        odd = f", which would be a multiple of {pattern} B" if lbo % pattern else ""
        yield Pitfall(
            "lbo_unusual",
            f"LBO is {lbo} B. Under the {swizzle} swizzle a K-major operand does not read it (16 or 0 is usual); an"
            f" MN-major one takes it as the distance between atoms along M or N{odd}.",
            _get_span(origins, "lbo", span),
        )


def _check_overlap(lbo: int | None, sbo: int | None, origins: Origins, span: Span) -> Iterator[Pitfall]:
    """Yield strides smaller than a core matrix, without a swizzle."""
    small = [f"{name} {amount}" for name, amount in (("LBO", lbo), ("SBO", sbo)) if amount and amount < CORE]
    if not small:
        return
    strides = [amount for amount in (lbo, sbo) if amount in PATTERNS.values()]
    more = " These are strides of a swizzled tile: its mode belongs in the field [63:62]." if strides else ""
    yield Pitfall(
        "core_matrices_overlap",
        f"{' and '.join(small)} B without a swizzle: a core matrix takes {CORE} bytes, so a smaller distance"
        f" makes them overlap.{more}",
        _get_span(origins, "lbo" if small[0].startswith("LBO") else "sbo", span),
    )


def _describe_unusual_sbo(sbo: int, swizzle: str, pattern: int) -> str:
    """Describe an SBO that is 0 or not a multiple of the swizzle's pattern."""
    if not sbo:
        return (
            f"SBO is 0. Under the {swizzle} swizzle it is usually {pattern} B; 0 is right only where the operand has 8"
            " rows, K-major."
        )
    other = next((name for name, bytes_ in PATTERNS.items() if bytes_ == sbo), "")
    where = f", as under the {other} swizzle" if other else ""
    return (
        f"SBO is {sbo} B{where}. Under the {swizzle} swizzle groups of 8 rows (K-major) or of 8 k (MN-major) are"
        f" {pattern} bytes or a multiple apart."
    )


def _check_mask(value: SymbolicInt, origins: Origins, span: Span, field: BitField) -> Iterator[Pitfall]:
    """Yield a mask that leaves fewer bits than an address has, or more than the start field."""
    start = next((p for p in value.pieces if not p.low), None)
    if start is None or start.shift != 4 or value.plain is not None:
        return
    at = _get_span(origins, "start_address", span)
    above = [p for p in value.pieces if start.end <= p.low < FIELD_BITS]  # of a sum, whose lower bits alone are known
    if start.width < FIELD_BITS and not above:
        yield Pitfall(
            "mask_cuts_address",
            f"The mask leaves {start.width + 4} bits of the address: a tile at {1 << start.width + 4:#x} or above is"
            " read elsewhere. Mask the address with 0x3FFFF before the shift, or with 0x3FFF after it.",
            at,
        )
    elif start.width == 18:
        yield Pitfall(
            "mask_too_wide",
            f"The mask 0x3FFFF is applied after the shift: it keeps 18 bits, and the field has {field.width}. Mask with"
            f" 0x{field.most:X} after the shift, or with 0x{field.mask:X} before it.",
            at,
        )


def _check_comments(
    text: str, amounts: Mapping[str, int | None], swizzle: str | None, origins: Origins, codes: Mapping[str, int]
) -> Iterator[Pitfall]:
    """Yield comments and names of constants that contradict the code."""
    lines = {name: _list_lines(text, spans) for name, spans in origins.items()}
    passed = {name: {span for span in spans if _is_passed(text, span)} for name, spans in origins.items()}
    if swizzle is not None:
        yield from _check_named_swizzle(text, swizzle, lines, codes)
    for name, field_pattern, other_pattern in (("lbo", _LBO, _SBO), ("sbo", _SBO, _LBO)):
        for line in sorted(lines.get(name, ())):
            if any(line in field_lines for field, field_lines in lines.items() if field != name):
                continue
            if any(line[0] <= span[0] < line[1] for span in passed[name]):  # its words may be of another argument
                continue
            wrong = _describe_stride_conflict(
                _get_commented_line(text, line), name, field_pattern, other_pattern, amounts.get(name)
            )
            if wrong:
                yield Pitfall("comment_contradicts", wrong, line)
                break


def _is_passed(text: str, span: Span) -> bool:
    """Return whether a place is one of several arguments of a call."""
    begin = max(text.rfind(letter, 0, span[0]) for letter in ";{}")
    opened = [at for at in range(begin + 1, span[0]) if text[at] == "(" and find_closing(text, at) >= span[1]]
    return bool(opened) and any(walk_outside_brackets(text, ",", opened[-1] + 1, find_closing(text, opened[-1])))


def _check_named_swizzle(
    text: str, swizzle: str, lines: Mapping[str, set[Span]], codes: Mapping[str, int]
) -> Iterator[Pitfall]:
    """Yield the first line that names another swizzle mode than the code sets; lines: of each field."""
    for line in sorted(lines.get("swizzle", ())):
        alone = not any(line in actual for name, actual in lines.items() if name not in ("swizzle", "layout_type"))
        modes = _find_named_modes(_get_commented_line(text, line), alone)
        if len(modes) == 1 and modes != {swizzle.split("_")[0]}:
            (mode,) = modes
            named = "no swizzle" if mode == "none" else mode
            actual = "no swizzle" if swizzle == "none" else f"the {swizzle} swizzle"
            more = f": {mode} is {codes[mode]}, {swizzle} is {codes[swizzle]}" if {mode, swizzle} <= set(codes) else ""
            yield Pitfall(
                "comment_contradicts", f"The text says {named} here, and the code gives {actual}{more}.", line
            )
            return


def _find_named_modes(words: str, alone: bool) -> set[str]:
    """Return the swizzle modes that a line names. alone: it sets only the mode, so that a bare number is one."""
    if "?" in _COMMENT.sub("", words):
        return set()  # it chooses between modes
    words = _PTX_TYPE.sub("", words)
    named = {match[1] or match[2] for match in _MODE.finditer(words)} if alone or _SWIZZLE.search(words) else set()
    return {f"{match}B" for match in named} | ({"none"} if _NONE.search(words) else set())


def _describe_stride_conflict(
    words: str, name: str, field_pattern: re.Pattern[str], other_pattern: re.Pattern[str], amount: int | None
) -> str:
    """Describe how a line contradicts its code about LBO or SBO; "" if it does not."""
    if other_pattern.search(words) and not field_pattern.search(words):
        field = "LBO, [29:16]" if name == "lbo" else "SBO, [45:32]"
        return f"The text calls this {'SBO' if name == 'lbo' else 'LBO'}, and the code puts it into {field}."
    comment = " ".join(filter(None, (group for match in _COMMENT.finditer(words) for group in match.groups())))
    numbers = _BYTES.findall(comment)
    factors = re.findall(r"\d+", _COMMENT.sub("", words))  # the comment may be about one of them
    single = len(re.findall(r"\d+", comment)) == len(numbers) == 1 and numbers[0] not in factors
    if amount is not None and single and int(numbers[0]) != amount:
        return f"The comment says {numbers[0]} bytes, and the code gives {name.upper()} {amount} B."
    return ""


def _list_lines(text: str, spans: Sequence[Span]) -> set[Span]:
    """Return the spans of the lines that contain some spans, without those that choose between values: a comment may
    be about the other one.
    """
    lines = set()
    for low, high in spans:
        begin = text.rfind("\n", 0, low) + 1
        end = text.find("\n", low)
        line = begin, end if end >= 0 else len(text)
        if "\n" not in text[low:high] and not _CHOICE.search(_COMMENT.sub("", text[slice(*line)])):
            lines.add(line)
    return lines


def _get_commented_line(text: str, line: Span) -> str:
    """Return a line, preceded by a comment on the line above it."""
    above = text[text.rfind("\n", 0, max(line[0] - 1, 0)) + 1 : max(line[0] - 1, 0)]
    line_text = text[slice(*line)]
    return f"{above}\n{line_text}" if _ALONE.fullmatch(above) and not _COMMENT.search(line_text) else line_text
