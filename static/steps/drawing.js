// What stands still during a step: memory, addresses, registers and matrices, as full as they are by then.
import { hex, numberText } from "./model.js";

const LETTERS = 2;

/** The least power of two that is not less: labels stand at such distances. */
const power = (least) => 2 ** Math.max(0, Math.ceil(Math.log2(least)));

export class Drawing {
  constructor(model, scene, timeline) {
    this.model = model;
    this.scene = scene;
    this.timeline = timeline;
    this.shown = {};
  }

  /** Draws nothing twice: each area is drawn again when what it shows has changed. After a layout or a theme: all. */
  forget() { this.shown = {}; }

  draw(pen) {
    const { scene, timeline, model } = this;
    this.pen = pen;
    if (!Object.keys(this.shown).length) {
      pen.g.clearRect(0, 0, scene.width, scene.height);
      for (const o of "abd") this.drawHeads(o);
    }
    const { now } = timeline, flying = now.kind === "xor" && timeline.t < 1;
    for (const o of "ab") {
      const key = flying ? "moving" : `${timeline.xored} ${JSON.stringify(this.listBanks(o))}`;
      const margins = { left: 60, top: 38, right: 26 };
      this.drawAgain(`mem ${o}`, key, scene.memory(o), margins, () => flying || this.drawTile(o));
    }
    this.drawAgain("lanes", this.lanesKey, scene.boxes.lanes && this.lanesBox, { top: 15 }, () => this.drawLanes());
    for (const o of "ab") this.drawArrived(o);
    const sums = timeline.added, ended = sums === model.k_groups.length;
    for (const [name, box] of [["reg", scene.boxes.reg_d], ["mat", scene.matrix("d")]]) {
      const margins = { left: 1, top: 1, right: 1, bottom: 1 };
      this.drawAgain(`${name} d`, `${sums} ${ended}`, box, margins, () => this.drawSums(name));
    }
    const matrix = scene.matrix("d");
    const title = matrix && { x: matrix.x, y: matrix.y - 26, w: matrix.w, h: 0 };
    this.drawAgain("title d", String(sums), title, { left: 14, top: 9, bottom: 9 }, () => this.drawTitle("d"));
  }

  drawAgain(name, key, box, { left = 0, top = 0, right = 0, bottom = 0 }, paint) {
    if (!box || this.shown[name] === key) return;
    this.shown[name] = key;
    this.pen.g.clearRect(box.x - left, box.y - top, box.w + left + right, box.h + top + bottom + 1);
    paint();
  }

  /** The registers and the matrix of A or B: what has arrived since they were drawn last, or all after a step back. */
  drawArrived(o) {
    const { pen, model, scene, timeline } = this, one = model[o];
    const box = scene.boxes[`reg_${o}`], matrix = scene.matrix(o);
    if (!box && !matrix) return;
    const count = timeline.countMoves(o), before = this.shown[o] ?? Infinity;
    if (count === before) return;
    this.shown[o] = count;
    const again = count < before;
    if (again) {
      for (const each of [box, matrix]) if (each) pen.g.clearRect(each.x - 1, each.y - 1, each.w + 3, each.h + 3);
    }
    const fresh = (slot) => again || (one.moveOf[slot] >= before && one.moveOf[slot] < count);
    if (box) {
      for (let slot = 0; slot < 32 * one.values; slot++) if (fresh(slot)) this.drawSlot(o, slot, scene.slot(o, slot));
    }
    if (matrix) {
      one.slots.forEach(([slot], index) => { if (fresh(slot)) this.drawSlot(o, slot, scene.cell(o, index)); });
    }
    this.drawFrame(o);
  }

  drawSums(name) {
    const { model, scene } = this, { d } = model;
    if (name === "reg") {
      for (let slot = 0; slot < 32 * d.values; slot++) this.drawSum(d.holds[slot], scene.slot("d", slot));
    } else for (let index = 0; index < d.rows * d.cols; index++) this.drawSum(index, scene.cell("d", index));
    if (name === "reg") this.drawFrame("d");
  }

