// Pages of `carom view` in headless Chromium: they load without errors, play, and draw what the files say.
//   node browser/run.mjs BUILD [FOLDER]     BUILD: a build folder; FOLDER: for the pages (a temporary one)
// ONLY=part of names runs some of the tests, KEEP=1 takes the pages that FOLDER has.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { executable, launch, open } from './chromium.mjs';
import { SCENES, makePages } from './pages.mjs';

const build = resolve(process.argv[2] ?? '../build/gcc');
const kept = process.argv[3];
const folder = kept !== undefined ? resolve(kept) : mkdtempSync(join(tmpdir(), 'carom-pages-'));
if (executable === undefined) {
  console.log('SKIPPED: there is no Chromium (Debian: chromium)');
  process.exit(0);
}
if (process.env.KEEP === undefined) makePages(join(build, 'carom'), folder);

// what the file says, read by another program than the one that made the page
const numbers = (scene) =>
  JSON.parse(execFileSync(join(build, 'tests', 'make_positions'), [scene, join(folder, `${scene}.h5`)], { maxBuffer: 1e9 }).toString());

let passed = 0;
let failed = 0;
const only = process.env.ONLY; // part of the names of the tests to run
async function test(name, work) {
  if (only !== undefined && !name.includes(only)) return;
  try {
    await work();
    passed++;
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}\n${error.stack ?? error}`);
  }
}

// pages of the plane need no WebGL, whose drawing in software takes long
const plain = await launch({ webgl: false });
const browser = await launch();
async function withPage(name, work, options) {
  const opened = await open(name.startsWith('gyro') ? browser : plain, join(folder, `${name}.html`), options);
  try {
    await work(opened.page, opened);
    assert.deepEqual(opened.errors, [], 'errors in the console');
    assert.deepEqual(opened.requests, [], 'requests to the network');
  } finally {
    await opened.close();
  }
}
const motion = (page, work, argument) => page.evaluate(`(${work})(window.carom.motion, ${JSON.stringify(argument ?? null)})`);
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const seek = async (page, time) => {
  await motion(page, '(m, t) => m.player.seek(t)', time);
  await settle(page);
};

// colours of pixels of the first stage, as they are on the screen
async function coloursAt(page, places) {
  const png = await page.locator('.stage canvas').first().screenshot();
  return page.evaluate(async ([source, list]) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const pen = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height }).getContext('2d');
    pen.drawImage(image, 0, 0);
    return list.map(([x, y]) => [...pen.getImageData(Math.round(x), Math.round(y), 1, 1).data.slice(0, 3)]);
  }, [`data:image/png;base64,${png.toString('base64')}`, places]);
}
const colourful = (c) => Math.max(...c) - Math.min(...c);

/* ---- every kind of input ---- */

for (const name of [...SCENES, 'two', 'steps', 'same', 'data', 'run', 'runs', 'evaluation', 'model', 'gradient', 'plan', 'hit', 'hostile', 'results/planning'])
  await test(`${name} loads`, () =>
    withPage(name, async (page) => {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), 'true');
      assert.ok((await page.locator('main').innerText()).length > 20);
    }));

/* ---- bodies are where the numbers say ---- */

for (const scene of ['bd5', 'cp3', 'bp5', 'gyro', 'rope'])
  await test(`${scene}: positions are those of the file`, () =>
    withPage(scene, async (page) => {
      const all = numbers(scene);
      for (const [sample, state] of [[0, 0], [0, 37], [1, 100]]) {
        await motion(page, '(m, s) => m.showSample(s)', String(sample));
        const dt = await motion(page, '(m) => m.player.dt');
        await seek(page, state * dt);
        const bodies = await motion(page, '(m) => m.bodies()');
        const { dimension, firsts } = await motion(page, '(m) => ({ dimension: m.scene.dimension, firsts: m.scene.bodies.map((b) => b.first) })');
        const x = all[sample][state];
        const extent = Math.max(...all[sample].flat().map(Math.abs));
        bodies.forEach((b, k) =>
          b.position.forEach((v, i) => assert.ok(Math.abs(v - x[firsts[k] * dimension + i]) < 1e-6 * extent, `${b.id} at state ${state}: ${v}`)),
        );
      }
    }));

for (const [scene, options] of [['bd5', {}], ['bd5', { colorScheme: 'dark' }], ['bp5', {}], ['gyro', {}], ['gyro', { query: '?flat' }]])
  await test(`${scene} ${JSON.stringify(options)}: bodies are drawn there`, () =>
    withPage(scene, async (page) => {
      await motion(page, "(m) => { for (const k of ['t', 'c']) m.key({ key: k }); if (m.trails) m.key({ key: 't' }); }");
      for (const state of [0, 55]) {
        await seek(page, state * (await motion(page, '(m) => m.player.dt')));
        const bodies = await motion(page, '(m) => m.bodies()');
        // off the marks that lines through the centre are
        const places = bodies.flatMap(({ pixel: [x, y] }) => [[5, 3], [-5, 4], [4, -6], [-6, -3]].map(([dx, dy]) => [x + dx, y + dy]));
        const [paper, ...seen] = (await coloursAt(page, [[3, 3], ...places])).map(colourful);
        bodies.forEach((b, k) => assert.ok(Math.max(...seen.slice(4 * k, 4 * k + 4)) > paper + 12, `${b.id} at state ${state}: ${seen.slice(4 * k, 4 * k + 4)}`));
      }
    }, options));

/* ---- time ---- */

await test('plays, pauses, repeats', () =>
  withPage('bd5', async (page) => {
    await page.getByRole('button', { name: 'Play or pause' }).click();
    await page.waitForFunction(() => window.carom.motion.player.time > 0.1);
    await page.getByRole('button', { name: 'Play or pause' }).click();
    const time = await motion(page, '(m) => m.player.time');
    await page.waitForTimeout(150);
    assert.equal(await motion(page, '(m) => m.player.time'), time);
    // over the end
    await motion(page, '(m) => { m.player.seek(m.player.end - 0.01); m.player.speed = 1; m.player.toggle(); }');
    await page.waitForFunction(() => window.carom.motion.player.time < 0.5);
  }));

await test('the scrubber moves time, and the plots follow', () =>
  withPage('bd5', async (page) => {
    const slider = page.getByRole('slider', { name: 'Time' });
    await slider.fill('42');
    await settle(page);
    assert.ok(Math.abs((await motion(page, '(m) => m.player.time')) - 0.42) < 1e-9);
    assert.match(await page.locator('.clock').innerText(), /0\.42 \/ 1\.00\s+#42/);
    const where = () => page.locator('.time-cursor').first().evaluate((e) => e.getBoundingClientRect().left);
    const before = await where();
    await slider.fill('84');
    await settle(page);
    assert.ok((await where()) > before + 20);
  }));

await test('a click on a plot goes to that time', () =>
  withPage('bd5', async (page) => {
    const over = page.locator('.u-over').first();
    const box = await over.boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    assert.ok(Math.abs((await motion(page, '(m) => m.player.time')) - 0.5) < 0.02);
  }));

await test('keys', () =>
  withPage('two', async (page) => {
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    assert.ok(Math.abs((await motion(page, '(m) => m.player.time')) - 0.11) < 1e-9);
    await page.keyboard.press('End');
    assert.equal(await motion(page, '(m) => m.player.time === m.player.end'), true);
    await page.keyboard.press('Home');
    await page.keyboard.press('Space');
    assert.equal(await motion(page, '(m) => m.player.playing'), true);
    await page.keyboard.press('Space');
    await page.keyboard.press('n');
    assert.equal(await page.getByRole('combobox', { name: 'Sample' }).inputValue(), '1');
    await page.keyboard.press('o');
    assert.equal(await page.locator('.stage canvas').count(), 2);
    await page.keyboard.press('d');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await page.keyboard.press('?');
    assert.ok(await page.getByRole('dialog').isVisible());
  }));

await test('keys of speed, of what is drawn, of samples', () =>
  withPage('two', async (page) => {
    const pressed = (name) => page.getByRole('button', { name }).first().getAttribute('aria-pressed');
    const speed = () => motion(page, '(m) => m.player.speed');
    const before = await speed();
    await page.keyboard.press('+');
    assert.ok((await speed()) > before);
    await page.keyboard.press('-');
    assert.equal(await speed(), before);
    for (const [key, name] of [['l', 'Repeat (L)'], ['c', 'Contacts and impulses (C)'], ['b', 'Names of bodies (B)']]) {
      const was = await pressed(name);
      await page.keyboard.press(key);
      assert.notEqual(await pressed(name), was, key);
    }
    for (const words of ['Whole trails', 'Trails', 'Trails']) {
      await page.keyboard.press('t');
      assert.equal(await page.getByRole('button', { name: 'Trails: short, whole, none (T)' }).innerText(), words);
    }
    await page.keyboard.press('n');
    await page.keyboard.press('p');
    assert.equal(await page.getByRole('combobox', { name: 'Sample' }).inputValue(), '0');
    const unit = () => motion(page, '(m) => m.stage.view.unit');
    const wide = await unit();
    await page.keyboard.press('z');
    assert.ok((await unit()) > wide);
    await page.keyboard.press('x');
    assert.ok(Math.abs((await unit()) - wide) < 1e-9 * wide);
  }));

/* ---- several motions, camera, what is under the pointer ---- */

await test('motions are laid over each other, put away, and side by side', () =>
  withPage('evaluation', async (page) => {
    assert.deepEqual(await motion(page, '(m) => m.visible().map((t) => t.role)'), ['true', 'predicted']);
    await page.getByRole('button', { name: 'true', exact: true }).click();
    assert.deepEqual(await motion(page, '(m) => m.visible().map((t) => t.role)'), ['predicted']);
    await page.getByRole('button', { name: 'true', exact: true }).click();
    await page.getByRole('button', { name: 'Side by side or laid over each other' }).click();
    assert.equal(await page.locator('.stage canvas').count(), 2);
    assert.ok((await page.locator('.chart-title').allInnerTexts()).includes('Error against the truth'));
  }));

await test('the camera of the plane pans and zooms', () =>
  withPage('bd5', async (page) => {
    const at = async () => (await motion(page, '(m) => m.bodies()'))[0].pixel;
    const box = await page.locator('.stage canvas').boundingBox();
    const before = await at();
    await page.mouse.move(box.x + 200, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 230, box.y + 215);
    await page.mouse.up();
    const after = await at();
    assert.ok(Math.abs(after[0] - before[0] - 30) < 0.01 && Math.abs(after[1] - before[1] - 15) < 0.01);
    const unit = await motion(page, '(m) => m.stage.view.unit');
    await page.mouse.wheel(0, -300);
    await settle(page);
    assert.ok((await motion(page, '(m) => m.stage.view.unit')) > 1.2 * unit);
    await page.keyboard.press('r');
    assert.ok(Math.abs((await at())[0] - before[0]) < 0.01);
  }));

await test('the camera of space turns, and what it shows turns with it', () =>
  withPage('gyro', async (page) => {
    const box = await page.locator('.stage canvas').boundingBox();
    const before = await page.locator('.stage canvas').screenshot();
    const yaw = await motion(page, '(m) => m.stage.view.yaw');
    await page.mouse.move(box.x + 200, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 320, box.y + 200);
    await page.mouse.up();
    await settle(page);
    assert.ok(Math.abs((await motion(page, '(m) => m.stage.view.yaw')) - yaw) > 0.5);
    assert.ok(!before.equals(await page.locator('.stage canvas').screenshot()));
  }));

await test('the pointer tells what is there', () =>
  withPage('bd5', async (page) => {
    const box = await page.locator('.stage canvas').boundingBox();
    const body = (await motion(page, '(m) => m.bodies()'))[2];
    await page.mouse.move(box.x + body.pixel[0] + 2, box.y + body.pixel[1] + 2);
    const text = await page.locator('.tip').innerText();
    assert.ok(text.includes(body.id) && text.includes('mass'), text);
  }));

await test('contacts flash and have impulses', () =>
  withPage('bd5', async (page) => {
    const event = await motion(page, '(m) => { const e = m.visible()[0].events; return { count: e.count, state: e.state[0], impulse: [...e.impulse.slice(0, 2)] }; }');
    assert.ok(event.count > 0 && Math.hypot(...event.impulse) > 0);
    const dt = await motion(page, '(m) => m.player.dt');
    await seek(page, event.state * dt);
    const point = await motion(page, '(m) => { const e = m.visible()[0].events; return m.stage.view.project([e.point[0], e.point[1]]); }');
    const seen = await coloursAt(page, Array.from({ length: 8 }, (_, k) => [point[0] + 4 * Math.cos(k), point[1] + 4 * Math.sin(k)]));
    assert.ok(seen.some(([r, , b]) => r - b > 100), JSON.stringify(seen));
  }));

/* ---- runs ---- */

await test('a folder of runs is a table that sorts and opens', () =>
  withPage('runs', async (page) => {
    const first = () => page.locator('tbody tr td').first().innerText();
    assert.equal(await first(), 'runs/seed0');
    await page.getByRole('button', { name: 'seed', exact: true }).click();
    await page.getByRole('button', { name: 'seed', exact: true }).click();
    assert.equal(await first(), 'runs/seed1');
    await page.getByRole('link', { name: 'runs/seed1' }).click();
    await page.waitForFunction(() => window.carom.current === 1);
    await page.goBack();
    await page.waitForFunction(() => window.carom.current === -1);
  }));

await test('a run shows losses, properties beside their truth, tables, configuration', () =>
  withPage('run', async (page) => {
    const titles = await page.locator('.chart-title').allInnerTexts();
    for (const part of ['Loss', 'Friction', 'Restitution', 'Mass']) assert.ok(titles.some((t) => t.startsWith(part)), part);
    const truth = await page.evaluate(() => window.carom.all[0].charts.find((c) => c.title.startsWith('Friction')).series[0].truth);
    assert.equal(truth, 0.5);
    const heads = await page.locator('h3').allInnerTexts();
    for (const part of ['Errors on test data', 'Contacts', 'Configuration']) assert.ok(heads.includes(part), part);
  }));

// what a button lets the browser save; `part` is the page or a part of it
const saved = async (part, name) => {
  const page = part.page?.() ?? part;
  const [download] = await Promise.all([page.waitForEvent('download'), part.getByRole('button', { name }).last().click()]);
  return readFileSync(await download.path());
};

await test('a plan shows before and after, controls, loss and unknowns', () =>
  withPage('plan', async (page) => {
    assert.deepEqual(await motion(page, '(m) => m.visible().map((t) => t.role)'), ['before', 'after']);
    const titles = await page.locator('.chart-title').allInnerTexts();
    for (const part of ['Controls', 'Distance from before', 'Loss', 'Gradient norm']) assert.ok(titles.includes(part), `${part}: ${titles}`);
    const losses = await page.evaluate(() => [...window.carom.all[0].charts.find((c) => c.title === 'Loss').series[0].values]);
    assert.ok(losses.length > 1 && losses.at(-1) < losses[0], String(losses));
  }));

await test('unknowns of a plan have names, and its target is drawn where the plan has it', () =>
  withPage('hit', async (page) => {
    const names = ['a velocity x', 'a velocity y', 'a rate'];
    const chart = page.locator('.chart', { has: page.locator('.chart-title', { hasText: 'Unknowns' }) });
    assert.deepEqual((await chart.locator('.chart-legend button span:nth-child(2)').allInnerTexts()).slice(0, 3), names);
    const table = page.locator('.table-card', { has: page.locator('h3', { hasText: 'Unknowns' }) });
    assert.deepEqual(await table.locator('tbody tr td:first-child').allInnerTexts(), names);
    assert.ok((await page.locator('.facts').innerText()).includes('goal reached'));
    await seek(page, 0);
    const [x, y] = await motion(page, '(m) => m.stage.view.project([0.75, 0.1])');
    const cross = await coloursAt(page, [[x, y], [x + 3, y], [x, y - 3], [x + 12, y + 12]]);
    const [paper] = cross.splice(3, 1);
    for (const c of cross) assert.ok(paper[0] - c[0] > 90, JSON.stringify([paper, c]));
    // the body of the best motion is there just before its second bounce
    const box = await page.locator('.stage canvas').boundingBox();
    await page.mouse.move(box.x + x, box.y + y);
    assert.match(await page.locator('.tip').innerText(), /target at 0\.75, 0\.1/);
  }));

await test('limits of a rope are dots while they act, and tell their names', () =>
  withPage('rope', async (page) => {
    // one that acts in two states at least, between two points of the rope
    const found = await motion(page, `(m) => {
      const { limits, dt } = m.visible()[0];
      const tie = (i) => m.scene.ties[limits.ties[limits.contact[i]]];
      const k = limits.first.findIndex((first, i) => limits.last[i] > first && tie(i).from.points.length === 1 && tie(i).to.points.length === 1);
      return { time: (limits.first[k] + 1) * dt, label: limits.labels[limits.contact[k]], ends: [tie(k).from.points[0], tie(k).to.points[0]] };
    }`);
    await seek(page, found.time);
    const bodies = await motion(page, '(m) => m.bodies()');
    const [a, b] = found.ends.map((k) => bodies[k].pixel);
    const at = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    // the colour of contacts, which no segment has
    const marked = async () => (await coloursAt(page, [at]))[0].every((v, i) => Math.abs(v - [0xd9, 0x48, 0x0f][i]) < 24);
    assert.ok(await marked());
    const box = await page.locator('.stage canvas').boundingBox();
    await page.mouse.move(box.x + at[0], box.y + at[1]);
    assert.match(await page.locator('.tip').innerText(), /^rope (stretch|bend)[^]*a limit that acts/);
    await page.keyboard.press('c');
    await settle(page);
    assert.ok(!(await marked()), 'without contacts');
  }));

await test('plots are zoomed by a drag, and back by a double click', () =>
  withPage('run', async (page) => {
    const chart = page.locator('.chart', { has: page.locator('.chart-title', { hasText: 'Loss' }) }).first();
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.locator('.u-over').boundingBox();
    const ticks = async () => ((await saved(chart, 'SVG')).toString().match(/<path d="[^"]*"/) ?? [''])[0];
    const whole = await ticks();
    await page.mouse.move(box.x + 0.2 * box.width, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.6 * box.width, box.y + 44, { steps: 4 });
    await page.mouse.up();
    await settle(page);
    assert.notEqual(await ticks(), whole);
    await page.mouse.dblclick(box.x + 0.5 * box.width, box.y + 40);
    await settle(page);
    assert.equal(await ticks(), whole);
  }));

await test('plots are saved as SVG, PNG and CSV', () =>
  withPage('run', async (page) => {
    const svg = (await saved(page, 'Save this plot as SVG')).toString();
    assert.ok(svg.startsWith('<svg') && svg.includes('<path'));
    const png = await saved(page, 'Save this plot as PNG');
    assert.equal(png.subarray(1, 4).toString(), 'PNG');
    assert.equal(png.readUInt32BE(16), 3 * 640);
    const csv = (await saved(page, 'Save these numbers as CSV')).toString();
    assert.ok(csv.split('\r\n').length > 3 && csv.includes(','));
    const positions = (await saved(page, 'Save the positions shown as CSV')).toString();
    assert.match(positions, /^time,a\.x \(true\),a\.y \(true\)/);
    assert.equal((await saved(page, 'Save this picture as PNG')).subarray(1, 4).toString(), 'PNG');
    assert.match((await saved(page, 'Save this table as CSV')).toString(), /^setting,value\r\n/);
  }));

// the numbers of the file, not of the screen
await test('positions saved as CSV are those of the file', () =>
  withPage('gyro', async (page) => {
    const [, ...rows] = (await saved(page, 'Save the positions shown as CSV')).toString().trim().split('\r\n');
    const truth = numbers('gyro')[0];
    assert.equal(rows.length, truth.length);
    for (const k of [0, 37, truth.length - 1])
      rows[k].split(',').slice(1, 4).forEach((v, i) => assert.ok(Math.abs(Number(v) - truth[k][i]) < 1e-5, rows[k]));
  }));

await test('a line of a plot is put away by its name, with its truth, also by keys, and is not saved', () =>
  withPage('run', async (page) => {
    const chart = page.locator('.chart', { has: page.locator('.chart-title', { hasText: 'Friction' }) });
    const entry = chart.locator('.chart-legend button').first();
    assert.match(await entry.innerText(), /friction\s+0\.\d+ \(0\.5\)/);
    assert.equal(((await saved(chart, 'SVG')).toString().match(/<path/g) ?? []).length, 2);
    await entry.focus();
    await page.keyboard.press('Space');
    assert.equal(await entry.getAttribute('aria-pressed'), 'false');
    assert.equal(await motion(page, '(m) => m.player.playing'), false);
    assert.equal(((await saved(chart, 'SVG')).toString().match(/<path/g) ?? []).length, 0);
    await entry.click();
    assert.equal(await entry.getAttribute('aria-pressed'), 'true');
  }));

await test('legends tell the values of the time that is shown, and under the pointer', () =>
  withPage('bd5', async (page) => {
    const chart = page.locator('.chart').first();
    const total = () => chart.locator('.chart-legend button', { hasText: 'total' }).locator('.value').innerText();
    const expected = (state) => motion(page, "(m, k) => m.visible()[0].series.find((s) => s.name === 'total').values[k]", state);
    for (const state of [0, 60]) {
      await seek(page, state * 0.01);
      assert.ok(Math.abs(Number(await total()) - (await expected(state))) < 1e-4);
    }
    const box = await chart.locator('.u-over').boundingBox();
    await page.mouse.move(box.x + 1, box.y + 30);
    await settle(page);
    assert.ok(Math.abs(Number(await total()) - (await expected(0))) < 1e-4);
  }));

/* ---- what must not happen ---- */

await test('text does not run as script', () =>
  withPage('hostile', async (page) => {
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator('main img, main script').count(), 0);
    await motion(page, "(m) => m.key({ key: 'b' })");
    const box = await page.locator('.stage canvas').boundingBox();
    const [body] = await motion(page, '(m) => m.bodies()');
    await page.mouse.move(box.x + body.pixel[0], box.y + body.pixel[1]);
    assert.ok((await page.locator('.tip').innerText()).includes('<img src=x'));
    assert.ok((await page.locator('h1').innerText()).includes('<img src=x'));
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  }));

// the policy of the page stops what the viewer itself would let through
await test('no other script can run in the page', async () => {
  const opened = await open(plain, join(folder, 'bd1.html'));
  await opened.page.evaluate(() => document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.hacked = 1' })));
  assert.equal(await opened.page.evaluate(() => window.hacked), undefined);
  await opened.close();
});

await test('a page that was cut says so', async () => {
  const text = readFileSync(join(folder, 'bd1.html'), 'utf8');
  writeFileSync(join(folder, 'cut.html'), text.replace(/(class="carom-document">.{200})[^<]*/, '$1'));
  const opened = await open(plain, join(folder, 'cut.html'));
  assert.equal(await opened.page.evaluate(() => document.documentElement.dataset.ready), 'failed');
  assert.ok((await opened.page.getByRole('alert').innerText()).includes('cannot be shown'));
  await opened.close();
});

/* ---- other screens ---- */

await test('names of bodies in space', () =>
  withPage('gyro', async (page) => {
    const picture = async () => page.locator('.stage canvas').screenshot();
    await seek(page, 0.5);
    const before = await picture();
    await page.keyboard.press('b');
    await settle(page);
    assert.ok(!before.equals(await picture()));
  }));

await test('the camera moves by keys', () =>
  withPage('gyro', async (page) => {
    const view = () => motion(page, '(m) => ({ yaw: m.stage.view.yaw, pitch: m.stage.view.pitch, distance: m.stage.view.distance })');
    const before = await view();
    for (const key of ['6', '8', 'z']) await page.keyboard.press(key);
    const after = await view();
    assert.ok(after.yaw !== before.yaw && after.pitch !== before.pitch && after.distance < before.distance);
    await page.keyboard.press('r');
    assert.deepEqual(await view(), before);
  }));

await test('motions with other time steps are shown at the same times', () =>
  withPage('steps', async (page) => {
    assert.equal(await page.getByRole('slider', { name: 'Time' }).getAttribute('max'), '100');
    await seek(page, 0.3);
    const [a, b] = await motion(page, '(m) => [m.bodies(0)[0].position, m.bodies(1)[0].position]');
    const truth = numbers('bd1')[0];
    const coarse = JSON.parse(execFileSync(join(build, 'tests', 'make_positions'), ['bd1', join(folder, 'coarse.h5')]).toString())[0];
    a.forEach((v, i) => assert.ok(Math.abs(v - truth[30][i]) < 1e-5));
    b.forEach((v, i) => assert.ok(Math.abs(v - coarse[15][i]) < 1e-5));
    // the distance at that time is that of these two
    const chart = page.locator('.chart', { hasText: 'Distance from' });
    const shown = Number(await chart.locator('.value').innerText());
    assert.ok(Math.abs(shown - Math.hypot(...a.map((v, i) => v - b[i]))) < 1e-3 * shown + 1e-6, String(shown));
  }));

await test('files of one name are told apart', () =>
  withPage('same', async (page) => {
    assert.deepEqual(await page.locator('.legend .chip').allInnerTexts(), ['bd1.h5', 'again/bd1.h5']);
    assert.ok((await page.locator('h1').innerText()).includes('bd1.h5, again/bd1.h5'));
  }));

await test('a screen reader is told what is shown, and every control has a name', () =>
  withPage('bd5', async (page) => {
    const state = await motion(page, '(m) => m.visible()[0].events.state[0]');
    await seek(page, state * 0.01);
    const status = page.locator('[aria-live=polite]');
    await page.waitForFunction(() => /state \d+; contact /.test(document.querySelector('[aria-live=polite]').textContent));
    assert.match(await status.innerText(), new RegExp(`state ${state}; contact `));
    assert.match(await page.locator('.stage canvas').getAttribute('aria-label'), /^Picture of bd5/);
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll('button, input, select, canvas[tabindex], [role=region], figure')].filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim())).length);
    assert.equal(nameless, 0);
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
    assert.equal(await page.locator('h1').count(), 1);
  }));

await test('a tap tells what is there', () =>
  withPage('bd5', async (page) => {
    const box = await page.locator('.stage canvas').boundingBox();
    const body = (await motion(page, '(m) => m.bodies()'))[2];
    await page.touchscreen.tap(box.x + body.pixel[0], box.y + body.pixel[1]);
    assert.ok((await page.locator('.tip').innerText()).includes(body.id));
  }, { width: 390, height: 780, hasTouch: true }));

await test('a phone: nothing is wider than the screen, fingers zoom', () =>
  withPage('run', async (page) => {
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    const distance = await motion(page, `(m) => {
      const e = m.stage.element, unit = m.stage.view.unit, box = e.getBoundingClientRect();
      const fire = (type, id, x, y) => e.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: 'touch', clientX: box.left + x, clientY: box.top + y, bubbles: true }));
      e.setPointerCapture = () => {};
      fire('pointerdown', 1, 100, 100); fire('pointerdown', 2, 150, 100); fire('pointermove', 2, 200, 100);
      fire('pointerup', 1, 100, 100); fire('pointerup', 2, 200, 100);
      return m.stage.view.unit / unit;
    }`);
    assert.ok(Math.abs(distance - 2) < 0.01, String(distance));
  }, { width: 390, height: 780, hasTouch: true }));

/* ---- the report of `carom reproduce` ---- */

for (const [width, colorScheme] of [[1180, 'light'], [390, 'dark']])
  await test(`a report of ${width} pixels, ${colorScheme}`, async () => {
    const context = await plain.newContext({ viewport: { width, height: 800 }, colorScheme, offline: true });
    const page = await context.newPage();
    const errors = [];
    page.on('console', (m) => m.type() === 'error' && errors.push(m.text()));
    await page.goto(`file://${join(folder, 'results', 'report.html')}`);
    assert.deepEqual(await page.locator('nav a').allInnerTexts(), ['table 2 and appendix I: what is learned', 'section 5: plans through contacts']);
    for (const id of ['table2', 'planning']) assert.ok((await page.locator(`section#${id} h2`).count()) > 0, id);
    const images = await page.evaluate(() => [...document.images].map((i) => i.naturalWidth));
    assert.ok(images.length === 8 && images.every((w) => w > 400), String(images));
    const heads = (await page.locator('h3').allInnerTexts()).join();
    for (const part of ['Figure 3', 'Figure 4', 'Figure 5', 'Figure 6', 'Motions']) assert.ok(heads.includes(part), part);
    // every line of every plot lies on its paper
    const outside = await page.evaluate(() => [...document.querySelectorAll('.plot path')].filter((p) => p.getTotalLength() > 0).filter((p) => {
      const [box, paper] = [p.getBoundingClientRect(), p.ownerSVGElement.getBoundingClientRect()];
      return box.left < paper.left - 1 || box.right > paper.right + 1 || box.top < paper.top - 1 || box.bottom > paper.bottom + 1;
    }).length);
    assert.equal(outside, 0);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    await page.getByRole('link', { name: 'planning.html' }).click();
    await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
    assert.deepEqual(errors, []);
    await context.close();
  });

await test('space without WebGL', async () => {
  const opened = await open(plain, join(folder, 'gyro.html'));
  assert.equal(await opened.page.evaluate(() => window.carom.motion.stage.constructor.name !== '' && window.carom.motion.stage.element.getContext('2d') !== null), true);
  assert.deepEqual(opened.errors.filter((e) => !e.includes('WebGL')), []);
  await opened.close();
});

await Promise.all([browser.close(), plain.close()]);
if (kept === undefined) rmSync(folder, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
