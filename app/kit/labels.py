"""Labels of form fields, by page; error messages use them. Fields without an entry use their own name."""

from lanescope.ptx.table.descriptors import WGMMA

DRAWN = {"down": "Rows run along", "unit": "One cell is", "number": "Numbers", "show": "Show", "plain": "Memory"}
SIDES = {"a": "A stored", "b": "B stored", "d": "D options"}  # options of a whole product
STEPS = {"row": "Row of D", "col": "Column of D", "product": "Product", "seed": "Random seed", "c": "C"}
LABELS = {
    "smem": {
        "element_bits": "Element bits",
        "major": "Major",
        "swizzle": "Swizzle",
        "mn": "Tile M or N",
        "k": "Tile K",
        "rows": "Rows of one instruction",
        "order": "Atoms first along",
        "base": "First byte",
        **DRAWN,
    },
    "atoms": {"element_bits": "Element bits", **DRAWN},
    "short": {f.name: f.short for f in WGMMA.fields},
    "amounts": {f.amount: f.label for f in WGMMA.fields},
    "steps": {**STEPS, "a": "A", "b": "B"},
    "steps_wgmma": {**STEPS, **SIDES, "data_a": "A", "data_b": "B"},
}
