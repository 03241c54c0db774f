"""Labels of form fields, by page; error messages use them. Fields without an entry use their own name."""

from lanescope.ptx.table.descriptors import WGMMA

SIDES = {"a": "A stored", "b": "B stored", "d": "D options"}  # options of a whole product
LABELS = {
    "short": {f.name: f.short for f in WGMMA.fields},
    "amounts": {f.amount: f.label for f in WGMMA.fields},
}
