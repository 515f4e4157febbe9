import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Body, Events, Limits, Plane, SceneInfo, Track } from '../src/format';
import { indexAt } from '../src/chart';
import { bodyPoint, difference, extent, hull, niceStep, placeAt, resample, stateAt, wallPane, wallRange } from '../src/geometry';
import { Player, fittingSpeed } from '../src/player';
import { actingLimits, firstEvent, flashes } from '../src/stage';
import { OrbitView, PlaneView } from '../src/view';

const close = (a: number, b: number, eps = 1e-6) => assert.ok(Math.abs(a - b) < eps, `${a} is not ${b}`);

const body: Body = { id: 'a', rigid: false, first: 0, count: 1, mass: 1, shape: 'ball', radius: 0.5, points: [] };
const scene: SceneInfo = { name: 's', description: '', dimension: 2, gravity: [0, -1], bodies: [body], planes: [], ties: [] };
const none: Events = { count: 0, labels: [], state: new Float32Array(), contact: new Float32Array(), gap: new Float32Array(), normal: new Float32Array(), point: new Float32Array(), impulse: new Float32Array() };
const free: Limits = { count: 0, labels: [], ties: [], contact: new Float32Array(), first: new Float32Array(), last: new Float32Array() };
const track = (x: number[], events = none, limits = free): Track => ({ sample: '0', role: '', file: 'f', states: x.length / 2, dt: 0.1, size: 2, x: Float32Array.from(x), series: [], events, limits });

test('states that are there are shown as they are, others between', () => {
  const t = track([0, 0, 1, 2, 3, 4]);
  const out = new Float32Array(2);
  assert.deepEqual([...stateAt(t, 0.1, out)], [1, 2]);
  const [x, y] = stateAt(t, 0.15, out);
  close(x, 2);
  close(y, 3);
  assert.deepEqual([...stateAt(t, 99, out)], [3, 4]);
});

test('points of a body turn with it', () => {
  const turned: Body = { ...body, rigid: true, count: 3 };
  // centre (1, 1), first axis up, second to the left
  const p = bodyPoint(turned, [1, 1, 1, 2, 0, 1], 2, [0.5, 0.25]);
  assert.deepEqual(p, [0.75, 1.5]);
});

test('places are sums', () => {
  assert.deepEqual(placeAt({ points: [0, 1], weights: [0.5, 0.5], constant: [1, 0] }, [0, 0, 2, 4], 2), [2, 2]);
});

test('what is seen holds all bodies', () => {
  const box = extent(scene, [track([0, 0, 2, 3])]);
  assert.deepEqual(box, { low: [-0.5, -0.5], high: [2.5, 3.5] });
});

test('what flies apart beside the first motion does not make it small', () => {
  const box = extent(scene, [track([0, 0, 2, 3]), track([0, 0, 1e6, -1e6])]);
  assert.ok(Math.max(...box.high) < 10 && Math.min(...box.low) > -10, JSON.stringify(box));
  assert.ok(box.high[0] > 3);
});

test('a hull goes around', () => {
  const points = [[0, 0], [1, 1], [1, 0], [0, 1], [0.5, 0.5]];
  assert.equal(hull(points).length, 4);
});

test('walls end where others begin', () => {
  const planes: Plane[] = [
    { id: 'ground', normal: [0, 1], offset: 0 },
    { id: 'left', normal: [1, 0], offset: 1 },
    { id: 'right', normal: [-1, 0], offset: 2 },
  ];
  const [low, high] = wallRange(planes, 0, [0, 0], 100).slice().sort((a, b) => a - b);
  // along (-1, 0): from x = 2 to x = -1
  assert.deepEqual([low, high], [-2, 1]);
});

test('a pane of space is cut by other walls', () => {
  const floor: Plane = { id: 'floor', normal: [0, 0, 1], offset: 0 };
  const wall: Plane = { id: 'wall', normal: [1, 0, 0], offset: 0 };
  const { corners, lines } = wallPane([floor, wall], floor, [0.5, 0, 1], 2);
  for (const p of [...corners, ...lines.flat()]) {
    assert.ok(p[0] > -1e-9);
    close(p[2], 0);
  }
});

test('distance of two motions', () => {
  assert.deepEqual([...difference(scene, track([0, 0, 3, 4]), track([0, 0, 0, 0]))], [0, 5]);
});

test('motions with other time steps are compared at the same times', () => {
  const fine: Track = { ...track([0, 0, 1, 0, 2, 0, 3, 0, 4, 0]), dt: 0.05 };
  const coarse = track([0, 0, 2, 0, 5, 0]);
  assert.deepEqual([...difference(scene, coarse, fine)], [0, 0, 1]);
  assert.deepEqual([...difference(scene, fine, coarse)], [0, 0, 0, 0.5, 1]);
});

