// The instruction page: draws its matrices, then follows pointer, keys and controls.
import "../kit/scripted.js";
import { copyButtons } from "../kit/copy.js";
import { onServer } from "../kit/place.js";
import { pinnedCell, listeners } from "./focus.js";
import { followControls } from "./controls.js";
import { followGestures } from "./gestures.js";
import { followFinding } from "./find.js";
import { fillHeadline } from "./headline.js";
import { followHistory } from "./history.js";
import { followKeys } from "./keys.js";
import { followMinimap } from "./minimap.js";
import { fillPanel } from "./panel.js";
import { paint } from "./picture.js";
import { ringPlaced } from "./placed.js";
import { followPointer } from "./pointer.js";
import { stage } from "./stage.js";
import { state } from "./state.js";
import { followStored } from "./stored.js";
import { followTabs } from "./tabs.js";
import { reveal } from "./window.js";
import { followZoom } from "./zoom.js";

listeners.push(fillPanel, fillHeadline, ringPlaced);
if (pinnedCell() && !state.view) reveal(pinnedCell(), true);
paint();
followPointer();
followGestures();
followZoom();
followMinimap();
followStored();
followKeys();
followFinding();
followHistory();
followControls();
if (state.pin || state.pin2) {
  fillPanel();
  if (!onServer) fillHeadline(); // the server has written it
}
followTabs();
copyButtons();
document.documentElement.dataset.painted = performance.now().toFixed(1);
window.lanescope = { stage, state };
