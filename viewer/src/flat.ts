// The flat stage: bodies as they are, on a canvas. Draws the plane, and space where there is no WebGL.

import type { Body, Plane, SceneInfo, Target, Tie } from './format';
import { bodyPoint, hull, niceStep, placeAt, placeBody, pointAt, stateAt, tieMiddle, wallPane, wallRange, worldPlaces, type Vector } from './geometry';
import { actingLimits, arrowShare, flashes, hasTrail, largestImpulse, type Frame, type Shown, type Stage } from './stage';
import type { Theme } from './theme';
import { PlaneView, type View } from './view';

export const bodyColour = (theme: Theme, scene: SceneInfo, index: number): string =>
  // the points of a long rope are one thing
  theme.palette[scene.bodies.length > 24 && scene.bodies[index].radius === 0 ? 0 : index % theme.palette.length];

export class FlatStage implements Stage {
  readonly element: HTMLCanvasElement;
  private readonly pen: CanvasRenderingContext2D;
  private readonly hooks: Vector[];
  private readonly owners: number[]; // of each tie, whose colour it has
  private state = new Float32Array(0);
  private frame!: Frame;

  constructor(
    readonly scene: SceneInfo,
    readonly view: View,
  ) {
    this.element = document.createElement('canvas');
    const pen = this.element.getContext('2d');
    if (pen === null) throw new Error('this browser has no canvas');
    this.pen = pen;
    this.hooks = worldPlaces(scene);
    this.owners = scene.ties.map((t) => Math.max(placeBody(scene, t.to), placeBody(scene, t.from), 0));
  }

  resize(width: number, height: number): void {
    const ratio = window.devicePixelRatio || 1;
    this.element.width = Math.round(width * ratio);
    this.element.height = Math.round(height * ratio);
    this.element.style.width = `${width}px`;
    this.element.style.height = `${height}px`;
    this.view.width = width;
    this.view.height = height;
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  dispose(): void {
    this.element.remove();
  }

  draw(frame: Frame): void {
    this.frame = frame;
    const { pen, view, scene } = this;
    pen.fillStyle = frame.theme.paper;
    pen.fillRect(0, 0, view.width, view.height);
    if (view instanceof PlaneView) this.drawGrid(view);
    scene.planes.forEach((p) => this.drawPlane(p));
    frame.targets.forEach((t) => this.drawTarget(t));
    for (const shown of frame.shown) this.drawTrack(shown);
    if (frame.contacts) for (const shown of frame.shown) this.drawFlashes(shown);
    if (view instanceof PlaneView) this.drawScale(view);
  }

  /* ---- what does not move ---- */

  private drawGrid(view: PlaneView): void {
    const { pen } = this;
    const step = niceStep(view.width / view.unit, 8);
    const [low, high] = [view.unproject(0, view.height), view.unproject(view.width, 0)];
    pen.strokeStyle = this.frame.theme.grid;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let x = Math.ceil(low[0] / step) * step; x <= high[0]; x += step) {
      const at = Math.round(view.project([x, 0])[0]) + 0.5;
      pen.moveTo(at, 0);
      pen.lineTo(at, view.height);
    }
    for (let y = Math.ceil(low[1] / step) * step; y <= high[1]; y += step) {
      const at = Math.round(view.project([0, y])[1]) + 0.5;
      pen.moveTo(0, at);
      pen.lineTo(view.width, at);
    }
    pen.stroke();
  }

  // a bar that tells lengths
  private drawScale(view: PlaneView): void {
    const { pen } = this;
    const step = niceStep(view.width / view.unit, 8);
    const y = view.height - 16;
    const length = step * view.unit;
    pen.strokeStyle = pen.fillStyle = this.frame.theme.soft;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(14, y - 4);
    pen.lineTo(14, y);
    pen.lineTo(14 + length, y);
    pen.lineTo(14 + length, y - 4);
    pen.stroke();
    pen.font = '11px system-ui, sans-serif';
    pen.textAlign = 'left';
    pen.textBaseline = 'bottom';
    pen.fillText(String(Number(step.toPrecision(3))), 18, y - 2);
  }

  private drawPlane(plane: Plane): void {
    if (this.view instanceof PlaneView) this.drawWall(plane, this.view);
    else this.drawFloor(plane);
  }

