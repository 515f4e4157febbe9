// How long pages take. Processor time, which other work on the machine changes little: of the page's thread to open it
// and for a frame while it plays, and of all processes of Chromium for a frame, drawing in software included.
// On the clock, which other work does change: until the page is there, its own script for a frame (median), and the
// distance of frames (median, and what 95 % stay below).
//   node browser/measure.mjs BUILD|PAGE...     BUILD: a build folder, with which pages are made: 50 disks, 50 spheres and
//                                              rope200 over 10,000 steps, rope200, bd5 and gyro over 200, and a run
// FRAMES (120) is how many are played; KEEP=FOLDER keeps the pages there.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { launch, open } from './chromium.mjs';

const FRAMES = Number(process.env.FRAMES ?? 120);

// fifty disks or spheres of different size in a box, none of which overlap at the start
function fifty(name, dimension, side) {
  const axis = (k, value) => Array.from({ length: dimension }, (_, i) => (i === k ? value : 0));
  return {
    carom: 1,
    name,
    dimension,
    dt: 0.005,
    steps: 10000,
    gravity: axis(-1, 0),
    bodies: Array.from({ length: 50 }, (_, k) => ({ id: `b${k}`, type: 'rigid', mass: 0.1 + 0.01 * (k % 7), radius: 0.05 + 0.01 * (k % 4) })),
    planes: Array.from({ length: dimension }, (_, k) => [
      { id: `low${k}`, normal: axis(k, 1), offset: 0 },
      { id: `high${k}`, normal: axis(k, -1), offset: side },
    ]).flat(),
    contacts: { pairs: true, friction: 0.1, restitution: 1 },
    initial: { sampler: 'box', low: Array(dimension).fill(0), high: Array(dimension).fill(side), speed: 1, rate: 2 },
  };
}

function makePages(program, folder) {
  const run = (...args) => execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(join(folder, 'disks50.json'), JSON.stringify(fifty('disks50', 2, 3)));
  writeFileSync(join(folder, 'spheres50.json'), JSON.stringify(fifty('spheres50', 3, 3)));
  const motions = [
    ['disks50.json', 'disks50', 1, 10000],
    ['spheres50.json', 'spheres50', 1, 10000],
    ['rope200', 'rope200-long', 1, 10000],
    ['rope200', 'rope200', 3, 200],
    ['bd5', 'bd5', 3, 200],
    ['gyro', 'gyro', 3, 200],
  ];
  for (const [scene, name, samples, steps] of motions) {
    run('simulate', scene, '--sample', String(samples), '--steps', String(steps), '--quiet', '-o', `${name}.h5`);
    run('view', `${name}.h5`, '-o', `${name}.html`);
  }
  run('train', 'cp3', '--epochs', '20', '--hidden', '32', '--quiet', '-o', 'run');
  run('evaluate', 'run', '--quiet');
  run('view', 'run', '-o', 'run.html');
  return [...motions.map(([, name]) => name), 'run'].map((name) => join(folder, `${name}.html`));
}

async function measure(browser, path) {
  const { page, close } = await open(browser, path);
  const session = await page.context().newCDPSession(page);
  const system = await browser.newBrowserCDPSession();
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const thread = async () => (await session.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value * 1000;
  const all = async () => (await system.send('SystemInfo.getProcessInfo')).processInfo.reduce((sum, p) => sum + p.cpuTime, 0) * 1000;
  const before = await thread();
  await page.reload();
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true' && window.carom.motion !== null);
  const there = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))));
  await page.waitForTimeout(1500);
  const [opened, idle] = [await thread(), await all()];
  const apart = await page.evaluate(async (count) => {
    const { player } = window.carom.motion;
    player.toggle();
    const times = [];
    await new Promise((done) => {
      const tick = (t) => (times.push(t) > count ? done() : requestAnimationFrame(tick));
      requestAnimationFrame(tick);
    });
    player.toggle();
    return times.slice(1).map((t, k) => t - times[k]).sort((a, b) => a - b);
  }, FRAMES);
  const [played, ended] = [await thread(), await all()];
  const own = await page.evaluate((count) => window.carom.motion.frameTimes.slice(-count).sort((a, b) => a - b)[count >> 1], FRAMES);
  await close();
  const at = (share) => apart[Math.floor(share * (apart.length - 1))];
  return [statSync(path).size / 1e6, opened - before, there, own, (played - opened) / FRAMES, (ended - idle) / FRAMES, at(0.5), at(0.95)];
}

const folder = process.env.KEEP ?? mkdtempSync(join(tmpdir(), 'carom-measure-'));
const inputs = process.argv.slice(2).map((p) => resolve(p));
const pages = inputs.flatMap((p) => (existsSync(join(p, 'carom')) ? makePages(join(p, 'carom'), folder) : [p]));
const row = (name, cells) => console.log(name.padEnd(16) + cells.map((c) => String(c).padStart(12)).join(''));
row('page', ['MB', 'open', 'there', 'script', 'frame', 'frame, all', 'apart', '95 %']);
for (const path of pages) {
  // space needs WebGL, here in software; the plane is drawn without
  const browser = await launch({ webgl: /^(gyro|spheres)/.test(basename(path)) });
  const [size, ...times] = await measure(browser, path);
  await browser.close();
  row(basename(path, '.html'), [size.toFixed(2), ...times.slice(0, 2).map((t) => t.toFixed(0)), ...times.slice(2).map((t) => t.toFixed(1))]);
}
if (process.env.KEEP === undefined) rmSync(folder, { recursive: true, force: true });
