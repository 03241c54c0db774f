"""The emulator: a kernel's PTX executed on the CPU."""

from __future__ import annotations

from lanescope.app.emulate import forms
from lanescope.app.emulate.forms import EmulateBody
from lanescope.app.kit.feature import Entry, Feature, Tool

ADD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd3], %r2;
  ret;
}
"""

FEATURE = Feature(
    tools=(Tool(question=EmulateBody, answer=forms.emulate_body, api="emulate", body="EmulateBody", raw=True),),
    written=("page", "verbs"),
    menu=(Entry("Debug", 7, "Emulate", "/emulate", "a kernel run from its PTX: results, barriers, deadlocks"),),
    bodies={
        "/api/v1/emulate": {
            "ptx": ADD,
            "launch": {
                "grid": [1],
                "block": [32],
                "args": ["C"],
                "buffer": {"C": {"shape": [32], "type": "u32", "fill": 1}},
            },
        },
    },
)