  drawSum(index, box) {
    const { pen, model, timeline } = this, { colours } = pen, { added } = timeline;
    if (added < 0) pen.cell(box, colours.raised);
    else {
      const wrong = added === model.k_groups.length && model.wrongAtEnd(index);
      pen.cell(box, colours.fill[model.d.group(index)], numberText(model.d.sums[added][index]), { letters: 3, wrong });
    }
  }

  /** What the lanes' column depends on. */
  get lanesKey() {
    const { now } = this.timeline;
    if (now.kind !== "move") return now.kind === "addresses" ? `addresses ${now.operand}` : "";
    const move = this.model[now.operand].moves[now.index];
    return `${now.operand} ${move.turn} ${move.phase}`;
  }

  /** The labels of the lanes and their addresses; the registers beside them are drawn apart. */
  get lanesBox() {
    const { lanes, address } = this.scene.boxes;
    return { x: lanes.x, y: lanes.y, w: (address ? address.x + address.w + 2 : lanes.x + 24) - lanes.x, h: lanes.h };
  }

  /** Both operands in memory: apart from the rest, because the XOR moves it. */
  drawMemory(pen) {
    this.pen = pen;
    for (const o of "ab") if (this.scene.memory(o)) this.drawTile(o);
  }

  drawTile(o) {
    const { pen, model, scene, timeline } = this, { colours } = pen, one = model[o], box = scene.memory(o);
    const high = box.h / one.lines.length, wide = box.w / 8, xored = timeline.xored;
    const about = scene.phone || wide < 30 ? "lines of 128 B" : o === "b" ? "" : "lines of 128 B, chunks of 16 B";
    pen.title(`Shared memory · ${o.toUpperCase()}`, about, box.x - Math.min(box.x, 42), box.y - 30);
    const met = this.listBanks(o);
    for (let n = 0; n < 8; n++) {
      const group = one.bankGroup(n), count = met[group] ?? 0;
      const colour = count > 1 ? colours.bad : count ? colours.ok : colours.muted;
      if (count) {
        pen.g.fillStyle = colour;
        pen.g.fillRect(box.x + n * wide + 3, box.y - 6, wide - 6, 3);
      }
      const label = count > 1 ? `×${count}` : `${4 * group}–${(4 * group + 3) % 32}`;
      if (wide >= 31 || n % 2 === 0) {
        pen.text(label, box.x + (n + .5) * wide, box.y - 13, { align: "center", size: 9.5, colour });
      }
    }
    pen.text("bank", box.x - 6, box.y - 13, { align: "right", size: 9.5 });
    const each = Math.max(1, Math.ceil(11 / high)), swizzled = one.swizzle !== "none" && timeline.first("xor") >= 0;
    one.lines.forEach((_, n) => {
      if (n % each) return;
      const y = box.y + (n + .5) * high;
      pen.text(hex(one.addressOf(n)), box.x - 6, y, { align: "right" });
      if (swizzled && xored > 0) this.drawXor(one, box, n, y, xored);
    });
    if (swizzled && xored > 0) {
      pen.text("⊕", box.x + box.w + 15, box.y - 13, { align: "center", size: 11, colour: colours.accent });
    }
    for (const chunk of one.chunks) if (!chunk.used) this.drawChunk(o, chunk, xored);
    for (const chunk of one.chunks) if (chunk.used) this.drawChunk(o, chunk, xored);
  }

  /** The number that a line's chunks are XORed with: where its chunk 0 lies. */
  drawXor(one, box, n, y, xored) {
    const zero = one.chunks.find((chunk) => chunk.before === one.addressOf(n));
    if (!zero) return;
    const { pen } = this;
    pen.g.globalAlpha = xored;
    const number = String(one.place(zero.after)[1] / 16);
    pen.text(number, box.x + box.w + 15, y, { align: "center", colour: pen.colours.accent });
    pen.g.globalAlpha = 1;
  }

