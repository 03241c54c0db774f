"""ldmatrix, stmatrix, movmatrix as PTX's figures show them, and the 8-bit forms as CUTLASS's copy traits state them."""

from __future__ import annotations

from tests.oracle.ptx import Fragment, Place


def m8n8(lane: int, i: int) -> Place:
    """Each group of four lanes holds one row, two 16-bit elements a lane; the next matrix is the next register."""
    matrix, half = i // 2, i % 2
    return matrix, lane // 4, lane % 4 * 2 + half


def m8n8_trans(lane: int, i: int) -> Place:
    matrix, row, col = m8n8(lane, i)
    return matrix, col, row


def m16n16_trans(lane: int, i: int) -> Place:
    """Byte j of register r: row 4t + 2r + (j mod 2), column g + 8 · (j div 2)."""
    matrix, inside = divmod(i, 8)
    r, j = divmod(inside, 4)
    return matrix, lane % 4 * 4 + 2 * r + j % 2, lane // 4 + 8 * (j // 2)


def m8n16(lane: int, i: int) -> Place:
    """Row g, four bytes from column 4t."""
    matrix, j = divmod(i, 4)
    return matrix, lane // 4, lane % 4 * 4 + j


def m16n8_trans(lane: int, i: int) -> Place:
    matrix, j = divmod(i, 4)
    return matrix, lane % 4 * 2 + j % 2, lane // 4 + 8 * (j // 2)


def movmatrix_d(lane: int, i: int) -> Place:
    row, col = lane // 4, lane % 4 * 2 + i
    return col, row


def movmatrix_a(lane: int, i: int) -> Place:
    return lane // 4, lane % 4 * 2 + i


def data(shape: str, transposed: bool) -> Fragment:
    if shape == "m8n8":
        return m8n8_trans if transposed else m8n8
    return {"m16n16": m16n16_trans, "m8n16": m8n16, "m16n8": m16n8_trans}[shape]


def address(shape: str, lane: int) -> tuple[int, int]:
    """(matrix, row): eight rows a matrix, sixteen for m16n16."""
    return divmod(lane, 16 if shape == "m16n16" else 8)


def scale_a(thread_id: int, row: int) -> int:
    """The lane that supplies a row's factor: the pair of its quad that thread-id-a names, the second lane for rows 8 to
    15.
    """
    quad, upper = row % 8, row // 8
    return 4 * quad + 2 * thread_id + upper


def scale_b(thread_id: int, col: int) -> int:
    return 4 * col + thread_id
