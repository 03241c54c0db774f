"""All tables of families, in the order of the catalogue. To add a table, add its module here."""

from lanescope.ptx.table import mma, mma_scaled, mma_sparse, movement, tcgen05, umma, wgmma, wmma

TABLES = (mma, mma_sparse, mma_scaled, wgmma, wmma, movement, tcgen05, umma)
