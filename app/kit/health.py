"""The server's health."""

from __future__ import annotations

from typing import Annotated, Literal

from lanescope.app.kit.fact import Description, fact


@fact
class Health:
    """The process responds."""

    status: Literal["ok"]


@fact
class Ready:
    """The catalogue and the assembled targets are loaded, and a thread is free or soon will be."""

    status: Literal["ready"]
    instructions: int
    assembler: Annotated[str, Description("The ptxas that wrote the targets.")]