  drawChunk(o, chunk, xored) {
    const { pen, model, scene } = this, { colours } = pen, one = model[o];
    const box = scene.chunk(o, chunk, xored), label = one.place(chunk.before)[1] / 16;
    if (!chunk.used) {
      pen.cell(box, colours.raised, label, { letters: 4, ink: colours.muted });
      return;
    }
    pen.g.fillStyle = colours.raised;
    pen.g.fillRect(box.x, box.y, box.w, box.h);
    for (const [byte, length, group] of this.listRuns(o, chunk)) {
      pen.g.fillStyle = colours.fill[group];
      pen.g.fillRect(box.x + byte * box.w / 16, box.y, length * box.w / 16, box.h);
    }
    pen.cell(box, null, label, { letters: 4, bold: true });
  }

  /** The bytes of a chunk that elements fill, in runs of one colour: [byte, length, group of lanes]. */
  listRuns(o, chunk) {
    this.runs ??= {};
    this.runs[o] ??= this.collectRuns(this.model[o]);
    return this.runs[o].get(chunk.before) ?? [];
  }

  collectRuns(one) {
    const found = new Map(), bytes = one.element_bits / 8;
    const order = [...one.before.keys()].sort((p, q) => one.before[p] - one.before[q]);
    for (const index of order) {
      const byte = one.before[index] / 8, chunk = byte - ((byte - one.origin) % 16 + 16) % 16, group = one.group(index);
      const runs = found.get(chunk) ?? [], last = runs.at(-1), at = byte - chunk;
      if (last && last[2] === group && last[0] + last[1] === at) last[1] += bytes;
      else runs.push([at, bytes, group]);
      found.set(chunk, runs);
    }
    return found;
  }

  /** How often each group of four banks has been used by the rows of this phase so far: [group of banks]. */
  listBanks(o) {
    const { model, timeline } = this, { now } = timeline, met = {};
    if (now.kind !== "move" || now.operand !== o) return met;
    const { moves } = model[o], mine = moves[now.index];
    if (mine.lanes.length > 1) return met;
    for (const move of moves.slice(0, now.index + 1)) {
      if (move.turn !== mine.turn || move.phase !== mine.phase) continue;
      const group = move.addresses[0] / 16 % 8;
      met[group] = (met[group] ?? 0) + 1;
    }
    return met;
  }

  get laneWords() { return "address given → registers received"; }

  drawLanes() {
    const { pen, model, scene, timeline } = this;
    const { colours } = pen, { now } = timeline, { lanes, address } = scene.boxes;
    const loading = now.kind === "addresses" || now.kind === "move", high = lanes.h / 32;
    pen.g.clearRect(lanes.x, lanes.y - 38, lanes.w, 20);
    const about = scene.phone ? "" : loading ? this.laneWords : "their registers";
    pen.title("32 lanes", about, lanes.x, lanes.y - 30);
    if (address && loading) pen.text("address", address.x + address.w / 2, lanes.y - 9, { align: "center" });
    const given = loading && timeline.now.kind === "move" ? this.listGiven(now) : new Map();
    for (let lane = 0; lane < 32; lane++) {
      const y = lanes.y + (lane + .5) * high;
      pen.text(`T${lane}`, lanes.x + 20, y, { align: "right" });
      if (!address || !loading) continue;
      const box = scene.address(lane), at = given.get(lane), mine = at?.mine;
      pen.cell(box, mine ? colours["accent-soft"] : colours.soft, "");
      if (at) {
        const ink = mine ? colours.accent : colours.ink;
        pen.cell(box, null, hex(at.address), { letters: 6, alpha: mine ? 1 : .6, ink });
      } else if (now.kind === "move") pen.cell(box, null, "—", { ink: colours.muted });
    }
  }

  /** What each lane gives in the load of a move: lane → its address, and whether its matrix travels now. */
  listGiven(now) {
    const { moves } = this.model[now.operand], move = moves[now.index], found = new Map();
    for (const one of moves) {
      if (move.lanes.length > 1 ? one !== move : one.turn !== move.turn) continue;
      one.lanes.forEach((lane, n) => found.set(lane, { address: one.addresses[n], mine: one.phase === move.phase }));
    }
    return found;
  }

