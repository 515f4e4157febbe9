// Cameras: from coordinates of the scene to pixels. One for the plane, one that turns about a point.

import type { Box, Vector } from './geometry';

export interface View {
  width: number;
  height: number;
  project(p: Vector): [number, number, number]; // x, y in pixels, and the distance from the eye
  scale(p: Vector): number; // pixels for a length of one, there
  fit(box: Box): void;
  turn(dx: number, dy: number): void; // by a drag of so many pixels
  pan(dx: number, dy: number): void;
  zoom(factor: number, x: number, y: number): void;
}

export class PlaneView implements View {
  width = 1;
  height = 1;
  centre = [0, 0];
  unit = 100; // pixels

  project(p: Vector): [number, number, number] {
    return [
      this.width / 2 + (p[0] - this.centre[0]) * this.unit,
      this.height / 2 - (p[1] - this.centre[1]) * this.unit,
      0,
    ];
  }

  unproject(x: number, y: number): Vector {
    return [
      this.centre[0] + (x - this.width / 2) / this.unit,
      this.centre[1] - (y - this.height / 2) / this.unit,
    ];
  }

  scale(): number {
    return this.unit;
  }

  fit(box: Box): void {
    const across = Math.max(box.high[0] - box.low[0], 1e-9);
    const up = Math.max(box.high[1] - box.low[1], 1e-9);
    this.centre = [(box.low[0] + box.high[0]) / 2, (box.low[1] + box.high[1]) / 2];
    this.unit = 0.84 * Math.min(this.width / across, this.height / up);
  }

  turn(dx: number, dy: number): void {
    this.pan(dx, dy);
  }

  pan(dx: number, dy: number): void {
    this.centre = [this.centre[0] - dx / this.unit, this.centre[1] + dy / this.unit];
  }

  zoom(factor: number, x: number, y: number): void {
    const before = this.unproject(x, y);
    this.unit = Math.min(Math.max(this.unit * factor, 1e-6), 1e9);
    const after = this.unproject(x, y);
    this.centre = [this.centre[0] + before[0] - after[0], this.centre[1] + before[1] - after[1]];
  }
}

const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const unit = (a: Vector): Vector => {
  const length = Math.hypot(...a) || 1;
  return a.map((v) => v / length);
};

// A perspective camera that looks at a point; up is against gravity.
export class OrbitView implements View {
  width = 1;
  height = 1;
  target: Vector = [0, 0, 0];
  distance = 5;
  yaw = 0.9;
  pitch = 0.35;
  readonly field = (32 * Math.PI) / 180;
  readonly up: Vector;
  private readonly east: Vector;
  private readonly north: Vector;

  constructor(gravity: Vector) {
    const g = gravity.length === 3 && Math.hypot(...gravity) > 0 ? gravity : [0, 0, -1];
    this.up = unit(g.map((v) => -v));
    const other = Math.abs(this.up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    this.north = unit(cross(this.up, other));
    this.east = cross(this.north, this.up);
  }

  // from the target to the eye
  private back(): Vector {
    const flat = Math.cos(this.pitch);
    return [0, 1, 2].map(
      (i) =>
        flat * (Math.cos(this.yaw) * this.east[i] + Math.sin(this.yaw) * this.north[i]) +
        Math.sin(this.pitch) * this.up[i],
    );
  }

  eye(): Vector {
    const back = this.back();
    return this.target.map((t, i) => t + this.distance * back[i]);
  }

  // right, up and back of the camera
  axes(): [Vector, Vector, Vector] {
    const back = this.back();
    const right = unit(cross(this.up, back));
    return [right, cross(back, right), back];
  }

  private focal(): number {
    return this.height / 2 / Math.tan(this.field / 2);
  }

  project(p: Vector): [number, number, number] {
    const eye = this.eye();
    const off = p.map((v, i) => v - eye[i]);
    const [right, up, back] = this.axes();
    const depth = Math.max(-dot(off, back), 1e-6);
    const f = this.focal() / depth;
    return [this.width / 2 + f * dot(off, right), this.height / 2 - f * dot(off, up), depth];
  }

  scale(p: Vector): number {
    return this.focal() / this.project(p)[2];
  }

  fit(box: Box): void {
    this.target = box.low.map((l, i) => (l + box.high[i]) / 2);
    const radius = Math.hypot(...box.high.map((h, i) => (h - box.low[i]) / 2)) || 1;
    const half = Math.min(this.field / 2, Math.atan(Math.tan(this.field / 2) * (this.width / this.height)));
    this.distance = (0.98 * radius) / Math.sin(half);
  }

  turn(dx: number, dy: number): void {
    this.yaw -= dx * 0.008;
    this.pitch = Math.min(Math.max(this.pitch + dy * 0.008, -1.55), 1.55);
  }

  pan(dx: number, dy: number): void {
    const [right, up] = this.axes();
    const length = this.distance / this.focal();
    this.target = this.target.map((t, i) => t + length * (-dx * right[i] + dy * up[i]));
  }

  zoom(factor: number): void {
    this.distance = Math.min(Math.max(this.distance / factor, 1e-6), 1e9);
  }
}
