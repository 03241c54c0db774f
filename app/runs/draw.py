"""Pictures of a run: measured or simulated results, with every mismatch marked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.draw import draw_grid
from lanescope.app.kit.run_results import MmaRan
from lanescope.app.runs.facts import DescriptorRan, FragmentRan, RunAnswer

Array = NDArray[Any]


def draw_answer(result: RunAnswer) -> list[dict[str, str]]:
    """Return the pictures of one answer: title and SVG."""
    how = "simulated" if result.simulation else "measured"
    if isinstance(result, MmaRan):
        measured, predicted = np.asarray(result.measured, float), np.asarray(result.predicted, float)
        several = measured.ndim == 3
        pairs = zip(measured, predicted, strict=True) if several else [(measured, predicted)]
        return [
            _draw_comparison(f"D{f' of product {n}' if several else ''} as {how}", got, want, "{:g}".format)
            for n, (got, want) in enumerate(pairs)
        ]
    if isinstance(result, DescriptorRan):
        return [
            _draw_comparison(
                "byte address read for every element, row × k",
                np.asarray(result.measured),
                np.asarray(result.predicted),
                lambda n: f"{int(n):x}",
            )
        ]
    return _draw_fragment(result, how) if isinstance(result, FragmentRan) else []


def _draw_comparison(title: str, got: Array, want: Array, text: Any) -> dict[str, str]:
    wrong = ~(got == want)
    texts = [
        [text(g) if not w else f"{text(g)}≠{text(e)}" for g, w, e in zip(*row, strict=True)]
        for row in zip(got.tolist(), wrong.tolist(), want.tolist(), strict=True)
    ]
    return draw_grid(title, wrong, texts)


def _draw_fragment(result: FragmentRan, how: str) -> list[dict[str, str]]:
    axes = result.axes
    got = [np.asarray(result.measured[axis]) for axis in axes]
    want = [np.asarray(result.predicted[axis]) for axis in axes]
    wrong = np.any([g != w for g, w in zip(got, want, strict=True)], axis=0)
    if axes == ["row", "col"] and result.operand != "e":
        shape = (int(want[0].max()) + 1, int(want[1].max()) + 1)
        texts = [["?"] * shape[1] for _ in range(shape[0])]
        bad = np.ones(shape, bool)
        for t, v in np.argwhere((got[0] >= 0) & (got[1] >= 0) & (got[0] < shape[0]) & (got[1] < shape[1])):
            r, c = int(got[0][t, v]), int(got[1][t, v])
            texts[r][c] = f"T{t}:{v}"
            bad[r, c] = wrong[t, v]
        return [draw_grid(f"{result.operand.upper()} as {how}: which thread and value holds each element", bad, texts)]
    texts = [[",".join(str(int(g[t, v])) for g in got) for v in range(wrong.shape[1])] for t in range(wrong.shape[0])]
    return [draw_grid(f"{', '.join(axes)} as {how}, by thread (down) and value (across)", wrong, texts)]
