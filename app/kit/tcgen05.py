"""Options that questions about tcgen05.mma share."""

from __future__ import annotations

from typing import Any

from lanescope.app.kit.question import flag_field, number_field, word_field


def cta_group_field() -> Any:
    return word_field(("1", "2"), "CTA group", "CTAs that issue it together.")


def sparse_field() -> Any:
    return flag_field("Sparse A", "1: with .sp.")


def ws_field() -> Any:
    return flag_field(".ws", "1: with .ws.")


def rows_of_d_field(size: int = 5) -> Any:
    return number_field(128, "M", "Rows of D; of both CTAs with cta_group 2.", size=size)


def columns_of_d_field(size: int = 5) -> Any:
    return number_field(256, "N", "Columns of D.", size=size)
