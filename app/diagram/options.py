"""The options of a diagram and what each takes: addresses, the builder page and the command line."""

DIAGRAM = {
    "colour": "a name of the pattern, or register",
    "label": "lane:value, register, row,col, index or none",
    "lanes": "lanes or threads shown: 0-7,12",
    "warps": "warps of a warpgroup shown: 0,2",
    "rows": "window: 0-15",
    "cols": "window: 0-7",
    "theme": "light, dark or bw (hatches)",
    "cell": "a cell in pixels: 40 or 40x20",
    "title": "text above; empty for none",
    "legend": "1: what the colours mean",
    "caption": "1: pattern and formulas below",
    "lang": "en, de, fr or zh",
    "product": "which of the four products of m8n8k4",
    "scale": "PNG pixels a unit, 0.25 to 8; 2 or what fits",
    "embed": "TeX: 1 for a tikzpicture to \\input",
}
DRAWN = ("theme", "title", "scale", "embed")  # options of a picture without a fragment
