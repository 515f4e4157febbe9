// How long pages take: processor time of the page's thread to open it and to draw a frame, which other work on the
// machine does not change, and the distance of frames while it plays, which it does.
//   node browser/measure.mjs PAGE...
import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { launch, open } from './chromium.mjs';

const FRAMES = Number(process.env.FRAMES ?? 120);
const browser = await launch();
console.log('page                  MB   open, ms   frame, ms   worst, ms   frames apart, ms');
for (const file of process.argv.slice(2)) {
  const path = resolve(file);
  const { page, close } = await open(browser, path);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => (await session.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value * 1000;
  const before = await busy();
  await page.reload();
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true' && window.carom.motion !== null);
  await page.waitForTimeout(1500);
  const opened = await busy();
  const apart = await page.evaluate(async (count) => {
    const { player } = window.carom.motion;
    player.speed = 2;
    player.toggle();
    const times = [];
    await new Promise((done) => {
      const tick = (t) => (times.push(t) > count ? done() : requestAnimationFrame(tick));
      requestAnimationFrame(tick);
    });
    player.toggle();
    const list = times.slice(1).map((t, k) => t - times[k]).sort((a, b) => a - b);
    return list[list.length >> 1];
  }, FRAMES);
  const played = await busy();
  const worst = await page.evaluate(() => Math.max(...window.carom.motion.frameTimes));
  console.log(
    `${basename(file).padEnd(20)} ${(statSync(path).size / 1e6).toFixed(2).padStart(5)} ${(opened - before).toFixed(0).padStart(9)} ${((played - opened) / FRAMES).toFixed(2).padStart(11)} ${worst.toFixed(1).padStart(11)} ${apart.toFixed(1).padStart(18)}`,
  );
  await close();
}
await browser.close();
