"""Names of instructions as people say and type them: `wgmma.m64n256k16 bf16`, `mma m16n8k16 f32 += half × half`.

`form_names` gives every form one name that no other has, `vocabulary` the common names of types, chips and shapes,
`search` the keys by which words find a form, `forms` the forms that a text names, `lookup` the one that it must mean.
"""
