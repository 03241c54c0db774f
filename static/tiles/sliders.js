// The sliders of the steps of K, M and N: one step alone is drawn in full, the others lighter.
import { notify } from "../instruction/focus.js";
import { paint } from "../instruction/picture.js";
import { remember, state, view } from "../instruction/state.js";

const named = ({ value, dataset }) => (Number(value) < 0 ? "all" : `${value} of 0–${dataset.count - 1}`);

export function followSliders() {
  for (const slider of view.querySelectorAll("input[type=range]")) {
    slider.addEventListener("input", () => {
      slider.closest("label").querySelector("output").textContent = named(slider);
      state[slider.name] = Number(slider.value);
      remember();
      paint();
      notify();
    });
  }
}
