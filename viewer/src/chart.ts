// A chart on the page (uPlot): a legend of buttons with the values under the pointer, else of the time that is
// shown, else the last ones; zoom by dragging; what it shows as SVG, PNG and CSV.

import uPlot from 'uplot';
import { button, fileName, h, number, save } from './dom';
import { logTicks, tickText, toCsv, toSvg, type Drawing, type Line } from './export';
import { onPaper, type Theme } from './theme';

const HEIGHT = 210;

// a line of the legend; that of a value and its truth is one
interface Entry {
  button: HTMLButtonElement;
  value: HTMLElement;
  line: number;
  truth: number; // -1: none
}

// the index of the last number of a list that does not fall that is not above a value
export function indexAt(list: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}

export class Chart {
  readonly element: HTMLElement;
  private readonly holder = h('div', { class: 'plot' });
  private readonly legend: HTMLElement;
  private readonly at = h('span', { class: 'chart-at' });
  private readonly cursor = h('div', { class: 'time-cursor', hidden: true });
  private readonly away = new Set<string>(); // names of lines that are put away
  private entries: Entry[] = [];
  private plot: uPlot | null = null;
  private time: number | null = null;
  private shownIndex = -1;

  constructor(
    private drawing: Drawing,
    private theme: Theme,
    private readonly prefix: string,
    private readonly seek: ((x: number) => void) | null,
  ) {
    this.legend = h('div', { class: 'chart-legend', role: 'group', 'aria-label': `Lines of ${drawing.title}` });
    this.element = h(
      'figure',
      { class: 'chart card', 'aria-label': this.describe() },
      h('figcaption', {}, h('span', { class: 'chart-title' }, drawing.title), this.tools()),
      this.holder,
      this.legend,
    );
    this.makeLegend();
  }

  private describe(): string {
    const d = this.drawing;
    return `Plot of ${d.title} over ${d.xLabel}`;
  }

  private tools(): HTMLElement {
    const name = (ending: string) => `${fileName(this.prefix, this.drawing.title)}.${ending}`;
    const what = this.drawing.title;
    return h(
      'span',
      { class: 'tools' },
      button('SVG', `Save this plot as SVG: ${what}`, () => save(name('svg'), new Blob([this.svg()], { type: 'image/svg+xml' }))),
      button('PNG', `Save this plot as PNG: ${what}`, () => void this.savePng(name('png'))),
      button('CSV', `Save these numbers as CSV: ${what}`, () => save(name('csv'), new Blob([this.csv()], { type: 'text/csv' }))),
    );
  }

  /* ---- legend ---- */

  private makeLegend(): void {
    const { lines } = this.drawing;
    this.entries = lines.flatMap((line, k) => (line.truthOf === undefined ? [this.makeEntry(line, k)] : []));
    this.legend.replaceChildren(this.at, ...this.entries.map((e) => e.button));
    this.shownIndex = -1;
  }

  private makeEntry(line: Line, k: number): Entry {
    const swatch = h('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.borderTop = `${line.dash.length === 0 ? 2.5 : 2}px ${line.dash.length === 0 ? 'solid' : line.dash[0] > 3 ? 'dashed' : 'dotted'} ${line.colour}`;
    const value = h('span', { class: 'value' });
    const entry = h(
      'button',
      { type: 'button', 'aria-pressed': String(!this.away.has(line.name)), title: `Show or hide ${line.name}`, onclick: () => this.toggle(line.name) },
      swatch,
      h('span', {}, line.name),
      value,
    );
    return { button: entry, value, line: k, truth: this.drawing.lines.findIndex((l) => l.truthOf === k) };
  }

  private isAway(line: Line): boolean {
    return this.away.has(line.truthOf === undefined ? line.name : this.drawing.lines[line.truthOf].name);
  }

  // Puts a line away, or shows it again; its truth goes with it.
  toggle(name: string): void {
    if (!this.away.delete(name)) this.away.add(name);
    this.drawing.lines.forEach((line, k) => {
      const show = !this.isAway(line);
      if (this.plot !== null && this.plot.series[k + 1].show !== show) this.plot.setSeries(k + 1, { show });
    });
    for (const e of this.entries) e.button.setAttribute('aria-pressed', String(!this.away.has(this.drawing.lines[e.line].name)));
  }

  // values under the pointer, else of the time that is shown, else the last
  private showValues(): void {
    const { lines, x, xLabel } = this.drawing;
    if (x.length === 0) return;
    const index = this.plot?.cursor.idx ?? (this.time !== null ? indexAt(x, this.time * (1 + 1e-9) + 1e-12) : x.length - 1);
    if (index === this.shownIndex) return;
    this.shownIndex = index;
    this.at.textContent = `${xLabel} ${number(x[index], 4)}`;
    for (const { value, line, truth } of this.entries)
      value.textContent = number(lines[line].values[index], 4) + (truth >= 0 ? ` (${number(lines[truth].values[index], 4)})` : '');
  }

  /* ---- files ---- */

  csv(): string {
    const d = this.drawing;
    return toCsv([d.xLabel, ...d.lines.map((l) => l.name)], [d.x, ...d.lines.map((l) => l.values)]);
  }

  // what is seen: without the lines that are put away, and only the part that is zoomed to
  svg(): string {
    const { min, max } = this.plot?.scales.x ?? {};
    const lines = this.drawing.lines.filter((l) => !this.isAway(l)).map((l) => ({ ...l, colour: onPaper(l.colour) }));
    return toSvg({ ...this.drawing, lines }, min != null && max != null ? { low: min, high: max } : null);
  }

  // the picture for papers, three times as fine
  private async savePng(name: string): Promise<void> {
    const url = URL.createObjectURL(new Blob([this.svg()], { type: 'image/svg+xml' }));
    const image = new Image();
    image.src = url;
    try {
      await image.decode();
    } finally {
      URL.revokeObjectURL(url);
    }
    const canvas = h('canvas', { width: 3 * image.width, height: 3 * image.height });
    canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && save(name, blob));
  }

