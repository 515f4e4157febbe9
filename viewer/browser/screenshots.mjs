// Screenshots of pages for docs/images.
//   node browser/screenshots.mjs PAGES IMAGES
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch, open } from './chromium.mjs';

const [pages, images] = process.argv.slice(2).map((p) => resolve(p));
const browser = await launch();

// the time at which something happens: the largest impulse, else the middle
const moment = (page) =>
  page.evaluate(() => {
    const { player } = window.carom.motion;
    const e = window.carom.motion.visible()[0].events;
    let best = -1;
    for (let k = 0; k < e.count; k++) if (best < 0 || e.normal[k] > e.normal[best]) best = k;
    return best < 0 ? player.end / 2 : (e.state[best] + 1) * player.dt;
  });

// one picture; the part of the page that is to be seen
async function shoot(name, output, { colorScheme, width = 1180, height = 700, stageOnly = false, scroll = 0 }) {
  const opened = await open(browser, join(pages, `${name}.html`), { colorScheme, width, height });
  const { page } = opened;
  const time = await moment(page);
  await page.evaluate(([t, y]) => {
    window.carom.motion.player.seek(t);
    scrollTo(0, y);
  }, [time, scroll]);
  await page.waitForTimeout(300);
  const path = join(images, output);
  if (stageOnly) await page.locator('.stage canvas').first().screenshot({ path });
  else await page.screenshot({ path });
  if (opened.errors.length > 0) throw new Error(`${name}: ${opened.errors}`);
  await opened.close();
}

for (const file of readdirSync(pages).filter((f) => f.endsWith('.html') && !['run.html', 'plan.html'].includes(f))) {
  const scene = file.replace('.html', '');
  for (const colorScheme of ['light', 'dark'])
    await shoot(scene, `scene-${scene}-${colorScheme}.png`, { colorScheme, width: 640, height: 760, stageOnly: true });
}
for (const colorScheme of ['light', 'dark']) {
  await shoot('bd5', `viewer-${colorScheme}.png`, { colorScheme });
  await shoot('plan', `plan-${colorScheme}.png`, { colorScheme });
  await shoot('run', `run-${colorScheme}.png`, { colorScheme });
  await shoot('run', `run-learned-${colorScheme}.png`, { colorScheme, scroll: 1500 });
}
await shoot('run', 'phone.png', { colorScheme: 'light', width: 390, height: 780 });
await browser.close();
