"""Dumps of shared memory: the values that an instruction reads from them."""

from __future__ import annotations

import base64

from lanescope.app.dump import forms
from lanescope.app.dump.command import run_verify
from lanescope.app.dump.forms import DumpBody, DumpQuestion
from lanescope.app.kit.feature import Entry, Feature, Tool

DUMP = base64.b64encode(bytes(range(256))).decode()  # 8 × 16 elements of 16 bits

VERIFY = Tool(
    question=DumpQuestion,
    answer=forms.examine_dump,
    command="dump verify",
    help="What an instruction reads from a dump; with --expected, which elements are wrong and where they are. Exit"
    " status 1 where some are wrong, 2 where the dump does not hold all that is read.",
    run=run_verify,
)
FEATURE = Feature(
    tools=(
        VERIFY,
        Tool(question=DumpBody, answer=forms.verify_dump, api="dumps/verify", body="DumpBody", raw=True),
    ),
    written=("page",),
    menu=(
        Entry("Debug", 5, "Memory dump", "/dump", "what it reads from bytes you copied out, and where your tile is"),
    ),
    bodies={
        "/api/v1/dumps/verify": {
            "dump": DUMP,
            "descriptor": "0x0000001000080040",
            "instruction": "wgmma.mma_async.m64n8k16.f32.f16.f16",
            "operand": "b",
            "major": "K",
            "base": 1024,
        },
    },
)
