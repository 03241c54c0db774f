// One ldmatrix or stmatrix: a tile S in shared memory, the lanes with their registers, and S's block as a matrix.
import { Caption as ProductCaption } from "./caption.js";
import { Drawing as ProductDrawing } from "./drawing.js";
import { elementText, hex, indexed, numberText } from "./model.js";
import { MatrixScene } from "./matrix_scene.js";
import { LATER, Motion as ProductMotion, mix } from "./motion.js";
import { clamp, ease, Timeline as ProductTimeline } from "./timeline.js";

export const Scene = MatrixScene;

const CHUNK = 128; // bits

export function makeModel(data) {
  const s = indexed("s", data.s), chunkOf = (bit) => bit - (bit - 8 * s.origin) % CHUNK;
  // What a load finds in memory, by chunk: [bit address, number, element of the block or −1].
  const stored = new Map(), place = new Map(s.at.map((bit, element) => [bit, element]));
  s.stored_at.forEach((bit, n) => {
    const list = stored.get(chunkOf(bit)) ?? [];
    list.push([bit, s.stored_numbers[n], place.get(bit) ?? -1]);
    stored.set(chunkOf(bit), list);
  });
  const has = ({ o, r, c }) => o === "s" && r < s.rows && c < s.cols;
  return { ...data, has, k_groups: [], s: { ...s, stored, perChunk: s.memory_bits < 16 ? 16 : 8 } };
}

export class Timeline extends ProductTimeline {
  constructor(model, still) {
    super(model, still);
    this.firstMove = { s: this.first("move", "s") };
  }

  /** How many rows of a store lie in memory, or of a load in registers. */
  get landed() { return super.countMoves("s"); }

  arrived(o, slot) { return this.model.stores || super.arrived(o, slot); }
  countMoves(o) { return this.model.stores ? this.model[o].moves.length : super.countMoves(o); }
}

export class Drawing extends ProductDrawing {
  draw(pen) {
    const { scene, timeline, model } = this, { now } = timeline;
    this.pen = pen;
    if (!Object.keys(this.shown).length) {
      pen.g.clearRect(0, 0, scene.width, scene.height);
      this.drawHeads("s");
    }
    const flying = now.kind === "xor" && timeline.t < 1, landed = model.stores ? timeline.landed : "";
    const key = flying ? "moving" : `${timeline.xored} ${JSON.stringify(this.listBanks("s"))} ${landed}`;
    const margins = { left: 60, top: 38, right: 26 };
    this.drawAgain("mem s", key, scene.memory("s"), margins, () => flying || this.drawTile("s"));
    this.drawAgain("lanes", this.lanesKey, scene.boxes.lanes && this.lanesBox, { top: 15 }, () => this.drawLanes());
    this.drawArrived("s");
  }

  drawMemory(pen) {
    this.pen = pen;
    if (this.scene.memory("s")) this.drawTile("s");
  }

  get laneWords() { return this.model.stores ? "registers → address" : "address → registers"; }

  /** Banks are counted only for forms whose wavefronts were measured. */
  listBanks(o) {
    const { now } = this.timeline;
    return now.kind === "move" && this.model[o].moves[now.index].wavefronts ? super.listBanks(o) : {};
  }

  describeMatrix() {
    const { s } = this.model;
    return `rows × columns${s.first_col ? `, columns ${s.first_col}–${s.first_col + s.cols - 1}` : ""}`;
  }

  drawSlot(o, slot, box) {
    const { pen, model } = this, one = model[o];
    if (!model.stores) return super.drawSlot(o, slot, box);
    const fill = pen.colours.fill[one.laneOf(slot) >> 2];
    return pen.cell(box, fill, numberText(one.numbers[one.holds[slot]]));
  }

  drawChunk(o, chunk, xored) {
    const { pen, model, scene } = this, { colours } = pen, one = model[o], box = scene.chunk(o, chunk, xored);
    const bit = 8 * chunk.before, held = model.stores ? this.listStored(8 * chunk.after) : this.listHeld(one, bit);
    const used = chunk.used ? colours["accent-soft"] : colours.raised;
    if (!scene.showsNumbers) {
      if (!model.stores) return super.drawChunk(o, chunk, xored);
      pen.cell(box, used, "");
      for (const [at, , group, wrong] of held) pen.cell(scene.inside(box, at), colours.fill[group], "", { wrong });
      return pen.cell(box, null, "");
    }
    pen.cell(box, model.stores ? used : colours.raised, "");
    for (const [at, number, group, wrong] of held) {
      const ink = group < 0 ? colours.muted : colours["cell-ink"];
      pen.cell(scene.inside(box, at), group < 0 ? null : colours.fill[group], numberText(number), { ink, wrong });
    }
    return pen.cell(box, null, "");
  }

  /** The elements in a chunk of a load, as it lies before the XOR: [bit in it, number, group of lanes or −1, wrong]. */
  listHeld(one, before) {
    const at = this.after.get(before / 8) * 8;
    return (one.stored.get(at) ?? []).map(([bit, number, element]) => [
      bit - at, number, element < 0 ? -1 : one.group(element), false,
    ]);
  }

