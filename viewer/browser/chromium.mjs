// Headless Chromium as tests and pictures use it: a fresh profile, no network, WebGL in software.
import { chromium } from 'playwright-core';
import { existsSync } from 'node:fs';

export const executable = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => path && existsSync(path),
);

const flags = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const software = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'];

export async function launch({ webgl = true } = {}) {
  return chromium.launch({
    executablePath: executable,
    headless: true,
    args: [...flags, ...(webgl ? software : ['--disable-gpu', '--disable-3d-apis'])],
  });
}

// A page of carom, opened from the disk; every message of the console that is an error is kept in `errors`.
export async function open(browser, path, { width = 1280, height = 860, query = '', colorScheme = 'light', hasTouch = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, hasTouch, acceptDownloads: true, offline: true });
  const page = await context.newPage();
  const errors = [];
  const requests = [];
  page.on('console', (m) => m.type() === 'error' && errors.push(m.text()));
  page.on('pageerror', (e) => errors.push(String(e)));
  page.on('request', (r) => !r.url().startsWith('file:') && !r.url().startsWith('blob:') && !r.url().startsWith('data:') && requests.push(r.url()));
  await page.goto(`file://${path}${query}`);
  await page.waitForFunction(() => document.documentElement.dataset.ready !== undefined);
  return { page, errors, requests, close: () => context.close() };
}
