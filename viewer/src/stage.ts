// A stage draws motions at a time. Two kinds: flat (canvas) for the plane and where there is no WebGL,
// solid (three.js) for space.

import type { Events, Limits, SceneInfo, Target, Track } from './format';
import type { Theme } from './theme';
import type { View } from './view';

export interface Shown {
  track: Track;
  colour: string | null; // of all its bodies; null: each body has its own
  ghost: boolean; // drawn paler, as what another is compared with
}

export interface Frame {
  time: number;
  shown: Shown[];
  trail: number; // seconds; 0: none
  contacts: boolean;
  labels: boolean;
  targets: Target[]; // where bodies are to be
  theme: Theme;
}

export interface Stage {
  readonly element: HTMLCanvasElement;
  readonly view: View;
  resize(width: number, height: number): void;
  draw(frame: Frame): void;
  dispose(): void;
}

// How long a contact is seen, in states and in seconds: the longer of the two.
export function flashTime(track: Track): number {
  return Math.max(3 * track.dt, Math.min(0.08, (track.states * track.dt) / 20));
}

export interface Flash {
  index: number; // of the event
  age: number; // 0 when it acts, 1 when it is gone
}

// Contacts that acted a short while before a time; of those that act on and on, the event that is seen best.
// Events are in order of states.
export function flashes(track: Track, time: number): Flash[] {
  const last = flashTime(track);
  const best = new Map<number, Flash>();
  const e = track.events;
  const weight = (f: Flash) => e.normal[f.index] * (1 - f.age);
  for (let k = firstEvent(e, Math.floor((time - last) / track.dt)); k < e.count; k++) {
    const age = time - e.state[k] * track.dt;
    if (age < -1e-6 * track.dt) break;
    if (age >= last) continue;
    const flash = { index: k, age: Math.max(age, 0) / last };
    const before = best.get(e.contact[k]);
    if (before === undefined || weight(before) <= weight(flash)) best.set(e.contact[k], flash);
  }
  return [...best.values()];
}

// the first event of a state or later, by bisection
export function firstEvent(e: Events, state: number): number {
  let low = 0;
  let high = e.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (e.state[middle] < state) low = middle + 1;
    else high = middle;
  }
  return low;
}

const BLOCK = 256; // states
const blocks = new WeakMap<Limits, number[][]>();

// Limits that act in each block of states, so that those of one state are found at once.
function blocksOf(limits: Limits): number[][] {
  let found = blocks.get(limits);
  if (found !== undefined) return found;
  found = [];
  for (let k = 0; k < limits.count; k++)
    for (let b = Math.floor(limits.first[k] / BLOCK); b <= Math.floor(limits.last[k] / BLOCK); b++) (found[b] ??= []).push(k);
  blocks.set(limits, found);
  return found;
}

// Limits of a rope that act at a time, as places in labels and ties.
export function actingLimits(track: Track, time: number): number[] {
  const { limits, dt } = track;
  const state = Math.floor(time / dt + 1e-6);
  const near = limits.count > 0 ? blocksOf(limits)[Math.floor(state / BLOCK)] ?? [] : [];
  return near.filter((k) => limits.first[k] <= state && state <= limits.last[k]).map((k) => limits.contact[k]);
}

// Bodies whose way is drawn: of a long rope its end alone.
export function hasTrail(scene: SceneInfo, body: number): boolean {
  return scene.bodies.length <= 24 || scene.bodies[body].radius > 0 || body === scene.bodies.length - 1;
}

const largest = new WeakMap<Events, number>();

// The largest impulse of a motion, to which arrows are scaled.
export function largestImpulse(e: Events, dimension: number): number {
  let most = largest.get(e);
  if (most !== undefined) return most;
  most = 0;
  for (let k = 0; k < e.count; k++)
    most = Math.max(most, Math.hypot(...e.impulse.subarray(k * dimension, (k + 1) * dimension)));
  largest.set(e, most);
  return most;
}

// Length of an arrow as a share of the largest: small impulses are still seen.
export function arrowShare(impulse: number, most: number): number {
  return most > 0 ? Math.sqrt(impulse / most) : 0;
}
