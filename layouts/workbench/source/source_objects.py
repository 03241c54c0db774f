"""Descriptors and tensor maps that the code of a source text makes, with their places, for editors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lanescope.errors import refuse_deep_recursion
from lanescope.reader.code.descriptors import builders
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.maps import tensor_maps
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.workbench.results import Span
from lanescope.workbench.source.guesses import evaluate_file
from lanescope.workbench.source.target_checks import make_choices


@dataclass(frozen=True, slots=True)
class SourceObjects:
    """The descriptors and tensor maps that a text's code makes, once per execution."""

    builders: tuple[DescriptorBuilder, ...] = ()
    maps: tuple[TensorMap, ...] = ()


@refuse_deep_recursion()
def find_source_objects(
    text: str, choices: Mapping[str, str] | None = None, headers: Iterable[Span] = (), target: str = ""
) -> SourceObjects:
    """Find the descriptors and tensor maps of a text; takes the arguments of check_text, and caches the evaluation for
    it.
    """
    code = evaluate_file(text, make_choices(choices, headers, target))
    if code is None:
        return SourceObjects()
    return SourceObjects(tuple(builders.build_descriptors(code)), tensor_maps.find_named_maps(code))