  /* ---- drawing ---- */

  private series(line: Line): uPlot.Series {
    return {
      label: line.name,
      stroke: line.colour,
      width: line.truthOf === undefined ? 1.8 : 1.3,
      dash: line.dash,
      pxAlign: 0,
      show: !this.isAway(line),
      points: { show: line.values.length < 2 },
      spanGaps: false,
    };
  }

  // a log axis has no place for what is not above zero
  private data(): uPlot.AlignedData {
    const d = this.drawing;
    const clean = (list: ArrayLike<number>) =>
      Array.from(list, (v) => (Number.isFinite(v) && (!d.log || v > 0) ? v : null));
    return [Array.from(d.x), ...d.lines.map((l) => clean(l.values))] as uPlot.AlignedData;
  }

  private axis(label: string): uPlot.Axis {
    return {
      stroke: this.theme.soft,
      grid: { stroke: this.theme.grid, width: 1 },
      ticks: { stroke: this.theme.grid, width: 1 },
      font: '11px system-ui, sans-serif',
      labelFont: '11px system-ui, sans-serif',
      label,
      labelSize: 16,
    };
  }

  // what is rounding alone is a straight line
  private yScale(): uPlot.Scale {
    if (this.drawing.log) return { distr: 3 };
    return {
      range: (_, low, high) => {
        if (low === null || high === null) return [0, 1];
        if (Math.max(Math.abs(low), Math.abs(high)) < 1e-12) return [-1, 1];
        const pad = high > low ? 0.06 * (high - low) : 0.1 * Math.abs(high);
        return [low - pad, high + pad];
      },
    };
  }

  private options(width: number): uPlot.Options {
    const d = this.drawing;
    const y = this.axis(d.yLabel);
    y.size = 62;
    if (d.log) {
      y.splits = (u) => logTicks({ low: u.scales.y.min ?? 0.1, high: u.scales.y.max ?? 1 }, 6);
      y.filter = (_, splits) => splits;
      y.grid = { ...y.grid, filter: (_, splits) => splits };
    }
    y.values = (_, list) => list.map((v) => (v === null ? '' : tickText(v)));
    return {
      width,
      height: HEIGHT,
      legend: { show: false },
      // plots over one axis share the pointer
      cursor: { drag: { x: true, y: false }, sync: { key: `carom-${d.xLabel}` }, points: { size: 6 } },
      scales: { x: { time: false }, y: this.yScale() },
      axes: [{ ...this.axis(d.xLabel), size: 34 }, y],
      series: [{ label: d.xLabel }, ...d.lines.map((l) => this.series(l))],
      hooks: { setScale: [() => this.placeCursor()], setSize: [() => this.placeCursor()], setCursor: [() => this.showValues()] },
    };
  }

  // Draws it to the width that there is; what was put away stays so.
  draw(width: number): void {
    this.plot?.destroy();
    this.holder.replaceChildren();
    this.plot = new uPlot(this.options(Math.max(width, 200)), this.data(), this.holder);
    this.plot.root.setAttribute('aria-hidden', 'true');
    this.plot.over.append(this.cursor);
    if (this.seek !== null) this.seekByClick(this.plot);
    this.placeCursor();
    this.showValues();
  }

  // a click that is not the end of a drag goes to that time
  private seekByClick(plot: uPlot): void {
    let down = 0;
    plot.over.addEventListener('pointerdown', (e) => (down = e.clientX));
    plot.over.addEventListener('click', (e) => {
      if (Math.abs(e.clientX - down) > 3) return;
      const left = e.clientX - plot.over.getBoundingClientRect().left;
      this.seek?.(plot.posToVal(left, 'x'));
    });
  }

  update(drawing: Drawing, theme: Theme): void {
    this.drawing = drawing;
    this.theme = theme;
    this.element.setAttribute('aria-label', this.describe());
    this.makeLegend();
    this.draw(this.holder.clientWidth);
  }

  resize(): void {
    const width = this.holder.clientWidth;
    if (this.plot === null) this.draw(width);
    else if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  setTime(time: number): void {
    this.time = time;
    this.placeCursor();
    this.showValues();
  }

  private placeCursor(): void {
    if (this.plot === null || this.time === null) return;
    const at = this.plot.valToPos(this.time, 'x');
    const inside = Number.isFinite(at) && at >= -1 && at <= this.plot.over.clientWidth + 1;
    this.cursor.hidden = !inside;
    if (inside) this.cursor.style.transform = `translateX(${at.toFixed(1)}px)`;
  }

  dispose(): void {
    this.plot?.destroy();
    this.element.remove();
  }
}
