"""Convert parameters of AMD's layouts (earlier Triton releases, Gluon's classes) to the names of Triton 3.9.

amd_mfma: versionMajor until 3.4, elementType (Gluon's elem_type) in 3.5. amd_wmma: Gluon's bases, or until 3.6
warpsPerCTA. These are the forms that the wheels 3.2.0 to 3.9.0 print.
"""

from __future__ import annotations

from typing import Any

_PRINTED = {  # in the order in which Triton prints them
    "amd_mfma": "version warpsPerCTA instrShape isTransposed CGALayout CTAsPerCGA CTASplitNum CTAOrder tilesPerWarp"
    " elementBitWidth".split(),
    "amd_wmma": "version isTranspose ctaLayout warpsPerCTA CGALayout CTAsPerCGA CTASplitNum CTAOrder tilesPerWarp"
    " instrShape".split(),
}
_ELEMENT_BITS = {"f64": 64, "float64": 64, "fp64": 64, "f32": 32, "float32": 32, "fp32": 32, "i32": 32, "int32": 32}
MFMA_NAMES = (  # of Gluon's class; 3.5 has elem_type, ctas_per_cga in the places of element_bitwidth, cga_layout
    "version instr_shape:instrShape transposed:isTransposed warps_per_cta:warpsPerCTA element_bitwidth:elementBitWidth"
    " tiles_per_warp:tilesPerWarp cga_layout:CGALayout cta_split_num:CTASplitNum cta_order:CTAOrder"
    " elem_type:elementType ctas_per_cga:CTAsPerCGA"
)
WMMA_NAMES = (  # until 3.6 version, transposed, warps_per_cta, instr_shape, tiles_per_warp, cga_layout
    "version transposed:isTranspose warp_bases reg_bases instr_shape:instrShape cga_layout:CGALayout rank"
    " warps_per_cta:warpsPerCTA tiles_per_warp:tilesPerWarp"
)


def upgrade_parameters(attribute: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of amd_mfma or amd_wmma with Triton 3.9's names, in its order; other attributes
    unchanged.
    """
    if attribute not in _PRINTED:
        return params
    params = {key: value for key, value in params.items() if value != "None"}
    params = _upgrade_wmma(params) if attribute == "amd_wmma" else _upgrade_mfma(params)
    listed = [name for name in _PRINTED[attribute] if name in params]
    return {name: params[name] for name in [*listed, *(name for name in params if name not in listed)]}


def _upgrade_mfma(params: dict[str, Any]) -> dict[str, Any]:
    params.pop("versionMinor", None)
    if "versionMajor" in params:
        params["version"] = params.pop("versionMajor")
    if isinstance(params.get("elementBitWidth"), str):
        params["elementType"] = params.pop("elementBitWidth")
    word = str(params.get("elementType", "")).rpartition(".")[2]
    if word in _ELEMENT_BITS:
        params.setdefault("elementBitWidth", _ELEMENT_BITS[word])
        del params["elementType"]
    if _is_flat(params.get("CGALayout")):
        params["CTAsPerCGA"] = params.pop("CGALayout")
    return params


def _upgrade_wmma(params: dict[str, Any]) -> dict[str, Any]:
    if params.get("ctaLayout") == []:  # Triton prints ctaLayout = {} for one warp
        params["ctaLayout"] = {}
    if "warp_bases" not in params:
        return params
    warps, registers = params.pop("warp_bases"), params.pop("reg_bases", [])
    if not _is_flat(warps):
        return params | {"ctaLayout": ({"register": registers} if registers else {}) | {"warp": warps}}
    if registers:
        params |= {"tilesPerWarp": params.get("instrShape", []), "instrShape": registers}
    return {key: value for key, value in params.items() if value != []} | {"warpsPerCTA": warps}


def _is_flat(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and not any(isinstance(item, list) for item in value)
