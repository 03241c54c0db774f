// The instruction page: draws its matrices, then follows pointer, keys and controls.
import "../kit/scripted.js";
import { copyButtons } from "../kit/copy.js";
import { followControls } from "./controls.js";
import { followKeys } from "./keys.js";
import { fillPanel } from "./panel.js";
import { draw, paint } from "./picture.js";
import { followPointer } from "./pointer.js";
import { stage } from "./stage.js";
import { state } from "./state.js";
import { followTabs } from "./tabs.js";
import { attachZoom } from "./zoom.js";

paint();
followPointer();
followKeys();
followControls();
if (state.pin) fillPanel();
followTabs();
copyButtons();
document.documentElement.dataset.painted = performance.now().toFixed(1);
window.lanescope = { stage, state };
attachZoom(stage, document.querySelector("script[data-plotly]").dataset.plotly, draw);
