"""What accesses to shared memory cost in banks."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature

FEATURE = Feature(
    routers=("api", "page"),
    menu=(Entry("Shared memory", 6, "Bank conflicts", "/banks", "wavefronts of one warp's access"),),
    bodies={
        "/api/v1/banks": {"access": "ldmatrix.x4", "address": [128 * lane for lane in range(32)]},
        "/api/v1/banks/solve": {
            "row_bytes": 128,
            "accesses": [
                {"access": "ldmatrix.x4", "pattern": "ldmatrix"},
                {"access": "st.shared.b128", "address": [16 * lane for lane in range(32)]},
            ],
        },
    },
)
