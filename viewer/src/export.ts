// Charts as files: CSV of the numbers, SVG drawn anew.

import { niceStep } from './geometry';

export interface Line {
  name: string;
  colour: string;
  dash: number[];
  values: ArrayLike<number>;
  truthOf?: number; // the line whose truth it is: it has no entry of its own in a legend
}

export interface Drawing {
  title: string;
  xLabel: string;
  yLabel: string;
  log: boolean;
  x: ArrayLike<number>;
  lines: Line[];
}

// a field of RFC 4180; what a spreadsheet would take for a formula is text
function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function toCsv(header: string[], columns: ArrayLike<number>[]): string {
  const rows = columns.length > 0 ? columns[0].length : 0;
  const lines = [header.map(field).join(',')];
  for (let k = 0; k < rows; k++)
    lines.push(columns.map((c) => (Number.isFinite(c[k]) ? String(c[k]) : '')).join(','));
  return lines.join('\r\n') + '\r\n';
}

export function tableCsv(header: string[], rows: (string | number | null)[][]): string {
  return (
    [header, ...rows].map((r) => r.map((c) => (c === null ? '' : field(String(c)))).join(',')).join('\r\n') + '\r\n'
  );
}

export const escapeXml = (text: string): string =>
  text.replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]!);

export interface Range {
  low: number;
  high: number;
}

export function rangeOf(lists: ArrayLike<number>[], log: boolean): Range {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists)
    for (let k = 0; k < list.length; k++) {
      const v = list[k];
      if (!Number.isFinite(v) || (log && v <= 0)) continue;
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
  if (low > high) return log ? { low: 0.1, high: 1 } : { low: 0, high: 1 };
  if (log) return { low: 10 ** Math.floor(Math.log10(low)), high: 10 ** Math.ceil(Math.log10(high * 1.0001)) };
  const pad = high > low ? 0.06 * (high - low) : Math.max(0.05 * Math.abs(high), 1e-3);
  return { low: low - pad, high: high + pad };
}

// Where a log axis has lines: powers of ten; where these are few, also 2 and 5 times them.
export function logTicks(range: Range, count: number): number[] {
  const inside = (list: number[]) => list.filter((v) => v >= range.low * (1 - 1e-9) && v <= range.high * (1 + 1e-9));
  const from = Math.floor(Math.log10(range.low) + 1e-9);
  const to = Math.ceil(Math.log10(range.high) - 1e-9);
  const powers = Array.from({ length: to - from + 1 }, (_, k) => from + k);
  const stride = Math.max(1, Math.ceil((to - from) / count));
  const tens = inside(powers.filter((k) => (k - from) % stride === 0).map((k) => 10 ** k));
  if (tens.length > 2) return tens;
  const finer = inside(powers.flatMap((k) => [10 ** k, 2 * 10 ** k, 5 * 10 ** k]));
  return finer.length > 1 ? finer : ticks(range, count);
}

export function ticks(range: Range, count: number): number[] {
  const out: number[] = [];
  const step = niceStep(range.high - range.low, count);
  for (let k = Math.ceil(range.low / step - 1e-9); k * step <= range.high + 1e-9 * step; k++) out.push(k * step + 0);
  return out;
}

export function tickText(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return Number(value.toPrecision(3)).toExponential().replace('e+', 'e');
  return String(Number(value.toPrecision(4)));
}

const WIDTH = 640;
const HEIGHT = 360;
const PLOT = { left: 66, right: 16, top: 34, bottom: 46 };

function xExtent(x: ArrayLike<number>): Range {
  if (x.length === 0) return { low: 0, high: 1 };
  return { low: x[0], high: Math.max(x[x.length - 1], x[0] + 1e-12) };
}

// the part of a drawing that is zoomed to, with one number more at either end
function part(d: Drawing, zoom: Range): Drawing {
  let from = 0;
  let to = d.x.length;
  while (from + 1 < to && d.x[from + 1] <= zoom.low) from++;
  while (to - 1 > from && d.x[to - 2] >= zoom.high) to--;
  const cut = (list: ArrayLike<number>) => Array.from(list).slice(from, to);
  return { ...d, x: cut(d.x), lines: d.lines.map((l) => ({ ...l, values: cut(l.values) })) };
}