  get after() {
    this.moved ??= new Map(this.model.s.chunks.map((chunk) => [chunk.before, chunk.after]));
    return this.moved;
  }

  /** What has been stored in the chunk at a bit address. Of two rows at one address none is known. */
  listStored(at) {
    const { model, timeline } = this, { s } = model, found = new Map();
    for (const move of s.moves.slice(0, timeline.landed)) {
      if (move.addresses[0] * 8 !== at) continue;
      for (const slot of move.slots) {
        const bit = s.reads[slot] - at, twice = found.has(bit);
        const number = twice ? null : s.numbers[s.holds[slot]];
        found.set(bit, [bit, number, s.laneOf(slot) >> 2, twice || s.wrong.has(slot)]);
      }
    }
    return [...found.values()];
  }
}

export class Motion extends ProductMotion {
  /** The row of a load flies to its registers, that of a store from them. */
  fly(o, slot, order) {
    const { pen, scene, model, timeline } = this;
    if (!model.stores) {
      super.fly(o, slot, order);
      return;
    }
    const one = model[o], index = one.holds[slot], from = scene.slot(o, slot), to = scene.bit(o, one.reads[slot]);
    const u = ease(clamp(timeline.t * 1.25 - order * LATER, 0, 1));
    if (!from || !to || u <= 0) return;
    const box = mix(from, to, u), look = { wrong: u > .8 && one.wrong.has(slot) };
    pen.cell(box, pen.colours.fill[one.laneOf(slot) >> 2], numberText(one.numbers[index]), look);
    if (this.isPinned(o, index)) pen.ring(box, pen.colours.trace, 2);
  }

  /** The registers of one matrix, lane by lane, and their elements. */
  drawOut(number) {
    const { pen, scene, model, timeline } = this, { s } = model, { accent } = pen.colours;
    s.matrix.forEach((matrix, slot) => {
      if (matrix !== number || s.laneOf(slot) >= timeline.t * 32) return;
      pen.ring(scene.slot("s", slot), accent, 1.4);
      pen.ring(scene.cell("s", s.holds[slot]), accent, 1.4);
    });
  }
}

export class Caption extends ProductCaption {
  get invitation() {
    return "Click any cell to follow that number between its byte in shared memory and its register.";
  }

  nameOf(e) { return elementText({ ...e, c: e.c + this.model.s.first_col }); }

  readOut(e) {
    if (!e) return "";
    const { s, stores } = this.model, index = e.r * s.cols + e.c, slot = s.slots[index][0], wrong = s.wrong.get(slot);
    const first = `${this.nameOf(e)} = ${numberText(s.numbers[index])} · ${this.byteText(s, index)}`;
    const held = `lane ${s.laneOf(slot)} · ${s.registerText(slot)}`;
    if (!wrong) return `${first}\n${held}`;
    return stores ? `${first}\n${held}: ✗ goes to ${hex(Math.floor(s.reads[slot] / 8))}`
      : `${first}\n${held}: ✗ ${wrong.arrived || "no element of S"} arrives`;
  }

  travelOf(pin, index) {
    const { model, timeline } = this, { s, stores } = model, [slot] = s.slots[index], wrong = s.wrong.get(slot);
    const byte = Math.floor(s.at[index] / 8), before = Math.floor(s.before[index] / 8);
    const moved = byte === before ? "" : `, chunk ${s.place(before)?.[1] >> 4} at place ${s.place(byte)?.[1] >> 4}`;
    const memory = Math.max(timeline.first("plain", "s"), timeline.first("xor"));
    const register = timeline.steps.findIndex((one) => one.kind === "out" && one.index === s.matrix[slot]);
    const step = timeline.firstMove.s + s.moveOf[slot], move = s.moves[s.moveOf[slot]];
    const gives = [step, `lane ${move.lanes[0]} gives the address \`${hex(move.addresses[0])}\``];
    const held = `lane ${s.laneOf(slot)}, \`${s.registerText(slot)}\``;
    const inMemory = [memory, `${stores ? "its place is byte" : "byte"} \`${hex(byte)}\`${moved}`];
    if (stores) {
      const lands = `\`${hex(Math.floor(s.reads[slot] / 8))}\``;
      const place = wrong?.arrived ? `the place of ${wrong.arrived}` : "outside S";
      const stored = [step, wrong ? `✗ is stored at ${lands}, ${place}` : `is stored at ${lands}`];
      return [[register, `${held} of matrix ${s.matrix[slot]}`], inMemory, gives, stored];
    }
    const arrives = wrong ? `✗ ${wrong.arrived || "no element of S"} arrives instead in` : "arrives in";
    const own = [[step, `${arrives} ${held}`], [register, `matrix ${s.matrix[slot]}, row ${move.row}`]];
    return [inMemory, gives, ...own, ...this.listStrays(pin)];
  }

  /** Where an element arrives that nobody wanted there. */
  listStrays(pin) {
    const { model, timeline } = this, { s } = model, name = this.nameOf(pin);
    return [...s.wrong.values()].filter((one) => one.arrived === name).map(({ slot }) => [
      timeline.firstMove.s + s.moveOf[slot], `✗ arrives in lane ${s.laneOf(slot)}, \`${s.registerText(slot)}\``,
    ]);
  }
}
