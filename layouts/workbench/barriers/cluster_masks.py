"""Find multicast copies and commits for CTAs that a cluster does not have: PTX ISA 9.1, 9.7.9.25.5.2, ctaMask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from lanescope.cxx.named_numbers import find_named_number
from lanescope.cxx.source_text import find_closing, split_arguments
from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.workbench.kernels.kernel_runs import KernelRun, KernelText
from lanescope.workbench.text.asm_operands import find_operand_argument, join_strings

TITLES = {"multicast_mask": "The mask of a multicast names a CTA that the cluster does not have"}
_FIELD = r"(%\d+|%\[\w+\])"
_MASKS = (
    re.compile(rf"multicast::cluster\S*\s+\[[^\]]*\]\s*,\s*\[[^\]]*\]\s*,\s*(?:%\w+\s*,\s*)?\[[^\]]*\]\s*,\s*{_FIELD}"),
    re.compile(rf"tcgen05\.commit\S*multicast::cluster\S*\s+\[[^\]]*\]\s*,\s*{_FIELD}"),
)
_DIMENSIONS = re.compile(r"\b__cluster_dims__\s*\(")
_ATTRIBUTE = re.compile(r"\bclusterDim\.([xyz])\s*=\s*([^;]+);")


def find_mask_mistakes(text: KernelText) -> list[Pitfall]:
    """Find masks of multicasts with a bit beyond the CTAs of the cluster, if both are known."""
    if "multicast" not in text.code.text:
        return []
    return text.check_runs(lambda run: _check_kernel(text, run))


def _check_kernel(text: KernelText, kernel: KernelRun) -> Iterator[Pitfall]:
    size = _find_cluster_size(text, kernel.name)
    for event in kernel.events if size is not None else ():
        run = event.run
        if size is None or not isinstance(run, AsmRun) or "multicast" not in run.text:
            continue
        code = join_strings(run.text)
        for match in filter(None, (form.search(code) for form in _MASKS)):
            value, span, _ = find_operand_argument(run, match[1], 0)
            mask = value.known if value is not None else None
            if mask is not None and mask >= 1 << size:
                message = (
                    f"The mask {mask:#x} of this multicast names CTA {mask.bit_length() - 1}: clusters of {kernel.name}"
                    f" have {size} (bits 0 to {size - 1})."
                )
                yield Pitfall("multicast_mask", message, span)


def _find_cluster_size(text: KernelText, name: str) -> int | None:
    """Return the CTAs of a kernel's clusters: by its attribute, or by the only attribute of launches; None if open."""
    kernels = [function for function in text.functions if function.kernel]
    of_name = [function for function in kernels if function.name == name]
    if len(of_name) != 1:
        return None
    start, end = max(text.blank.rfind(mark, 0, of_name[0].body[0]) for mark in ";}"), of_name[0].body[0]
    match = _DIMENSIONS.search(text.blank, max(start, 0), end)
    if match is not None:
        return _multiply(
            text.blank, split_arguments(text.blank[match.end() : find_closing(text.blank, match.end() - 1)])
        )
    given = _ATTRIBUTE.findall(text.blank)
    if len(kernels) != 1 or sorted(axis for axis, _ in given) != ["x", "y", "z"]:
        return None
    return _multiply(text.blank, [value for _, value in given])


def _multiply(blank: str, sizes: list[str]) -> int | None:
    numbers = [find_named_number(blank, size.strip()) for size in sizes]
    return prod(map(int, numbers)) if numbers and all(number.isdecimal() for number in numbers) else None
