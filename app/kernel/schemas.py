"""A whole program around one instruction."""

from __future__ import annotations

from pydantic import Field

from app.kit.names import Target
from app.kit.schemas import Closed, Word64


class Options(Closed):
    """Every option by side, spelled in full: what was given, and the defaults."""

    a: dict[str, str]
    b: dict[str, str]
    d: dict[str, str]


class Program(Closed):
    """A program, and what it was made of."""

    ptx: str
    title: list[str] = Field(description="What it computes and how A and B lie, a line each.")
    target: Target = Field(description="The oldest architecture that has everything it uses.")
    build: str = Field(description="How to build and run the .cu file.")
    command: str = Field(description="The command that writes the same file.")
    options: Options
    k: int = Field(description="Elements of K of the whole product.")
    steps: int = Field(description="How many instructions it takes.")
    shared_bytes: int = Field(description="Dynamic shared memory of a block.")
    immediates: dict[str, int] = Field(description="The instruction's immediates by name.")
    descriptors: dict[str, list[Word64]] = Field(
        description="wgmma: each step's descriptor of a and b, starts counted from shared memory."
    )
    cu: str = Field(description="CUDA C++.")
    py: str = Field(description="Python for CuPy and NVRTC.")
