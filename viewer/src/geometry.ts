// Where things of a scene are at a state, in its coordinates. Points have two or three numbers.

import type { Body, Place, Plane, SceneInfo, Target, Tie, Track } from './format';

export type Vector = number[];

export function pointAt(x: ArrayLike<number>, dimension: number, point: number): Vector {
  const at = point * dimension;
  return dimension === 3 ? [x[at], x[at + 1], x[at + 2]] : [x[at], x[at + 1]];
}

// the body-fixed point with coordinates c: x_0 + sum_k c_k (x_k - x_0)
export function bodyPoint(body: Body, x: ArrayLike<number>, dimension: number, c: Vector): Vector {
  const centre = pointAt(x, dimension, body.first);
  const out = centre.slice();
  for (let k = 0; body.rigid && k < dimension; k++) {
    const tip = pointAt(x, dimension, body.first + 1 + k);
    for (let i = 0; i < dimension; i++) out[i] += c[k] * (tip[i] - centre[i]);
  }
  return out;
}

export function placeAt(place: Place, x: ArrayLike<number>, dimension: number): Vector {
  const out = place.constant.slice(0, dimension);
  place.points.forEach((point, k) => {
    for (let i = 0; i < dimension; i++) out[i] += place.weights[k] * x[point * dimension + i];
  });
  return out;
}

export function tieMiddle(tie: Tie, x: ArrayLike<number>, dimension: number): Vector {
  const to = placeAt(tie.to, x, dimension);
  return placeAt(tie.from, x, dimension).map((v, i) => (v + to[i]) / 2);
}

// The body that a place belongs to, or -1 for one of the world.
export function placeBody(scene: SceneInfo, place: Place): number {
  if (place.points.length === 0) return -1;
  const point = place.points[0];
  return scene.bodies.findIndex((b) => point >= b.first && point < b.first + b.count);
}

// The state at a time between two recorded ones, written into `out`.
export function stateAt(track: Track, time: number, out: Float32Array): Float32Array {
  const last = track.states - 1;
  const position = Math.min(Math.max(time / track.dt, 0), last);
  const k = Math.min(Math.floor(position + 1e-6), last);
  const share = Math.max(position - k, 0);
  const from = k * track.size;
  const to = Math.min(k + 1, last) * track.size;
  // a state that is there is shown as it is
  if (share < 1e-4) {
    out.set(track.x.subarray(from, from + track.size));
    return out;
  }
  for (let i = 0; i < track.size; i++)
    out[i] = track.x[from + i] * (1 - share) + track.x[to + i] * share;
  return out;
}

export interface Box {
  low: Vector;
  high: Vector;
}

function grow(box: Box, p: Vector, margin: number): void {
  for (let i = 0; i < p.length; i++) {
    if (!Number.isFinite(p[i])) continue;
    box.low[i] = Math.min(box.low[i], p[i] - margin);
    box.high[i] = Math.max(box.high[i], p[i] + margin);
  }
}

export function bodyReach(body: Body): number {
  const corners = body.points.map((p) => Math.hypot(...p));
  return Math.max(body.radius, 0, ...corners);
}

// the ends of ties that are places of the world: hooks
export function worldPlaces(scene: SceneInfo): Vector[] {
  return scene.ties
    .flatMap((t) => [t.from, t.to])
    .filter((p) => p.points.length === 0)
    .map((p) => p.constant.slice(0, scene.dimension));
}

// What all bodies of all tracks cover, planes that are near included.
function trackExtent(scene: SceneInfo, track: Track | null): Box {
  const d = scene.dimension;
  const box: Box = { low: Array(d).fill(Infinity), high: Array(d).fill(-Infinity) };
  const reach = scene.bodies.map(bodyReach);
  const stride = Math.max(1, Math.floor((track?.states ?? 0) / 400));
  for (let k = 0; track !== null && k < track.states; k += stride) {
    const x = track.x.subarray(k * track.size, (k + 1) * track.size);
    scene.bodies.forEach((b, i) => grow(box, pointAt(x, d, b.first), reach[i]));
  }
  return box;
}

// What all bodies of all tracks cover, planes that are near included.
export function extent(scene: SceneInfo, tracks: Track[], targets: Target[] = []): Box {
  const d = scene.dimension;
  const box = trackExtent(scene, tracks[0] ?? null);
  const first = { low: box.low.slice(), high: box.high.slice() };
  const size = Math.hypot(...first.high.map((h, i) => h - first.low[i]));
  for (const track of tracks.slice(1)) {
    // what flies apart beside the first motion must not make that one too small to be seen
    const other = trackExtent(scene, track);
    box.low = box.low.map((l, i) => Math.min(l, Math.max(other.low[i], first.low[i] - size)));
    box.high = box.high.map((h, i) => Math.max(h, Math.min(other.high[i], first.high[i] + size)));
  }
  worldPlaces(scene).forEach((p) => grow(box, p, 0));
  targets.forEach((t) => grow(box, t.position, t.radius));
  if (!box.low.every(Number.isFinite)) return { low: Array(d).fill(-1), high: Array(d).fill(1) };
  scene.planes.forEach((p) => growToPlane(box, p));
  return box;
}

// a wall that is not far from what moves is shown
function growToPlane(box: Box, plane: Plane): void {
  const size = Math.max(...box.high.map((h, i) => h - box.low[i]), 1e-9);
  const middle = box.low.map((l, i) => (l + box.high[i]) / 2);
  const distance = plane.normal.reduce((s, n, i) => s + n * middle[i], plane.offset);
  const foot = middle.map((m, i) => m - distance * plane.normal[i]);
  const inside = foot.every((f, i) => f > box.low[i] - size / 2 && f < box.high[i] + size / 2);
  if (inside) grow(box, foot, 0);
}