  // a line, and strokes where bodies cannot be
  private drawWall(plane: Plane, view: PlaneView): void {
    const { pen } = this;
    const [nx, ny] = plane.normal;
    const distance = nx * view.centre[0] + ny * view.centre[1] + plane.offset;
    const foot = [view.centre[0] - distance * nx, view.centre[1] - distance * ny];
    const reach = Math.hypot(view.width, view.height) / view.unit;
    const [low, high] = wallRange(this.scene.planes, this.scene.planes.indexOf(plane), foot, reach);
    const from = view.project([foot[0] - low * ny, foot[1] + low * nx]);
    const to = view.project([foot[0] - high * ny, foot[1] + high * nx]);
    pen.save();
    // the side behind the wall
    pen.beginPath();
    const deep = 14;
    pen.moveTo(from[0], from[1]);
    pen.lineTo(to[0], to[1]);
    pen.lineTo(to[0] - nx * deep, to[1] + ny * deep);
    pen.lineTo(from[0] - nx * deep, from[1] + ny * deep);
    pen.closePath();
    pen.clip();
    pen.strokeStyle = this.frame.theme.wall;
    pen.globalAlpha = 0.55;
    pen.lineWidth = 1;
    pen.beginPath();
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const [tx, ty] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
    for (let s = 0; s < length + deep; s += 9) {
      const [x, y] = [from[0] + tx * s, from[1] + ty * s];
      pen.moveTo(x, y);
      pen.lineTo(x - tx * deep - nx * deep, y - ty * deep + ny * deep);
    }
    pen.stroke();
    pen.restore();
    pen.strokeStyle = this.frame.theme.wall;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(from[0], from[1]);
    pen.lineTo(to[0], to[1]);
    pen.stroke();
  }

  // a wall of space: a pane with a grid
  private drawFloor(plane: Plane): void {
    const { pen, view } = this;
    const orbit = view as unknown as { target: Vector; distance: number };
    const { corners, lines } = wallPane(this.scene.planes, plane, orbit.target, orbit.distance * 0.3);
    const path = (points: Vector[]) =>
      points.forEach((p, k) => {
        const [x, y] = view.project(p);
        if (k === 0) pen.moveTo(x, y);
        else pen.lineTo(x, y);
      });
    pen.strokeStyle = pen.fillStyle = this.frame.theme.wall;
    pen.lineWidth = 1;
    pen.beginPath();
    path(corners);
    pen.globalAlpha = 0.12;
    pen.fill();
    pen.beginPath();
    lines.forEach(path);
    pen.globalAlpha = 0.4;
    pen.stroke();
    pen.globalAlpha = 1;
  }

  // where a body is to be: its outline, dashed, and a cross
  private drawTarget(target: Target): void {
    const { pen, view } = this;
    const [x, y] = view.project(target.position);
    const r = Math.max(target.radius * view.scale(target.position), 6);
    pen.strokeStyle = this.frame.theme.ink;
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.arc(x, y, r, 0, 7);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(x - 5, y);
    pen.lineTo(x + 5, y);
    pen.moveTo(x, y - 5);
    pen.lineTo(x, y + 5);
    pen.stroke();
  }

  /* ---- what moves ---- */

  private colour(shown: Shown, body: number): string {
    return shown.colour ?? bodyColour(this.frame.theme, this.scene, body);
  }

  private drawTrack(shown: Shown): void {
    const { scene, view, pen } = this;
    const d = scene.dimension;
    if (this.state.length !== shown.track.size) this.state = new Float32Array(shown.track.size);
    const x = stateAt(shown.track, this.frame.time, this.state);
    pen.lineJoin = pen.lineCap = 'round';
    if (this.frame.trail > 0) scene.bodies.forEach((b, i) => hasTrail(scene, i) && this.drawTrail(shown, b, i));
    scene.ties.forEach((t, k) => this.drawTie(shown, t, this.owners[k], x));
    this.hooks.forEach((p) => this.drawHook(p));
    const order = scene.bodies.map((b, i) => ({ b, i, depth: d === 3 ? view.project(pointAt(x, d, b.first))[2] : 0 }));
    if (d === 3) order.sort((p, q) => q.depth - p.depth);
    for (const { b, i } of order) this.drawBody(shown, b, i, x);
    if (this.frame.contacts) this.drawLimits(shown);
  }

