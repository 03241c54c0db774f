// What stands still in a step of a wgmma: as in a warp's product, but for the warp in view, without addresses of lanes.
import { Drawing } from "../drawing.js";
import { numberText } from "../model.js";

export class WgmmaDrawing extends Drawing {
  forget() {
    super.forget();
    this.runs = {};
  }

  get lanesKey() { return String(this.model.warp); }

  /** How often each group of four banks is met by the lines of the core matrix that is read. */
  listBanks(o) {
    const { model, timeline } = this, { now } = timeline, met = {};
    if ((now.kind !== "line" && now.kind !== "core") || now.operand !== o) return met;
    const { moves } = model[o], mine = moves.find((move) => timeline.stepOf(o, move) === timeline.step);
    const all = now.kind === "core" ? [mine] : moves.filter((move) => timeline.stepOf(o, move) <= timeline.step);
    for (const address of all.flatMap((move) => move?.addresses ?? [])) {
      const group = address / 16 % 8;
      met[group] = (met[group] ?? 0) + 1;
    }
    return met;
  }

  drawLanes() {
    const { pen, model, scene } = this, { lanes } = scene.boxes, high = lanes.h / 32, first = 32 * model.warp;
    const about = scene.phone ? "" : `its registers of ${model.a.registers ? "A and D" : "D"}`;
    pen.title(`Warp ${model.warp}`, about, lanes.x, lanes.y - 30);
    for (let lane = 0; lane < 32; lane++) {
      pen.text(`T${first + lane}`, lanes.x + 28, lanes.y + (lane + .5) * high, { align: "right" });
    }
  }

  /** A number that a lane holds before it has arrived in the picture at rest. */
  drawHeld(pen, slot, element) {
    const { a } = this.model, fill = pen.colours.fill[a.laneOf(slot) >> 2];
    for (const box of [this.scene.slot("a", slot), this.scene.cell("a", element)]) {
      pen.cell(box, fill, numberText(a.numbers[element]), { letters: a.letters });
    }
  }

  describeMatrix(o) {
    const { model, scene } = this, warp = `warp ${model.warp}`, step = `K step ${model.step}`;
    if (o === "d") return scene.phone ? this.sumWords : `${this.sumWords} · ${warp}`;
    if (scene.phone) return step;
    const bytes = model.perCell > 1 ? ", bytes" : "";
    return o === "a" ? `m × k · rows of ${warp}, ${step}${bytes}` : `k × n · ${step}, for all warps${bytes}`;
  }
}
