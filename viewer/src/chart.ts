// A chart on the page (uPlot): values under the pointer, lines that can be put away, zoom by dragging, a
// cursor of the time that is shown, and what it shows as SVG, PNG and CSV.

import uPlot from 'uplot';
import { button, fileName, h, number, save } from './dom';
import { tickText, toCsv, toSvg, type Drawing, type Line } from './export';
import type { Theme } from './theme';

export class Chart {
  readonly element: HTMLElement;
  private readonly holder: HTMLElement;
  private readonly cursor = h('div', { class: 'time-cursor', hidden: true });
  private plot: uPlot | null = null;
  private time: number | null = null;

  constructor(
    private drawing: Drawing,
    private theme: Theme,
    private readonly prefix: string,
    private readonly seek: ((x: number) => void) | null,
  ) {
    this.holder = h('div', { class: 'plot', role: 'img', 'aria-label': this.describe() });
    this.element = h(
      'figure',
      { class: 'chart card' },
      h('figcaption', {}, h('span', { class: 'chart-title' }, drawing.title), this.tools()),
      this.holder,
    );
  }

  private describe(): string {
    const d = this.drawing;
    return `${d.title}: ${d.lines.map((l) => l.name).join(', ')} over ${d.xLabel}`;
  }

  private tools(): HTMLElement {
    const name = (ending: string) => `${fileName(this.prefix, this.drawing.title)}.${ending}`;
    return h(
      'span',
      { class: 'tools' },
      button('SVG', 'Save this plot as SVG', () => save(name('svg'), new Blob([toSvg(this.drawing)], { type: 'image/svg+xml' }))),
      button('PNG', 'Save this plot as PNG', () => this.savePng(name('png'))),
      button('CSV', 'Save these numbers as CSV', () => save(name('csv'), new Blob([this.csv()], { type: 'text/csv' }))),
    );
  }

  csv(): string {
    const d = this.drawing;
    return toCsv([d.xLabel, ...d.lines.map((l) => l.name)], [d.x, ...d.lines.map((l) => l.values)]);
  }

  private savePng(name: string): void {
    const canvas = this.plot?.ctx.canvas;
    if (canvas === undefined) return;
    const copy = h('canvas', { width: canvas.width, height: canvas.height });
    const pen = copy.getContext('2d')!;
    pen.fillStyle = this.theme.paper;
    pen.fillRect(0, 0, copy.width, copy.height);
    pen.drawImage(canvas, 0, 0);
    copy.toBlob((blob) => blob && save(name, blob));
  }

  private series(line: Line): uPlot.Series {
    return {
      label: line.name,
      stroke: line.colour,
      width: 1.8,
      dash: line.dash,
      pxAlign: 0,
      points: { show: line.values.length < 2 },
      value: (_, v) => number(v, 5),
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

  private options(width: number): uPlot.Options {
    const d = this.drawing;
    const y = this.axis(d.yLabel);
    y.size = 62;
    // of a log axis the powers of ten
    if (d.log) y.filter = (_, splits) => splits.map((v) => (v !== null && Math.abs(Math.log10(v) % 1) < 1e-9 ? v : null));
    if (d.log) y.grid = { ...y.grid, filter: y.filter };
    y.values = (_, list) => list.map((v) => (v === null ? '' : tickText(v)));
    return {
      width,
      height: 210,
      legend: { live: true },
      cursor: { drag: { x: true, y: false }, sync: { key: 'carom' }, points: { size: 6 } },
      scales: { x: { time: false }, y: { distr: d.log ? 3 : 1 } },
      axes: [{ ...this.axis(d.xLabel), size: 34 }, y],
      series: [{ label: d.xLabel, value: (_, v) => number(v, 5) }, ...d.lines.map((l) => this.series(l))],
      hooks: { setScale: [() => this.placeCursor()], setSize: [() => this.placeCursor()] },
    };
  }

  // Draws it to the width that there is; what was put away stays so.
  draw(width: number): void {
    const away = this.plot?.series.map((s) => s.show === false) ?? [];
    this.plot?.destroy();
    this.holder.replaceChildren();
    this.plot = new uPlot(this.options(Math.max(width, 200)), this.data(), this.holder);
    away.forEach((hidden, k) => hidden && k < this.plot!.series.length && this.plot!.setSeries(k, { show: false }));
    this.plot.over.append(this.cursor);
    if (this.seek !== null) this.seekByClick(this.plot);
    this.placeCursor();
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
    this.holder.setAttribute('aria-label', this.describe());
    this.draw(this.holder.clientWidth);
  }

  resize(): void {
    const width = this.holder.clientWidth;
    if (this.plot === null) this.draw(width);
    else if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: 210 });
  }

  setTime(time: number): void {
    this.time = time;
    this.placeCursor();
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