test('a series at other times', () => {
  const out = [...resample([0, 2, 4], 0.1, [0, 0.05, 0.1, 0.15, 0.2, 0.25])];
  [0, 1, 2, 3, 4].forEach((v, k) => close(out[k], v));
  assert.ok(Number.isNaN(out[5]));
  assert.deepEqual([...resample([1, NaN, 3], 0.1, [0, 0.1, 0.2])], [1, NaN, 3]);
});

test('the number of a time', () => {
  const times = [0, 0.1, 0.2, 0.3];
  assert.deepEqual([-1, 0, 0.05, 0.1, 0.29, 0.3, 9].map((t) => indexAt(times, t)), [0, 0, 0, 1, 2, 3, 3]);
});

test('the plane is seen straight', () => {
  const view = new PlaneView();
  Object.assign(view, { width: 400, height: 200 });
  view.fit({ low: [0, 0], high: [4, 2] });
  const [x, y] = view.project([2, 1]);
  close(x, 200);
  close(y, 100);
  assert.deepEqual(view.unproject(200, 100), [2, 1]);
  const before = view.unproject(50, 60);
  view.zoom(2, 50, 60);
  view.unproject(50, 60).forEach((v, k) => close(v, before[k]));
});

test('the camera of space looks at what it turns about', () => {
  const view = new OrbitView([0, 0, -9.81]);
  Object.assign(view, { width: 400, height: 300 });
  view.fit({ low: [-1, -1, -1], high: [1, 1, 1] });
  for (const turn of [0, 100, -300]) {
    view.turn(turn, turn / 3);
    const [x, y, depth] = view.project([0, 0, 0]);
    close(x, 200);
    close(y, 150);
    close(depth, view.distance);
    assert.ok(view.project([0, 0, 0.5])[1] < 150, 'up is up');
  }
});

test('a contact is seen from when it acts, for a while', () => {
  const events = { ...none, count: 3, state: Float32Array.from([2, 2, 5]), contact: Float32Array.from([0, 1, 2]), normal: Float32Array.from([1, 1, 1]) };
  const t = track(Array(40).fill(0), events);
  assert.equal(flashes(t, 0.19).length, 0);
  assert.equal(flashes(t, 0.2).length, 2);
  assert.equal(flashes(t, 0.5).at(-1)!.age, 0);
  assert.equal(firstEvent(events, 3), 2);
});

test('a contact that acts on and on is seen once, an impact before rest for longer', () => {
  const resting = { ...none, count: 3, state: Float32Array.from([2, 3, 4]), contact: new Float32Array(3), normal: Float32Array.from([1, 1, 1]) };
  assert.deepEqual(flashes(track(Array(40).fill(0), resting), 0.4).map((f) => f.index), [2]);
  const impact = { ...resting, normal: Float32Array.from([9, 1, 1]) };
  assert.deepEqual(flashes(track(Array(40).fill(0), impact), 0.4).map((f) => f.index), [0]);
});

test('time plays, repeats and ends', () => {
  const p = new Player();
  Object.assign(p, { end: 1, dt: 0.1, playing: true });
  p.advance(600);
  close(p.time, 0.6);
  p.advance(600);
  close(p.time, 0.2);
  p.loop = false;
  p.advance(5000);
  assert.equal(p.time, 1);
  assert.equal(p.playing, false);
  p.seek(0.34);
  p.step(1);
  close(p.time, 0.4);
  p.step(-1);
  close(p.time, 0.3);
  p.step(-10);
  assert.equal(p.time, 0);
});

test('steps and speeds that people like', () => {
  assert.equal(niceStep(1, 8), 0.2);
  assert.equal(fittingSpeed(4), 1);
  assert.equal(fittingSpeed(0.4), 0.1);
});

test('limits that act at a state are found, also across blocks of states', () => {
  const limits = { ...free, count: 4, contact: Float32Array.from([0, 1, 2, 1]), first: Float32Array.from([0, 3, 200, 600]), last: Float32Array.from([900, 5, 300, 600]) };
  const t = track(Array(2000).fill(0), none, limits);
  const at = (state: number) => actingLimits(t, state * 0.1).sort();
  assert.deepEqual(at(0), [0]);
  assert.deepEqual(at(3), [0, 1]);
  assert.deepEqual(at(5), [0, 1]);
  assert.deepEqual(at(6), [0]);
  assert.deepEqual(at(256), [0, 2]);
  assert.deepEqual(at(600), [0, 1]);
  assert.deepEqual(at(901), []);
});
