// What the stepper is made of where a second product follows: the picture of the first, then that of the second.
import { Drawing } from "../drawing.js";
import { Motion } from "../motion.js";
import { Scene } from "../scene.js";
import { SecondCaption } from "./caption.js";
import { makeModels, NAMES, Timelines } from "./model.js";
import { SecondDrawing, SecondMotion, SecondScene } from "./picture.js";

const OWN = { p: "a", v: "b", o: "d" };

/** The scene in view. It names elements as the page does. */
class Scenes {
  constructor(model) {
    this.model = model;
    this.all = [new Scene(model), new SecondScene(model.second)];
    this.shown = 0;
  }

  get now() { return this.all[this.shown]; }
  get width() { return this.now.width; }
  get height() { return this.now.height; }
  get aside() { return this.now.aside; }

  follow(timeline) {
    const before = this.shown;
    this.shown = Number(timeline.isSecond);
    return before !== this.shown || this.now.phone;
  }

  layout(width, free, timeline) { this.now.layout(width, free, this.shown ? timeline.second : timeline); }

  pick(x, y, xored) {
    const found = this.now.pick(x, y, xored);
    if (!found || !this.shown) return found;
    return found.o === "first" ? { ...found, o: "d" } : { ...found, o: NAMES[found.o] };
  }

  lane(x, y) { return this.now.lane(x, y); }

  /** An element of the page in the scene in view; null where it is not there. */
  see(element) {
    if (!element) return null;
    const { o, r, c } = element;
    if (this.shown) return OWN[o] ? { o: OWN[o], r, c } : o === "d" ? { o: "a", r, c } : null;
    if ("abd".includes(o)) return element;
    return o === "p" && c < this.model.d.cols ? { o: "d", r, c } : null;
  }
}

class Drawings {
  constructor(model, scene, timeline) {
    this.scene = scene;
    this.all = [
      new Drawing(model, scene.all[0], timeline), new SecondDrawing(model.second, scene.all[1], timeline.second),
    ];
  }

  forget() { for (const one of this.all) one.forget(); }
  draw(pen) { this.all[this.scene.shown].draw(pen); }
}

class Motions {
  constructor(model, scene, timeline, drawing) {
    this.scene = scene;
    this.all = [
      new Motion(model, scene.all[0], timeline, drawing.all[0]),
      new SecondMotion(model.second, scene.all[1], timeline.second, drawing.all[1]),
    ];
  }

  get now() { return this.all[this.scene.shown]; }
  draw(pen, state) { this.now.draw(pen, { ...state, pin: this.scene.see(state.pin) }); }
  markLane(pen, lane) { this.now.markLane(pen, lane); }

  mark(pen, element, colour, width) {
    const seen = this.scene.see(element);
    if (seen) this.now.mark(pen, seen, colour, width);
  }
}

export const secondParts = {
  pins: "abdpvo", makeModel: makeModels, Timeline: Timelines, Scene: Scenes, Caption: SecondCaption, Drawing: Drawings,
  Motion: Motions,
};
