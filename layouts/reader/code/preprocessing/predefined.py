"""Known values of macros that a text does not define: those of nvcc, and those that test for a device.

Sources: nvcc's documentation (__NVCC__, __CUDACC__, __CUDACC_VER_MAJOR__, __CUDACC_RTC__, __CUDA_ARCH__); nvcc 12 and
13 compile C++17 by default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lanescope.reader.code.preprocessing.conditions import ConditionNode, ConditionValue, list_names

CPLUSPLUS = 201703
NOT_DEFINED, HAS = "not defined", "defined"  # values of macros without a number
DEFINED: Mapping[str, tuple[int, str]] = {
    "__cplusplus": (CPLUSPLUS, "nvcc's default"),
    "__CUDACC__": (1, "nvcc defines it"),
    "__NVCC__": (1, "nvcc defines it"),
    "__CUDACC_VER_MAJOR__": (13, "a current nvcc"),
}
UNDEFINED = frozenset(  # macros of NVRTC and of editors, which nvcc does not define
    ("__CUDACC_RTC__", "__CLION_IDE__", "__INTELLISENSE__", "__JETBRAINS_IDE__", "__RESHARPER__", "__CLANGD__")
)
ARCHITECTURE = "__CUDA_ARCH__"
HOPPER, BLACKWELL = 900, 1000
# Macros that test for a device, a feature or a version, assumed to be present.
_FEATURE = re.compile(r"CUDA|SM_?\d|(?<![A-Z])ARCH(?![A-Z])|HOPPER|BLACKWELL")
_BLACKWELL = re.compile(r"tcgen05|UMMA|SM100|sm_100")
_HOPPER = re.compile(r"wgmma|GMMA::|SM90_|sm_90|warpgroup")
# Names reserved for the compiler and the C library.
_RESERVED = re.compile(r"__|_[A-Z]|NDEBUG$|(?:WIN32|WIN64|linux|unix)$")


@dataclass(frozen=True, slots=True)
class PresumedMacro:
    """The value assumed for an undefined macro that decides a branch, with the reason."""

    name: str
    value: str
    why: str

    @property
    def message(self) -> str:
        return f"Taken: {self.name} is {self.value} ({self.why})."


def format_macro(name: str, value: ConditionValue) -> str:
    """Format the value of a macro that nvcc defines, as its documentation does."""
    return f"{value.number}L" if name == "__cplusplus" else str(value.number)


def is_feature_macro(name: str) -> bool:
    """Return whether a macro tests for a device, a feature of a device, or a version of CUDA."""
    return _FEATURE.search(name) is not None


def is_reserved_macro(name: str) -> bool:
    """Return whether a macro belongs to the compiler or to the C library."""
    return _RESERVED.match(name) is not None


def find_architecture(text: str) -> int | None:
    """Find the __CUDA_ARCH__ that a text is written for; None if it is written for several."""
    if not _BLACKWELL.search(text):
        return HOPPER
    return None if _HOPPER.search(text) else BLACKWELL


def decide_by_feature(node: ConditionNode, known: frozenset[str] = frozenset()) -> bool | None:
    """Return whether a condition on a feature is assumed to hold; None if it is not such a condition.

    The feature is assumed to exist, and its version to be at least the one tested for.
    """
    unknown = list_names(node) - known
    if not unknown or not all(map(is_feature_macro, unknown)):
        return None
    if node.op == "name":
        return True
    if node.op in (">=", ">", "<", "<=") and not list_names(node.parts[1]):
        return node.op in (">=", ">")
    return None


def find_macro_value(name: str, arch: int | None) -> tuple[ConditionValue, str] | None:
    """Find the value of a macro that nvcc defines, and why; None if it is unknown."""
    if name in DEFINED:
        value, why = DEFINED[name]
        return ConditionValue(value), why
    if name == ARCHITECTURE and arch is not None:
        return ConditionValue(arch), "the device that the text is for"
    return None
