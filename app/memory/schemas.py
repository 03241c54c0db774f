"""What the bodies of dumps, tiles and runs, which pydantic documents, take from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanescope.app.kit.schemas import ClosedModel, model_of
from lanescope.app.memory import questions
from lanescope.app.memory.questions import DescriptorText, Slice
from lanescope.app.memory.storage import Storage

__all__ = ["DescriptorText", "ReadsBody", "Slice", "Storage"]

if TYPE_CHECKING:
    ReadsBody = ClosedModel
else:
    ReadsBody = model_of(questions.ReadsBody)
