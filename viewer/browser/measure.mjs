// How long pages take. Processor time, which other work on the machine changes little: of the page's thread to open it
// and for a frame while it plays, and of all processes of Chromium for a frame, drawing in software included.
// On the clock, which other work does change: until the page is there, and the distance of frames (median, and what 95 %
// stay below).
//   node browser/measure.mjs BUILD|PAGE...     BUILD: a build folder, with which pages are made: 50 disks over 10,000
//                                              steps, rope200, bd5, gyro and a run
// FRAMES (120) is how many are played.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { launch, open } from './chromium.mjs';

const FRAMES = Number(process.env.FRAMES ?? 120);

// fifty disks of different size in a box, none of which overlap at the start
const disks = {
  carom: 1,
  name: 'disks50',
  dimension: 2,
  dt: 0.005,
  steps: 10000,
  gravity: [0, 0],
  bodies: Array.from({ length: 50 }, (_, k) => ({ id: `d${k}`, type: 'rigid', mass: 0.1 + 0.01 * (k % 7), radius: 0.05 + 0.01 * (k % 4) })),
  planes: [
    { id: 'left', normal: [1, 0], offset: 0 },
    { id: 'bottom', normal: [0, 1], offset: 0 },
    { id: 'right', normal: [-1, 0], offset: 3 },
    { id: 'top', normal: [0, -1], offset: 3 },
  ],
  contacts: { pairs: true, friction: 0.1, restitution: 1 },
  initial: { sampler: 'box', low: [0, 0], high: [3, 3], speed: 1, rate: 2 },
};

function makePages(program, folder) {
  const run = (...args) => execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(join(folder, 'disks50.json'), JSON.stringify(disks));
  for (const [scene, samples] of [['disks50.json', 1], ['rope200', 3], ['bd5', 3], ['gyro', 3]]) {
    const name = scene.replace('.json', '');
    run('simulate', scene, '--sample', String(samples), '--steps', name === 'disks50' ? '10000' : '200', '--quiet', '-o', `${name}.h5`);
    run('view', `${name}.h5`, '-o', `${name}.html`);
  }
  run('train', 'cp3', '--epochs', '20', '--hidden', '32', '--quiet', '-o', 'run');
  run('evaluate', 'run', '--quiet');
  run('view', 'run', '-o', 'run.html');
  return ['disks50', 'rope200', 'bd5', 'gyro', 'run'].map((name) => join(folder, `${name}.html`));
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
  await close();
  const at = (share) => apart[Math.floor(share * (apart.length - 1))];
  return [statSync(path).size / 1e6, opened - before, there, (played - opened) / FRAMES, (ended - idle) / FRAMES, at(0.5), at(0.95)];
}

const folder = mkdtempSync(join(tmpdir(), 'carom-measure-'));
const inputs = process.argv.slice(2).map((p) => resolve(p));
const pages = inputs.flatMap((p) => (existsSync(join(p, 'carom')) ? makePages(join(p, 'carom'), folder) : [p]));
const row = (name, cells) => console.log(name.padEnd(16) + cells.map((c) => String(c).padStart(12)).join(''));
row('page', ['MB', 'open', 'there', 'frame', 'frame, all', 'apart', '95 %']);
for (const path of pages) {
  // space needs WebGL, here in software; the plane is drawn without
  const browser = await launch({ webgl: basename(path).startsWith('gyro') });
  const [size, ...times] = await measure(browser, path);
  await browser.close();
  row(basename(path, '.html'), [size.toFixed(2), ...times.slice(0, 2).map((t) => t.toFixed(0)), ...times.slice(2).map((t) => t.toFixed(1))]);
}
rmSync(folder, { recursive: true, force: true });
