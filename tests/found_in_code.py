"""What the evaluation of a code text finds, in one call."""

from __future__ import annotations

from lanescope.reader.code.descriptors.builders import DescriptorBuilder, find_evaluation_builders
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.maps.tensor_maps import find_evaluation_maps
from lanescope.reader.code.maps.tma_rules import TensorMap


def find_builders(text: str) -> tuple[DescriptorBuilder, ...]:
    """Every descriptor that a text builds."""
    evaluation = evaluate_text(text)
    return find_evaluation_builders(evaluation) if evaluation is not None else ()


def find_tensor_maps(text: str) -> tuple[TensorMap, ...]:
    """Every tensor map that a text makes."""
    evaluation = evaluate_text(text)
    return find_evaluation_maps(evaluation) if evaluation is not None else ()
