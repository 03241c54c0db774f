"""Find instructions by informal names: `wgmma.m64n256k16 bf16`, `mma m16n8k16 f32 += half × half`.

`form_names` gives every form a unique name. `vocabulary` has the common names of types, chips and shapes, `search` the
keys that find a form, `forms` the forms that a text names, `lookup` the only form that a text can mean.
"""
