"""Figures for documents."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature

FEATURE = Feature(
    written=("api", "page"),
    menu=(
        Entry("Figures", 1, "Make a figure", "/diagram", "SVG, PNG, PDF or TikZ of any operand"),
        Entry("Figures", 2, "Gallery", "/gallery", "figures to copy, with their addresses"),
        Entry("Figures", 3, "Share and embed", "/guide/share", "any page in an issue, a chat or a frame"),
    ),
    examples={
        "/i/{ptx}.{form}": "/i/mma.m16n8k16.row.col.f32.f16.f16.f32.svg?theme=dark",
        "/i/{ptx}/{operand}.{form}": "/i/mma.m16n8k16.row.col.f32.f16.f16.f32/a.svg?colour=t&lanes=0-7",
        "/smem.{form}": "/smem.svg?major=K&swizzle=128B&mn=64&k=64",
    },
)