  // older parts are paler
  private drawTrail(shown: Shown, body: Body, index: number): void {
    const { pen, view, scene } = this;
    const { track } = shown;
    const d = scene.dimension;
    const last = Math.min(Math.floor(this.frame.time / track.dt + 1e-6), track.states - 1);
    const first = Math.max(0, last - Math.ceil(this.frame.trail / track.dt));
    // of many bodies fewer points and shades
    const many = scene.bodies.length > 24;
    const stride = Math.max(1, Math.ceil((last - first) / (many ? 60 : 240)));
    const parts = many ? 3 : 6;
    pen.strokeStyle = this.colour(shown, index);
    pen.lineWidth = 1.6;
    const at = (k: number) => view.project(pointAt(track.x.subarray(k * track.size), d, body.first));
    for (let part = 0; part < parts; part++) {
      const from = first + Math.floor(((last - first) * part) / parts);
      const to = first + Math.floor(((last - first) * (part + 1)) / parts);
      if (to <= from) continue;
      pen.globalAlpha = (shown.ghost ? 0.5 : 0.8) * ((part + 1) / parts) ** 1.5;
      pen.beginPath();
      let p = at(from);
      pen.moveTo(p[0], p[1]);
      for (let k = from + stride; k < to; k += stride) {
        p = at(k);
        pen.lineTo(p[0], p[1]);
      }
      p = at(to);
      pen.lineTo(p[0], p[1]);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  private drawHook(p: Vector): void {
    const { pen } = this;
    const [x, y] = this.view.project(p);
    pen.fillStyle = this.frame.theme.ink;
    pen.beginPath();
    pen.arc(x, y, 3.5, 0, 7);
    pen.fill();
  }

  private line(a: Vector, b: Vector): void {
    const [p, q] = [this.view.project(a), this.view.project(b)];
    this.pen.beginPath();
    this.pen.moveTo(p[0], p[1]);
    this.pen.lineTo(q[0], q[1]);
    this.pen.stroke();
  }

  private drawTie(shown: Shown, tie: Tie, owner: number, x: Float32Array): void {
    const { pen, scene } = this;
    const d = scene.dimension;
    const [a, b] = [placeAt(tie.from, x, d), placeAt(tie.to, x, d)];
    pen.globalAlpha = shown.ghost ? 0.55 : 1;
    pen.strokeStyle = shown.colour ?? this.frame.theme.soft;
    pen.lineWidth = 2;
    if (tie.kind === 'link') this.line(a, b);
    if (tie.kind === 'segment') {
      pen.strokeStyle = this.colour(shown, owner);
      pen.lineWidth = 3;
      this.line(a, b);
    }
    if (tie.kind === 'spring') this.drawSpring(a, b);
    if (tie.kind === 'joint') {
      // an arm from the centre of each body to the joint
      for (const place of [tie.from, tie.to]) {
        const body = placeBody(scene, place);
        if (body >= 0) this.line(pointAt(x, d, scene.bodies[body].first), b);
      }
      const [px, py] = this.view.project(b);
      pen.fillStyle = this.frame.theme.paper;
      pen.beginPath();
      pen.arc(px, py, 3.5, 0, 7);
      pen.fill();
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  // a zigzag, but for the short ones of a rope
  private drawSpring(a: Vector, b: Vector): void {
    const { pen } = this;
    const [p, q] = [this.view.project(a), this.view.project(b)];
    const length = Math.hypot(q[0] - p[0], q[1] - p[1]);
    if (length < 24) return;
    const [tx, ty] = [(q[0] - p[0]) / length, (q[1] - p[1]) / length];
    const turns = 12;
    const wide = Math.min(7, length / 8);
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(p[0], p[1]);
    for (let k = 1; k < 2 * turns; k++) {
      const along = length * (0.1 + (0.8 * k) / (2 * turns));
      const side = (k % 2 === 0 ? 1 : -1) * wide;
      pen.lineTo(p[0] + tx * along - ty * side, p[1] + ty * along + tx * side);
    }
    pen.lineTo(q[0], q[1]);
    pen.stroke();
  }

  private drawBody(shown: Shown, body: Body, index: number, x: Float32Array): void {
    const { pen, view, scene } = this;
    const d = scene.dimension;
    const centre = pointAt(x, d, body.first);
    const [px, py] = view.project(centre);
    pen.strokeStyle = pen.fillStyle = this.colour(shown, index);
    pen.lineWidth = 2;
    const fill = shown.ghost ? 0.1 : 0.32;
    if (body.shape === 'ball') {
      const r = body.radius * view.scale(centre);
      this.fillAndStroke(() => pen.arc(px, py, Math.max(r, 1.5), 0, 7), fill);
      if (body.rigid) this.drawMark(body, centre, x);
    } else if (body.shape === 'rim' || body.shape === 'points') {
      this.drawOutline(body, x, fill);
    } else {
      const dense = scene.bodies.length > 24;
      pen.beginPath();
      pen.arc(px, py, dense ? 2 : 4, 0, 7);
      pen.fill();
    }
    if (this.frame.labels && scene.bodies.length <= 60) this.drawLabel(body.id, px, py);
  }

  private fillAndStroke(path: () => void, alpha: number): void {
    const { pen } = this;
    pen.beginPath();
    path();
    pen.globalAlpha = alpha;
    pen.fill();
    pen.globalAlpha = alpha < 0.2 ? 0.75 : 1;
    pen.stroke();
    pen.globalAlpha = 1;
  }

  // which way a ball is turned: a radius along its first axis, or both of the plane's
  private drawMark(body: Body, centre: Vector, x: Float32Array): void {
    const d = this.scene.dimension;
    for (let k = 0; k < d - 1; k++) {
      const c = Array(d).fill(0);
      c[k] = body.radius;
      this.pen.lineWidth = k === 0 ? 2 : 1;
      this.line(centre, bodyPoint(body, x, d, c));
    }
  }

  private drawOutline(body: Body, x: Float32Array, fill: number): void {
    const { pen, view } = this;
    const d = this.scene.dimension;
    const places = body.points.map((c) => view.project(bodyPoint(body, x, d, c)));
    const around = body.shape === 'rim' ? places : hull(places.map(([px, py]) => [px, py]));
    this.fillAndStroke(() => {
      around.forEach((p, k) => (k === 0 ? pen.moveTo(p[0], p[1]) : pen.lineTo(p[0], p[1])));
      pen.closePath();
    }, fill);
    const centre = pointAt(x, d, body.first);
    const spoke = Array(d).fill(0);
    spoke[0] = body.shape === 'rim' ? body.radius : Math.max(...body.points.map((p) => Math.abs(p[0])));
    pen.lineWidth = 1.5;
    this.line(centre, bodyPoint(body, x, d, spoke));
    for (const p of body.shape === 'points' ? places : []) {
      pen.beginPath();
      pen.arc(p[0], p[1], 2.5, 0, 7);
      pen.fill();
    }
  }

  private drawLabel(text: string, x: number, y: number): void {
    const { pen } = this;
    pen.font = '600 11px system-ui, sans-serif';
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    pen.lineWidth = 3;
    pen.strokeStyle = this.frame.theme.paper;
    pen.strokeText(text, x, y);
    pen.fillStyle = this.frame.theme.ink;
    pen.fillText(text, x, y);
  }

  // limits of a rope are dots while they act
  private drawLimits(shown: Shown): void {
    const { pen, view, scene } = this;
    const { limits } = shown.track;
    pen.fillStyle = this.frame.theme.flash;
    pen.globalAlpha = shown.ghost ? 0.4 : 1;
    pen.beginPath();
    for (const contact of actingLimits(shown.track, this.frame.time)) {
      const tie = scene.ties[limits.ties[contact]];
      const [x, y] = view.project(tieMiddle(tie, this.state, scene.dimension));
      // of short segments small ones, which leave the rope to be seen
      const [px, py] = view.project(placeAt(tie.to, this.state, scene.dimension));
      const r = Math.min(Math.max(0.5 * Math.hypot(px - x, py - y), 0.8), 2.5);
      pen.moveTo(x + r, y);
      pen.arc(x, y, r, 0, 7);
    }
    pen.fill();
    pen.globalAlpha = 1;
  }

  // a ring that grows and fades, and the impulse as an arrow
  private drawFlashes(shown: Shown): void {
    const { pen, view, scene } = this;
    const d = scene.dimension;
    const e = shown.track.events;
    const most = largestImpulse(e, d);
    const longest = Math.min(view.width, view.height) * 0.16;
    pen.strokeStyle = pen.fillStyle = this.frame.theme.flash;
    for (const { index, age } of flashes(shown.track, this.frame.time)) {
      const point = [...e.point.subarray(index * d, (index + 1) * d)];
      const [x, y] = view.project(point);
      pen.globalAlpha = (1 - age) * (shown.ghost ? 0.4 : 1);
      const impulse = [...e.impulse.subarray(index * d, (index + 1) * d)];
      const size = Math.hypot(...impulse);
      pen.lineWidth = 2;
      pen.beginPath();
      // what touches without pushing, while others push, is not marked
      if (size < 1e-6 * most) continue;
      pen.arc(x, y, 4 + 12 * age, 0, 7);
      pen.stroke();
      if (size > 0) this.drawArrow(point, impulse.map((v) => v / size), longest * arrowShare(size, most));
    }
    pen.globalAlpha = 1;
  }

  private drawArrow(from: Vector, direction: Vector, length: number): void {
    const { pen, view } = this;
    const p = view.project(from);
    const reach = length / view.scale(from);
    const q = view.project(from.map((v, i) => v + reach * direction[i]));
    const shown = Math.hypot(q[0] - p[0], q[1] - p[1]);
    if (shown < 4) return;
    const [tx, ty] = [(q[0] - p[0]) / shown, (q[1] - p[1]) / shown];
    const head = Math.min(9, shown * 0.45);
    pen.lineWidth = 2.5;
    pen.beginPath();
    pen.moveTo(p[0], p[1]);
    pen.lineTo(q[0] - tx * head, q[1] - ty * head);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(q[0], q[1]);
    pen.lineTo(q[0] - tx * head - ty * head * 0.5, q[1] - ty * head + tx * head * 0.5);
    pen.lineTo(q[0] - tx * head + ty * head * 0.5, q[1] - ty * head - tx * head * 0.5);
    pen.closePath();
    pen.fill();
  }
}
