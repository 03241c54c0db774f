"""Read a tl.dot with the sizes of its tile: the instruction that Triton chooses, and the page that says why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from lanescope.app.kit.fact import copy_fact
from lanescope.app.read import elsewhere, page_meanings, question_readings, target_meanings
from lanescope.app.read.facts import Reading
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, parse_choice
from lanescope.names import vocabulary
from lanescope.ptx.targets import TARGETS, parse_target_name
from lanescope.triton.dot import TritonDot, choose_instruction
from lanescope.triton.dot_types import PRECISIONS, RESULTS, TYPES

_LONGEST = 300  # characters
_CALL = re.compile(r"\btl\.dot\b(?!_)(?P<arguments>\s*\((?!\s*\d)[\w\s,=.\"']*\))?")
_KEYWORD = re.compile(r"(\w+)\s*=\s*[\"']?([\w.]+)")
_PRECISION = re.compile(r"\b(input_precision|allow_tf32)\s*[=:]\s*[\"']?(\w+)[\"']?")
_SIZES = re.compile(r"(?<![\w.])(?P<m>\d{1,4})\s*[x×]\s*(?P<n>\d{1,4})\s*[x×]\s*(?P<k>\d{1,4})(?![\w.])")
_NAMED = re.compile(r"(?<![A-Za-z0-9])(?:BLOCK_?(?:SIZE_?)?)?(?P<name>[MNK])\s*[=:]?\s*(?P<size>\d{1,4})(?!\w)", re.I)
_PAIR = re.compile(r"[\[(]\s*(\d{1,4})\s*[,x×]\s*(\d{1,4})\s*[\])]")
_WARPS = re.compile(r"\bnum_warps\s*[=:]?\s*(\d{1,2})\b|\b(\d{1,2})\s+warps?\b", re.I)
_TYPE = {name: triton for triton, row in TYPES.items() for name in (triton, row.ptx, row.mlir.lower())} | {
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "f32": "fp32",
    "fp8": "fp8e4nv",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "float64": "fp64",
    "i8": "int8",
}
_OTHER_TYPE = re.compile(r"(?:u?int|[usif]|fp|b?float|tf|bf|e\dm)\d\w*|bool|uint|complex\w*|double")
_BESIDE = frozenset(
    "a an b c d acc m n k x with and of the on in for by is which instruction does what triton choose use tile"
    " tl".split()
)
# what a product is compiled for: `on GTX 1080`, `RTX 9999`
_DEVICE = re.compile(
    r"\b(?:on|for)\s+(?:an?\s+)?([A-Za-z][\w-]*(?:\s+\d\w*)?)|\b((?:GTX|RTX|TITAN|Tesla|Quadro|GeForce)\b[\s\w]{0,12})",
    re.I,
)
_DEFAULT_TYPE, _DEFAULT_TARGET, _DEFAULT_WARPS = "fp16", "sm_90a", 4


def read_dot(text: str) -> Reading | None:
    """Read a tl.dot with M, N and K; None for any other text, or if a size is missing.

    What the text leaves open is that of the page: fp16, sm_90a, 4 warps.
    """
    call = _CALL.search(text)
    if call is None or len(text) > _LONGEST or "\n" in text.strip() or elsewhere.is_other_maker(text):
        return None
    try:
        sizes, rest = _find_sizes(_PRECISION.sub(" ", f"{text[: call.start()]} {text[call.end() :]}"))
    except LayoutError as error:
        return question_readings.build_unknown(text, "No such product", [f"{error.message} {error.hint}"])
    if sizes is None:
        return None
    arguments = dict(_KEYWORD.findall(call["arguments"] or "")) | dict(_PRECISION.findall(text))
    return _read_sized(text, sizes, rest, arguments)


def _read_sized(text: str, sizes: tuple[int, int, int], rest: str, arguments: dict[str, str]) -> Reading | None:
    """Read a product of these sizes by the other words of its text; None if they name several types or targets."""
    precision = _find_precision(arguments)
    warps = _WARPS.search(rest)
    named = target_meanings.find_targets(_WARPS.sub(" ", rest))
    targets = set(map(_widen_target, named.names))
    words = re.findall(r"[a-z]\w*|\d\w*", named.rest.lower())
    if not targets and (device := _find_device(named.rest)):
        why = f"No target '{device}' is known. Give a GPU or a target, such as H100 or sm_90a."
        return question_readings.build_unknown(text, "No such target", [why])
    types = {_TYPE.get(word, "") for word in words if word in _TYPE or _OTHER_TYPE.fullmatch(word)}
    if len(types) > 1 or len(targets) > 1 or "" in types:
        return None
    unused = _list_unused(words)
    kind, target = next(iter(types), _DEFAULT_TYPE), next(iter(targets), _DEFAULT_TARGET)
    count = int(warps[1] or warps[2]) if warps else _DEFAULT_WARPS
    given = ((types, kind), (targets, target), (warps, f"{count} warps"))
    assumed = join_words([value for found, value in given if not found])
    notices = [f"Assumed: {assumed}. The page takes any other."] if assumed else []
    notices += [f"Not used: {join_words([*unused, *arguments])}."] if unused or arguments else []
    acc = RESULTS.get(kind, ("fp32",))[0]
    return _read_choice(text, TritonDot(*sizes, kind, kind, target, acc, count, precision=precision), notices)


def _list_unused(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in _TYPE and word not in _BESIDE]


def _find_device(text: str) -> str:
    """Return what a text says that a product is compiled for, "" if that is nothing but a type."""
    found = _DEVICE.search(text)
    name = (found[1] or found[2]).strip() if found is not None else ""
    return "" if name.lower().split(" ")[0] in {*_TYPE, *_BESIDE} else name


def _read_choice(text: str, dot: TritonDot, notices: list[str]) -> Reading:
    """Read a product by Triton's choice, or the reason why it has none."""
    what = f"tl.dot {dot.m}×{dot.n}×{dot.k} {dot.a} on {dot.target} with {dot.num_warps} warps"
    try:
        parse_target_name(dot.target, "target")
        parse_choice(dot.precision, "input_precision", PRECISIONS)
        choice = choose_instruction(dot)
    except LayoutError as error:
        return question_readings.build_unknown(text, what, [f"{error.message} {error.hint}".strip(), *notices])
    names = ("m", "n", "k", "a", "b", "num_warps", "target", "precision")
    link = f"/triton-dot?{urlencode({name: getattr(dot, name) for name in names})}"
    title = f"{what}: {choice.attempts[-1].instruction}"
    meaning = page_meanings.build_page_meaning(title, link, (f"{choice.reason}.", *notices))
    return copy_fact(Reading, meaning, also=())


