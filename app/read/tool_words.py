"""Words that find a tool's page, and questions that one page answers."""

from __future__ import annotations

import re

TOOLS = {  # page of a menu, or outside all menus → the words that find it
    "/descriptor": frozenset("descriptor descriptors gmmadesc lbo sbo word".split()),
    "/tmem": frozenset("tmem tcgen05 alloc allocate allocation".split()),
    "/tmem/epilogue": frozenset("epilogue epilogues".split()),
    "/idesc": frozenset("idesc instrdescriptor".split()),
    "/smem": frozenset("tile box smem shared swizzle k-major mn-major tma fill fills".split()),
    "/banks": frozenset("pad padding padded bank banks conflict conflicts wavefront wavefronts".split()),
    "/chain": frozenset("chain ldmatrix ldsm".split()),
    "/reuse": frozenset("reuse shuffle".split()),
    "/compare": frozenset("compare comparison differ differs difference".split()),
    "/metadata/order": frozenset("reorder compressor".split()),
    "/scale-factors": frozenset("sfa sfb".split()),
    "/steps": frozenset("step stepper steps animate animated animation visualize visualizer watch".split()),
    "/targets": frozenset("target targets gpu gpus occupancy limit limits budget capability".split()),
    "/capture": frozenset("capture record instrument".split()),
    "/dump": frozenset("dump dumps dumped memdump cuda-gdb bytes".split()),
    "/emulate": frozenset("emulate emulator simulate simulator interpreter cpu deadlock deadlocks hang hangs".split()),
    "/diagram": frozenset("figure figures diagram diagrams tikz latex svg pdf png paper slide slides".split()),
    "/gpu": frozenset("evidence hardware verified gpu run".split()),
    "/tiles/mma": frozenset("tiledmma tiled_mma make_tiled_mma partition_fragment_c permutationmnk".split()),
    "/tiles/mma/chain": frozenset(
        "convert_layout_acc_aregs flashattention attention flash back-to-back gemm feed feeds".split()
    ),
    "/tiles/copy": frozenset("tiledcopy tiled_copy make_tiled_copy coalescing coalesced vectorized".split()),
    "/tiles/loop": frozenset("mainloop main-loop stage stages".split()),
    "/layouts/triton": frozenset(
        "triton gluon ttgir ttg blocked dot_op nvidia_mma convert_layout convert conversion linearlayout".split()
    ),
    "/layouts/tv": frozenset("tv thread-value".split()),
    "/docs/integrations": frozenset(
        "integration integrations install mcp lsp claude cursor vscode neovim nvim helix emacs sphinx mkdocs jupyter"
        " jupyterlab anywidget notebook notebooks pytest pre-commit github ci cmake pip pipx uvx llms layoutbench"
        " python header plugin action agent agents editor".split()
    ),
    "/docs": frozenset("api json openapi rest".split()),
    "/help": frozenset("shortcut shortcuts keyboard hotkey hotkeys keys glossary dark theme".split()),
    "/help#report": frozenset("bug bugs report feedback".split()),
    "/help#licence": frozenset("licence license copyright".split()),
    "/help#privacy": frozenset("privacy private cookies cookie offline telemetry upload leave leaves internet".split()),
    "/cute": frozenset("cute algebra composition complement logical_divide zipped_divide raked_product".split()),
}
OUTSIDE = {  # pages outside the menus: title, what it answers
    "/docs": ("API", "Every answer as JSON, with its schema."),
    "/help": ("Keys and glossary", "What the keyboard does on every page, what the words mean, light and dark."),
    "/help#report": ("Report a wrong answer", "What to send, and to whom."),
    "/help#licence": ("License", "Apache License, version 2.0."),
    "/help#privacy": ("Privacy", "Pages load nothing from other hosts and keep nothing of what you paste."),
}
ASKED = (  # questions whose words occur on many pages, and the page that answers them
    (re.compile(r".*\b(?:c|d|p|accumulators?|result)\b.*\b(?:as|to|into)\b.*\b(?:a|operand)\b.*", re.I), "/reuse"),
    (re.compile(r".*\bfigures?\b.*\b(?:paper|slides?|thesis|talk|document)\b.*", re.I), "/diagram"),
    (re.compile(r"(?:json|rest|http|web|open)? ?api\b", re.I), "/docs"),
    (re.compile(r"(?:which|what) (?:gpus?|targets?|architectures?) (?:has|have|supports?)\b.*", re.I), "/targets"),
    (
        re.compile(
            r"(?:.*\b(?:use|with|in|for|from) )?(?:(?:vs|visual studio) code|claude code|(?:coding )?agents?|editors?"
            r"|language server|llms\.txt|model context protocol)|(?:how (?:to|do i|can i) )?(?:pip |pipx )?install\b.*",
            re.I,
        ),
        "/docs/integrations",
    ),
    (re.compile(r"(?:shared )?(?:padding|padded rows?)", re.I), "/banks"),
    (re.compile(r".*\b(?:wgmma|hopper)\b.*\b(?:vs\.?|versus|to)\b.*\btcgen05\b.*", re.I), "/guide/wgmma-to-tcgen05"),
    (
        re.compile(r".*\b(?:volta|turing|ampere|ada|hopper|blackwell)\b.*\b(?:vs\.?|versus|to)\b.*", re.I),
        "/guide/wmma-mma-wgmma",
    ),
)
EXPLAINING = re.compile(  # a question that a text answers rather than a tool
    r"\s*(?:why|how(?! (?:much|many)\b)|when|who|explain|difference|should|must|is|are|can|may"
    r"|what (?:is|are)\b(?!.*\bthis\b)|.*\b(?:vs|versus))\b",
    re.I,
)
