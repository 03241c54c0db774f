// What the stepper is made of where the product is a wgmma's.
import { WgmmaCaption } from "./caption.js";
import { WgmmaDrawing } from "./drawing.js";
import { WgmmaModel } from "./model.js";
import { WgmmaMotion } from "./motion.js";
import { WgmmaScene } from "./scene.js";
import { WgmmaTimeline } from "./timeline.js";

export const wgmmaParts = {
  makeModel: (data) => new WgmmaModel(data), Timeline: WgmmaTimeline, Scene: WgmmaScene, Caption: WgmmaCaption,
  Drawing: WgmmaDrawing, Motion: WgmmaMotion,
};
