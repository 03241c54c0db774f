// Back and Forward: the page shows what the address says then.
import { notify } from "./focus.js";
import { paint } from "./picture.js";
import { recall, state } from "./state.js";
import { showView } from "./window.js";

export function followHistory() {
  addEventListener("popstate", () => {
    if (recall()) return location.reload();
    showView(state.view);
    paint();
    notify();
  });
}
