"""The steps of one product."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.steps.draw import list_lines
from lanescope.app.steps.matrix_stepper import MatrixStepperQuestion, build_matrix_stepper
from lanescope.app.steps.stepper import StepperQuestion, build_stepper
from lanescope.app.steps.wgmma_stepper import WgmmaStepperQuestion, build_wgmma_stepper

STEPPER = Tool(
    question=StepperQuestion,
    answer=build_stepper,
    api="stepper",
    body="StepperBody",
)
MATRICES = Tool(
    question=MatrixStepperQuestion,
    answer=build_matrix_stepper,
    api="stepper/matrices",
    body="MatrixStepperBody",
    command="matrix-steps",
    lines=lambda _, stepper: list_lines(stepper),
)

WGMMA_STEPPER = Tool(
    question=WgmmaStepperQuestion,
    answer=build_wgmma_stepper,
    api="stepper/wgmma",
    body="WgmmaStepperBody",
)

FEATURE = Feature(
    tools=(STEPPER, MATRICES, WGMMA_STEPPER),
    written=("api", "page"),
    menu=(Entry("Instructions", 4, "Step through a product", "/steps", "from shared memory to D, a step at a time"),),
    bodies={
        "/api/v1/steps": {
            "instruction": "mma.m8n8k16.row.col.s32.s8.s8.s32",
            "data": {"a": "i", "b": "-(i + 1)"},
            "row": 0,
            "col": 1,
        },
        "/api/v1/stepper": {
            "instruction": "mma.m16n8k16.row.col.f32.f16.f16.f32",
            "k_step": 1,
            "storage": {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B"},
        },
        "/api/v1/stepper/matrices": {
            "instruction": "ldmatrix.m8n8.x4.trans.shared.b16",
            "values": "row * 100 + col",
            "matrices": "across_first",
            "storage": {"kind": "rows", "pitch_bytes": 128, "swizzle": "64B"},
        },
        "/api/v1/stepper/wgmma": {
            "instruction": "wgmma.mma_async.m64n8k16.f32.f16.f16",
            "b": "swizzle=128B,descriptor=0x8000004000010800",
        },
    },
)
