"""Deliveries of public kernels, as requests with names and sources."""

from __future__ import annotations

from lanescope.delivery.ask import DeliveryRequest

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
LANE_ROW = "(t:32) (e:8) -> (t) (e)"
NAMED: dict[str, DeliveryRequest] = {
    # IST-DASLab/marlin, marlin/__init__.py: perm, scale_perm, scale_perm_single.
    "Marlin's weights": DeliveryRequest(instruction=F16, operand="b", first=8, stored="u4", source="chosen"),
    "Marlin's scales": DeliveryRequest(instruction=F16, operand="b", per="column", first=8, source="chosen"),
    "Marlin's scales of whole columns": DeliveryRequest(
        instruction=F16, operand="d", type="f16", per="column", second=4, source="chosen"
    ),
    # mit-han-lab/llm-awq, packing order; NVIDIA/FasterTransformer, interleaved_numeric_conversion.h.
    "int4 → f16, 75316420": DeliveryRequest(instruction=LANE_ROW, type="f16", stored="u4", source="chosen"),
    # Dao-AILab/flash-attention, hopper/: V of FP8 is transposed by LDSM.T and byte permutes.
    "FP8 V, transposed": DeliveryRequest(
        instruction=FP8, operand="b", first=2, source="columns", pitch_bytes=128, renumber="n"
    ),
    "FP8 V, n in order": DeliveryRequest(instruction=FP8, operand="b", first=2, source="columns", pitch_bytes=128),
    "FP8 accumulator → A": DeliveryRequest(instruction=FP8, operand="a", source="accumulator", stored="f32"),
    "FP8 accumulator → A, k permuted": DeliveryRequest(
        instruction=FP8, operand="a", source="accumulator", stored="f32", renumber="k"
    ),
    "bf16, 64 columns": DeliveryRequest(instruction=BF16, operand="a", second=4, source="rows", pitch_bytes=128),
}
