"""How many threads a warp, a warpgroup and a block have; what executes an instruction is in role.py."""

from __future__ import annotations

WARP = 32
GROUP_WARPS = 4
WARPGROUP = GROUP_WARPS * WARP
MOST_THREADS = 1024  # of a block. CUDA Programming Guide, compute capabilities