  drawSlot(o, slot, box) {
    const { pen, model, timeline } = this, one = model[o], { colours } = pen;
    const index = one.holds[slot], fill = colours.fill[one.laneOf(slot) >> 2];
    if (timeline.arrived(o, slot)) {
      const wrong = one.wrong.get(slot);
      const number = numberText(wrong ? wrong.value : one.numbers[index]);
      pen.cell(box, fill, number, { letters: one.letters ?? LETTERS, wrong: Boolean(wrong) });
    } else pen.cell(box, colours.raised);
  }

  /** Lines around registers and groups of four lanes. */
  drawFrame(o) {
    const { pen, model, scene } = this, box = scene.boxes[`reg_${o}`];
    if (!box) return;
    const { g, colours } = pen, { registers } = model[o];
    g.strokeStyle = colours.edge;
    g.lineWidth = 1;
    g.beginPath();
    for (let n = 0; n <= registers; n++) {
      const x = Math.round(box.x + n * box.w / registers) + .5;
      g.moveTo(x, box.y);
      g.lineTo(x, box.y + box.h);
    }
    for (let n = 0; n <= 8; n++) {
      const y = Math.round(box.y + n * box.h / 8) + .5;
      g.moveTo(box.x, y);
      g.lineTo(box.x + box.w, y);
    }
    g.stroke();
  }

  /** What never changes: the names of registers, rows and columns. */
  drawHeads(o) {
    const { pen, scene, model } = this, box = scene.boxes[`reg_${o}`];
    const { registers, firstRegister = 0, label = o.toUpperCase() } = model[o];
    if (box) {
      const wide = box.w / registers, prefix = scene.phone ? "" : `${label} `;
      for (let n = 0; n < registers; n++) {
        if (n && wide < 18) continue;
        const look = { align: "center", size: Math.min(10, wide / 2.4) };
        pen.text(`${n ? "" : prefix}R${n + firstRegister}`, box.x + (n + .5) * wide, box.y - 9, look);
      }
    }
    if (scene.matrix(o)) this.drawAxis(o);
    if (o !== "d" && scene.matrix(o)) this.drawTitle(o);
  }

  drawTitle(o) {
    const { pen, scene, model } = this, box = scene.matrix(o), { label = o.toUpperCase() } = model[o];
    pen.title(label, this.describeMatrix(o), box.x - (o === "d" ? 0 : 12), box.y - (o === "b" ? 30 : 26));
  }

  describeMatrix(o) {
    const { a, b } = this.model;
    return { a: a.cols < b.rows ? "m × k, as stored" : "m × k", b: "k × n", d: this.sumWords }[o];
  }

  /** How far D has been added up. */
  get sumWords() {
    const { added } = this.timeline, { k_groups: groups, perCell = 1 } = this.model;
    return added > 0 && added < groups.length ? `after k = ${groups[added - 1][1] * perCell - 1}` : "m × n";
  }

  drawAxis(o) {
    const { pen, scene, model } = this, box = scene.matrix(o), { rows, cols, rowFrom = 0, colFrom = 0 } = model[o];
    const { rowUnit = 1, colUnit = 1 } = model[o]; // elements of a cell
    const wide = box.w / cols, high = box.h / rows, left = o !== "d" || (scene.phone && !scene.matrix("a"));
    const across = power(((cols + colFrom) * colUnit > 99 ? 22 : 14) / wide), down = power(10 / high);
    for (let c = 0; c < cols; c += across) {
      pen.text((c + colFrom) * colUnit, box.x + (c + .5) * wide, box.y - 8, { align: "center", size: 9.5 });
    }
    if (!left) return;
    for (let r = 0; r < rows; r += down) {
      pen.text((r + rowFrom) * rowUnit, box.x - 4, box.y + (r + .5) * high, { align: "right", size: 9.5 });
    }
  }
}
