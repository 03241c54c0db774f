"""Pins of pictures: what the pages of tensor memory, shared memory, chains, loops and tcgen05 tiles say of a cell."""

from __future__ import annotations

import json
import re

import numpy as np

from lanescope.app.kit.sheets import ABSENT, PinSheet, SheetLayer, SheetPage, SheetWords
from tests.cases import for_each
from tests.client import Client

PAIR = "/tiles/mma?atom=SM100_MMA_F16BF16_2x1SM_SS<half_t,half_t,float,256,128,UMMA::Major::K,UMMA::Major::K>"


def read_answer(client: Client, path: str) -> str:
    """Read what a page says first, as plain text."""
    text = client.get(path).text
    said = re.findall(r'<div class="says"[^>]*>(.*?)</div>', text, re.S) or re.findall(
        r'class="says"\s+aria-live="polite">(.*?)</div>', text, re.S
    )
    return " ".join(re.sub(r"<[^>]+>", " ", said[0].replace("<code>", "").replace("</code>", "")).split())


@for_each(
    ("path", "said"),
    [
        # M = 128: row r of D is lane r, column c; warp 70 / 32. 32x32b.x32 at 64:32 gives lane 64 + t, column 32 + r.
        ("/tmem?pin=cta0:70,3", "D[70][3] is in lane 70, column 3 Lane 70, columns 0–255, has row 70 of D; warp 2"),
        ("/tmem?pin=cta0:70,40", "moves it to thread 6 of the warp, register 8."),
        ("/tmem?pin=cta0:70,300", "Nothing is placed in lane 70, column 300"),
        (
            "/tmem?m=128&n=64&access=tcgen05.ld.32x32b.x4&at=64:300&pin=cta0:70,301",
            "Nothing is placed in lane 70, column 301 tcgen05.ld.sync.aligned.32x32b.x4.b32 moves it to thread 6",
        ),
        # 16-bit A: two k a column; from column 128, k 4 and 5 are in column 130.
        ("/tmem?m=64&n=128&a_at=128&pin=cta0:3,130", "A[3][4–5] is in lane 3, column 130"),
        # A pair with M = 256 has 128 rows in each CTA; row 200 is row 72 of the second.
        ("/tmem?cta_group=2&m=256&find=row 200", "D[200][0] is in CTA 1, lane 72, column 0"),
        # A pair with M = 128: 64 rows a CTA; columns from N / 2 on are 64 lanes further down: 36 + 64, 40 − 32.
        ("/tmem?cta_group=2&m=128&n=64&find=D[100][40]", "D[100][40] is in CTA 1, lane 100, column 8"),
        ("/tmem?pin=cta0:70,3&pin2=cta0:95,3", "The same warp of a warpgroup reaches both."),
        ("/tmem?pin=cta0:70,3&pin2=cta0:96,3", "No warp reaches both"),
        ("/tmem?cta_group=2&m=256&pin=cta0:70,3&pin2=cta1:70,3", "No warp reaches both"),
        # 128B swizzle: row 5, k 9 of bf16 is chunk 1 ^ 5 of its row: 640 + 64 + 2.
        ("/smem?pin=tile:5,9", "[5][9] (mn, k) is at byte 0x2c2, 706 bytes into the tile, bank 16"),
        ("/smem?find=byte 707", "[5][9] (mn, k) is at byte 0x2c2"),
        ("/smem?base=0x400&find=0x6c2", "[5][9] (mn, k) is at byte 0x6c2, 706 bytes into the tile, bank 16"),
        ("/smem?pin=tile:0,0&pin2=tile:0,64", "Where is an element?"),
        ("/smem?pin=tile:0,0&pin2=tile:8,0", "Both are in the same bank."),
        # m16n8k16: C(5,9) is lane 4 · 5 + (9 mod 8) / 2, c1 of the second atom along N: 4 + 1; A's k 9 is a5.
        ("/tiles/mma/chain?pin=c:5,9", "C(5,9) is in thread 20, value 5; A needs it in thread 20, value 5"),
        ("/tiles/mma/chain?find=T20:5", "C(5,9) is in thread 20, value 5"),
        # cp.async (16,8):(8,1) of 8 values: row 5, k 8–15 are thread 8 · 5 + 1; two warps along N hold A.
        ("/tiles/loop?pin=a:5,9", "A[5][9] (m, k) reaches thread 20 (warp 0, lane 20), value 5; 2 threads hold it"),
        ("/tiles/loop?pin=a:5,9", "Thread 41 copies it to shared memory, access #0."),
        # 512 × 256 as 2 × 2 MMAs of a pair: row 300 is row 44 of CTA 0 in the second MMA along M; D is 128 columns.
        (f"{PAIR}&tile=512x256x64&pin=d:300,200", "D[300][200] is in tensor memory of CTA 0: lane 44, column 456"),
        (f"{PAIR}&tile=512x256x64&find=A[400][17]", "A[400][17] is in the shared memory of CTA 1"),
        (f"{PAIR}&tile=512x256x64&pin=tmem:44,456", "D[300][200] is in lane 44, column 456 of CTA 0"),
    ],
    sample=8,
)
def test_a_pinned_cell_says_what_it_holds(client: Client, path: str, said: str) -> None:
    assert said in read_answer(client, path.replace("<", "%3C").replace(">", "%3E"))


def test_a_wrong_mask_keeps_what_was_typed_and_says_why(client: Client) -> None:
    page = client.get("/zero-column-mask?skip_span=999&m=64&n=128")
    assert page.status_code == 422 and 'value="999"' in page.text
    assert "Give an integer from 0 to 255.</small>" in page.text
    assert client.get("/zero-column-mask?word=0x1&skip_span=3").status_code == 422


def test_numbers_are_sent_as_sums_only_where_they_are() -> None:
    """Row + column is a sum, row · column is not; a row without anything stays without."""
    row, col = np.indices((3, 4), dtype=np.int64)
    words = SheetWords("", "", "", "")

    def send(numbers: np.ndarray) -> dict[str, list[int]]:
        sheet = PinSheet("x", "X", 3, 4, (SheetLayer("{n}", {"n": numbers}),), ())
        text = SheetPage((sheet,), words, "").build_context({})["sheet_data"]
        found: dict[str, list[int]] = json.loads(text)["sheets"][0]["layers"][0]["numbers"]["n"]
        return found

    assert send(8 * row + col) == {"down": [0, 8, 16], "across": [0, 1, 2, 3]}
    assert send(row * col) == {"cells": [0, 0, 0, 0, 0, 1, 2, 3, 0, 2, 4, 6]}
    assert send(np.where(row == 1, -1, 8 * row + col)) == {"down": [0, ABSENT, 16], "across": [0, 1, 2, 3]}
    holes = np.where((row == 1) & (col == 1), -1, 8 * row + col)
    assert send(holes) == {"cells": holes.reshape(-1).tolist()}
