"""What the server says of its own state. No framework."""

from __future__ import annotations

from typing import Annotated, Literal

from lanescope.app.kit.fact import Description, fact


@fact
class Health:
    """The process answers."""

    status: Literal["ok"]


@fact
class Ready:
    """The catalogue is loaded, the assembled targets are at hand, and a thread is free or soon will be."""

    status: Literal["ready"]
    instructions: int
    assembler: Annotated[str, Description("The ptxas that wrote the targets.")]