def _find_sizes(text: str) -> tuple[tuple[int, int, int] | None, str]:
    """Return M, N and K of a text, None if it does not give each once, and the text without them. LayoutError if A and
    B do not fit.
    """
    if (match := _SIZES.search(text)) and len(_SIZES.findall(text)) == 1:
        return (int(match["m"]), int(match["n"]), int(match["k"])), _SIZES.sub(" ", text)
    named = {match["name"].upper(): int(match["size"]) for match in _NAMED.finditer(text)}
    if len(named) == len(_NAMED.findall(text)) == 3:
        return (named["M"], named["N"], named["K"]), _NAMED.sub(" ", text)
    pairs = [(int(first), int(second)) for first, second in _PAIR.findall(text)]
    if len(pairs) in (2, 3) and pairs[0][1] == pairs[1][0] and pairs[2:] in ([], [(pairs[0][0], pairs[1][1])]):
        return (pairs[0][0], pairs[1][1], pairs[0][1]), _PAIR.sub(" ", text)
    if len(pairs) == 2:
        message = f"A has {pairs[0][1]} columns and B {pairs[1][0]} rows."
        raise LayoutError("bad_shape", message, "Both are K: A is [M, K] and B is [K, N].", "text")
    return None, text


def _find_precision(arguments: dict[str, str]) -> str:
    """Take the precision of fp32 out of the arguments; allow_tf32=False is ieee, as Triton reads it."""
    allowed = arguments.pop("allow_tf32", "True")
    return arguments.pop("input_precision", PRECISIONS[0] if allowed in ("True", "1") else "ieee")


def _widen_target(name: str) -> str:
    """Return the target with the most features that a name means: sm_90a for sm_90."""
    return next((target for target in vocabulary.SYNONYMS.get(name, ()) if target in TARGETS), name)
