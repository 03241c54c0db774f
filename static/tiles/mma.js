// A TiledMMA's page: the instruction page's stage over A, B and C of a whole tile, with a panel of its own.
import "../kit/scripted.js";
import { copyButtons } from "../kit/copy.js";
import { followControls } from "../instruction/controls.js";
import { told } from "../instruction/focus.js";
import { followGestures } from "../instruction/gestures.js";
import { followKeys } from "../instruction/keys.js";
import { paint } from "../instruction/picture.js";
import { followPointer } from "../instruction/pointer.js";
import { stage } from "../instruction/stage.js";
import { state } from "../instruction/state.js";
import { followZoom } from "../instruction/zoom.js";
import { fillBench } from "./bench.js";
import { followRegion } from "./region.js";
import { followSliders } from "./sliders.js";

told.push(fillBench);
followRegion();
paint();
followPointer();
followGestures();
followZoom();
followKeys();
followControls();
followSliders();
fillBench();
copyButtons();
document.documentElement.dataset.painted = performance.now().toFixed(1);
window.lanescope = { stage, state };
