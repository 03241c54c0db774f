"""Runs on a device: bodies by kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from lanescope.app.banks.questions import Address
from lanescope.app.hardware.product_inputs import SEED
from lanescope.app.kit.memory_words import AccessName, Major
from lanescope.app.kit.run_results import Backend
from lanescope.app.kit.schemas import ClosedModel, Number, PtxText
from lanescope.app.memory.questions import DescriptorText
from lanescope.product.options import LONGEST

SideOptions = Annotated[
    str | dict[str, str | int],
    Field(examples=["major=MN,swizzle=64B", {"major": "MN", "swizzle": "64B"}], max_length=LONGEST),
]


Matrix = TypeAliasType(
    "Matrix",
    Annotated[
        str | list[float] | list[list[float]] | list[list[list[float]]],
        Field(
            description=(
                "A formula of i (the element's place in memory: A and C row by row, B column by column), row and col;"
                " or rows of numbers; or one list of all numbers as memory has them."
            ),
            examples=["-(i + 1)", "row == col ? 1 : 0"],
        ),
    ],
)


class MmaData(ClosedModel):
    """Matrices in place of random ones; C is zero where it is left out."""

    a: Matrix = ""
    b: Matrix = ""
    c: Matrix = ""


class RunBase(ClosedModel):
    backend: Backend = Backend("cuda")
    device: Number = Field(default=0, description="The CUDA device's number.")
    architecture: str = Field(
        default="", examples=["sm_90"], description="Run it on a device of this architecture, or not at all."
    )
    worker: str = Field(
        default="", examples=["gpu-a:0"], description="Run it on this device of the fleet, as GET /gpu names it."
    )


class MmaRun(RunBase):
    """One product of random matrices against NumPy."""

    kind: Literal["mma"]
    instruction: PtxText
    a_from: Literal["registers", "shared"] = Field(
        default="registers", description="shared: wgmma's A through a descriptor."
    )
    seed: Number = SEED
    a: SideOptions = Field(
        default="",
        description="With a, b or d it is a whole product, by the program of /instructions/{ptx}/kernel:"
        " how A is stored.",
    )
    b: SideOptions = Field(default="", description="How B is stored.")
    d: SideOptions = Field(default="", description="What becomes of C and D.")
    data: MmaData = Field(default=MmaData(), description="Not together with a, b or d.")


class FragmentRun(RunBase):
    """One operand's map, measured element by element without the map."""

    kind: Literal["fragment"]
    instruction: PtxText
    operand: str | None = Field(
        default=None, examples=["a"], description="The first that can be measured, where it is left out."
    )


class DescriptorRun(RunBase):
    """The byte a wgmma descriptor reads for every element."""

    kind: Literal["descriptor"]
    descriptor: DescriptorText
    instruction: PtxText = Field(examples=["wgmma.mma_async.m64n64k16.f32.f16.f16"])
    operand: Literal["a", "b"] = "a"
    major: Major = Major("K")


class BanksRun(RunBase):
    """The clocks of one access against its predicted wavefronts."""

    kind: Literal["banks"]
    access: AccessName
    address: Address


RunBody = Annotated[MmaRun | FragmentRun | DescriptorRun | BanksRun, Field(discriminator="kind")]
