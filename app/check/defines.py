"""Values of -D options: parsed, passed to the engine, and reported if no file leaves them open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lanescope.cxx.literals import parse_literal
from lanescope.cxx.source_text import strip_comments
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx.targets import TARGETS, get_widest
from lanescope.reader.code.preprocessing.predefined import ARCHITECTURE
from lanescope.workbench.source.open_names import can_be_given, list_names

NAME = re.compile(r"[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)*")  # as the notes print them: BK, Config::BK, p.pitch
GIVEN = "macro."  # begins the key of a value that -D gives
BLOCK = frozenset(("blockDim.x", "blockDim.y", "blockDim.z"))  # threads of kernels that nothing launches
_INTEGER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")
_NUMERIC = re.compile(r"\d[\w']*")  # begins as a number; with an underscore it may be a literal of the user's, 4_c
_REAL = re.compile(r"[\d']+(?:[eE]\d+[fFlL]?|[fF])|[\d']*_.*|0[xX][\da-fA-F]+[pP]\d+[fFlL]?|\d{2,3}a")  # 90a: a target
_MAP_FIELD = re.compile(r"(.+)\.(?:box_[0-4]|swizzle)")  # of a tensor map that a file loads through
_FOR = re.compile(r"\bfor\s*\(")
_TYPE = r"(?:constexpr|const|static|inline|auto|int|unsigned|bool|long|u?int\d+_t|size_t)\b"


def parse_defines(words: Iterable[str]) -> dict[str, str]:
    """Parse NAME=VALUE: values of open names, as the notes print them; NAME alone is 1, as for a compiler."""
    values: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not NAME.fullmatch(name.strip()) or (sign and not value.strip()):
            raise LayoutError(
                "bad_usage", f"-D: '{shorten_value(word, 60)}' is not NAME=VALUE.", "Write -D BK=64.", "define"
            )
        given = value.strip()
        if _NUMERIC.fullmatch(given) and not _REAL.fullmatch(given) and parse_literal(given) is None:
            raise LayoutError(
                "bad_usage",
                f"-D: {name.strip()} is '{shorten_value(given, 60)}', which is not a number.",
                f"Write -D {name.strip()}=64.",
                "define",
            )
        values[name.strip()] = given if sign else "1"
    return values


def find_target(defines: Mapping[str, str]) -> str:
    """Return the target of a value of __CUDA_ARCH__, with all features of the architecture; "" if there is none.

    >>> find_target({"__CUDA_ARCH__": "900"})
    'sm_90a'
    """
    value = defines.get(ARCHITECTURE, "")
    architecture = f"sm_{value[:-1]}"
    return get_widest(architecture) if value.endswith("0") and architecture in TARGETS else ""


def make_choices(defines: Mapping[str, str]) -> dict[str, str]:
    """Return the `choices` of build_workbench for values of macros and names, and of unknown parts of addresses."""
    choices: dict[str, str] = {}
    for name, value in defines.items():
        choices[GIVEN + name] = value
        if _INTEGER.fullmatch(value):
            choices[f"at.{name}"] = choices[f"at.{name}()"] = value  # get_stage of get_stage()
    return choices


def list_unused(names: Iterable[str], texts: Iterable[str]) -> Iterator[str]:
    """Yield the names that no text contains, and those that are defined in every text that contains them."""
    codes = [strip_comments(text) for text in texts]
    for name in names:
        if name != ARCHITECTURE and not any(_may_leave_open(name, code) for code in codes):
            yield name


def _make_operand_pattern(name: str) -> str:
    """Return a pattern for the SASS or PTX operand of a name: c_0x210 for c[0x0][0x210], p_8 for [p+8], and r1_2 for
    the second value of %r1.
    """
    if constant := re.fullmatch(r"c_(0x[0-9a-f]+)", name):
        return rf"(?<!\w)c\[0x0\]\[{constant[1]}\]"
    if numbered := re.fullmatch(r"(\w+)_(\d+)", name):
        return rf"\[\s*{numbered[1]}\s*\+\s*{numbered[2]}\s*\]|%{numbered[1]}(?!\w)"
    return r"(?!)"


def _may_leave_open(name: str, code: str) -> bool:
    """Return whether a text contains a name and may leave its value open."""
    if re.search(_make_operand_pattern(name), code) or (name in BLOCK and "__global__" in code):
        return True
    if (of_map := _MAP_FIELD.fullmatch(name)) and re.search(rf"(?<!\w){re.escape(of_map[1])}(?!\w)", code):
        return True
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    if not re.search(word, code) or not list_names(name) or not can_be_given(name):
        return False
    code = _FOR.sub("for ", code)  # the loop's variable is not a parameter
    if re.search(
        rf"[<,(]\s*(?:const\s+)?[\w:]+\s+{word}\s*[,>)=]|#\s*if[^\n]*{word}", code
    ):  # a parameter, a condition
        return True
    return not re.search(rf"#\s*define\s+{word}|{_TYPE}[^;(){{}}]*?{word}\s*=(?!=)", code)