// The part of a wall of the plane that can be touched: from foot + s tangent, s in the range given, what lies
// behind other walls is cut off. All of it where nothing is left.
export function wallRange(planes: Plane[], index: number, foot: Vector, reach: number): [number, number] {
  const [nx, ny] = planes[index].normal;
  let [low, high] = [-reach, reach];
  planes.forEach((other, k) => {
    // n . (foot + s t) + offset >= 0 with t = (-ny, nx)
    const slope = -ny * other.normal[0] + nx * other.normal[1];
    if (k === index || Math.abs(slope) < 1e-9) return;
    const at = -(other.normal[0] * foot[0] + other.normal[1] * foot[1] + other.offset) / slope;
    if (slope > 0) low = Math.max(low, at);
    else high = Math.min(high, at);
  });
  return low < high ? [low, high] : [-reach, reach];
}

const height = (plane: Plane, p: Vector): number =>
  plane.normal[0] * p[0] + plane.normal[1] * p[1] + plane.normal[2] * p[2] + plane.offset;

// What of a polygon, or of a line where it is open, is on the free side of a plane (Sutherland and Hodgman).
function clip(points: Vector[], plane: Plane, closed: boolean): Vector[] {
  const out: Vector[] = [];
  points.forEach((p, k) => {
    const q = points[(k + 1) % points.length];
    const [a, b] = [height(plane, p), height(plane, q)];
    if (a >= 0) out.push(p);
    if (a >= 0 !== b >= 0 && (closed || k + 1 < points.length))
      out.push(p.map((v, i) => v + (a / (a - b)) * (q[i] - v)));
  });
  return out;
}

// A wall of space as a pane about the foot of a place, with lines on it; what lies behind other walls is cut
// off.
export function wallPane(planes: Plane[], plane: Plane, about: Vector, size: number): { corners: Vector[]; lines: Vector[][] } {
  const n = plane.normal;
  const distance = height(plane, about);
  const foot = about.map((v, i) => v - distance * n[i]);
  const a = Math.abs(n[0]) < 0.9 ? [0, n[2], -n[1]] : [-n[2], 0, n[0]];
  const length = Math.hypot(...a);
  const u = a.map((v) => v / length);
  const w = [n[1] * u[2] - n[2] * u[1], n[2] * u[0] - n[0] * u[2], n[0] * u[1] - n[1] * u[0]];
  const at = (s: number, t: number): Vector => foot.map((f, i) => f + size * (s * u[i] + t * w[i]));
  const others = planes.filter((p) => p !== plane);
  const cut = (points: Vector[], closed: boolean) => others.reduce((list, p) => clip(list, p, closed), points);
  const whole = [at(-1, -1), at(1, -1), at(1, 1), at(-1, 1)];
  const corners = cut(whole, true);
  const left = corners.length > 2;
  const lines: Vector[][] = [];
  for (let k = -6; k <= 6; k++)
    for (const line of [[at(k / 6, -1), at(k / 6, 1)], [at(-1, k / 6), at(1, k / 6)]]) lines.push(left ? cut(line, false) : line);
  return { corners: left ? corners : whole, lines: lines.filter((l) => l.length > 1) };
}

// The convex hull of points of the plane, in order around it (Andrew's monotone chain).
export function hull(points: Vector[]): Vector[] {
  const sorted = points.slice().sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list: Vector[]): Vector[] => {
    const out: Vector[] = [];
    for (const p of list) {
      while (out.length > 1 && turn(out[out.length - 2], out[out.length - 1], p) <= 0) out.pop();
      out.push(p);
    }
    out.pop();
    return out;
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

function turn(a: Vector, b: Vector, c: Vector): number {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

// A series of states `dt` apart at other times, along straight lines between states; NaN after the last.
export function resample(values: ArrayLike<number>, dt: number, times: ArrayLike<number>): Float32Array {
  const out = new Float32Array(times.length).fill(NaN);
  for (let k = 0; k < times.length; k++) {
    const at = times[k] / dt;
    const before = Math.floor(at + 1e-6);
    const share = at - before;
    if (before >= values.length) break;
    if (share < 1e-6) out[k] = values[before];
    else if (before + 1 < values.length) out[k] = values[before] + share * (values[before + 1] - values[before]);
  }
  return out;
}

// Root mean square distance of body centres of two motions at each state of the first, as long as both last.
export function difference(scene: SceneInfo, a: Track, b: Track): Float32Array {
  const d = scene.dimension;
  const values = new Float32Array(a.states).fill(NaN);
  const other = new Float32Array(b.size);
  const end = (b.states - 1) * b.dt * (1 + 1e-9);
  for (let k = 0; k < a.states && k * a.dt <= end; k++) {
    stateAt(b, k * a.dt, other);
    let sum = 0;
    for (const body of scene.bodies)
      for (let i = 0; i < d; i++) {
        const off = a.x[k * a.size + body.first * d + i] - other[body.first * d + i];
        sum += off * off;
      }
    values[k] = Math.sqrt(sum / scene.bodies.length);
  }
  return values;
}

export function niceStep(span: number, count: number): number {
  const raw = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((f) => f * power >= raw) ?? 10;
  return factor * power;
}