// The same numbers as on the screen, for a paper: text stays text.
export function toSvg(whole: Drawing, zoom: Range | null = null): string {
  const d = zoom === null ? whole : part(whole, zoom);
  const xRange = zoom ?? xExtent(d.x);
  const yRange = rangeOf(d.lines.map((l) => l.values), d.log);
  const map = d.log ? Math.log10 : (v: number) => v;
  const px = (v: number) =>
    PLOT.left + ((v - xRange.low) / (xRange.high - xRange.low)) * (WIDTH - PLOT.left - PLOT.right);
  const py = (v: number) =>
    HEIGHT -
    PLOT.bottom -
    ((map(v) - map(yRange.low)) / (map(yRange.high) - map(yRange.low))) * (HEIGHT - PLOT.top - PLOT.bottom);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT + legendHeight(d)}" viewBox="0 0 ${WIDTH} ${HEIGHT + legendHeight(d)}" font-family="Helvetica, Arial, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="${PLOT.left}" y="20" font-size="14" font-weight="bold">${escapeXml(d.title)}</text>`,
  ];
  for (const t of ticks(xRange, 7))
    parts.push(
      `<line x1="${px(t).toFixed(1)}" x2="${px(t).toFixed(1)}" y1="${PLOT.top}" y2="${HEIGHT - PLOT.bottom}" stroke="#e6e9ed"/>`,
      `<text x="${px(t).toFixed(1)}" y="${HEIGHT - PLOT.bottom + 16}" text-anchor="middle">${tickText(t)}</text>`,
    );
  for (const t of d.log ? logTicks(yRange, 6) : ticks(yRange, 6))
    parts.push(
      `<line x1="${PLOT.left}" x2="${WIDTH - PLOT.right}" y1="${py(t).toFixed(1)}" y2="${py(t).toFixed(1)}" stroke="#e6e9ed"/>`,
      `<text x="${PLOT.left - 6}" y="${(py(t) + 4).toFixed(1)}" text-anchor="end">${tickText(t)}</text>`,
    );
  parts.push(
    `<clipPath id="plot"><rect x="${PLOT.left}" y="${PLOT.top}" width="${WIDTH - PLOT.left - PLOT.right}" height="${HEIGHT - PLOT.top - PLOT.bottom}"/></clipPath>`,
    '<g clip-path="url(#plot)">',
    ...d.lines.map((line) => linePath(line, d, px, py)),
    '</g>',
  );
  parts.push(
    `<text x="${(WIDTH + PLOT.left) / 2}" y="${HEIGHT - 10}" text-anchor="middle">${escapeXml(d.xLabel)}</text>`,
    `<text transform="translate(14 ${HEIGHT / 2}) rotate(-90)" text-anchor="middle">${escapeXml(d.yLabel)}</text>`,
    ...legend(d),
    '</svg>',
  );
  return parts.join('\n') + '\n';
}

function linePath(line: Line, d: Drawing, px: (v: number) => number, py: (v: number) => number): string {
  let path = '';
  let down = false;
  for (let k = 0; k < line.values.length; k++) {
    const v = line.values[k];
    if (!Number.isFinite(v) || (d.log && v <= 0)) {
      down = false;
      continue;
    }
    path += `${down ? 'L' : 'M'}${px(d.x[k]).toFixed(2)} ${py(v).toFixed(2)}`;
    down = true;
  }
  const dash = line.dash.length > 0 ? ` stroke-dasharray="${line.dash.join(' ')}"` : '';
  return `<path d="${path}" fill="none" stroke="${line.colour}" stroke-width="1.6"${dash}/>`;
}

const perRow = 3;
const named = (d: Drawing): Line[] => d.lines.filter((l) => l.truthOf === undefined);
const legendHeight = (d: Drawing): number => Math.ceil(named(d).length / perRow) * 18 + 6;

function legend(d: Drawing): string[] {
  return named(d).flatMap((line, k) => {
    const x = PLOT.left + (k % perRow) * 190;
    const y = HEIGHT + 10 + Math.floor(k / perRow) * 18;
    const dash = line.dash.length > 0 ? ` stroke-dasharray="${line.dash.join(' ')}"` : '';
    return [
      `<line x1="${x}" x2="${x + 22}" y1="${y}" y2="${y}" stroke="${line.colour}" stroke-width="2"${dash}/>`,
      `<text x="${x + 28}" y="${y + 4}">${escapeXml(line.name)}</text>`,
    ];
  });
}
