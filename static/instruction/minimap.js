// The whole of D, small, with what the stage shows of it: a drag moves that.
import { stage } from "./stage.js";
import { data, state } from "./state.js";
import { isWhole, pan } from "./window.js";

export function followMinimap() {
  const map = document.querySelector(".minimap");
  const panel = map && stage.panels.find((each) => each.name === map.dataset.panel);
  if (!panel) return;
  const context = map.getContext("2d"), ratio = window.devicePixelRatio || 1;
  [map.width, map.height] = [map.clientWidth * ratio, map.clientHeight * ratio];

  function draw() {
    const { x0, x1, y0, y1 } = panel.window, [wide, high] = [map.width / panel.cols, map.height / panel.rows];
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, map.width, map.height);
    context.drawImage(panel.image, 0, 0, map.width, map.height);
    if (data.automatic && state.colour === data.automatic.name) bands(high);
    map.classList.toggle("idle", isWhole());
    if (isWhole()) return;
    const box = [x0 * wide, y0 * high, (x1 - x0) * wide, (y1 - y0) * high];
    context.fillStyle = stage.theme.dim;
    context.beginPath();
    context.rect(0, 0, map.width, map.height);
    context.rect(...box);
    context.fill("evenodd");
    context.strokeStyle = stage.theme.ink;
    context.lineWidth = 2 * ratio;
    context.strokeRect(...box);
  }

  /** The whole by warps, whatever the cells of the part are coloured by. */
  function bands(high) {
    const { whole, rows } = data.automatic, { wheel } = panel.operand.categories[whole];
    for (let n = 0; n * rows < panel.rows; n++) {
      context.fillStyle = stage.theme.of(wheel[n % wheel.length]);
      context.fillRect(0, n * rows * high, map.width, rows * high);
    }
  }

  function go(event) {
    if (!event.buttons) return;
    const box = map.getBoundingClientRect(), { x0, x1, y0, y1 } = panel.window;
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    pan(panel, y * panel.rows - (y0 + y1) / 2, x * panel.cols - (x0 + x1) / 2);
  }
  map.addEventListener("pointerdown", (event) => {
    map.setPointerCapture(event.pointerId);
    event.stopPropagation();
    go(event);
  });
  map.addEventListener("pointermove", go);
  stage.after.push(draw);
  draw();
}
