// The page: its documents, a table of them where there are several, light and dark.

import { Chart } from './chart';
import { button, h } from './dom';
import { readDocument, type CaromDocument, type Cell, type ChartInfo } from './format';
import { MotionPanel } from './motion';
import { makeTable } from './table';
import { dark, light, type Theme } from './theme';

const KEYS: [string, string][] = [
  ['space', 'play or pause'],
  ['← →', 'one state back or on (with shift: ten)'],
  ['Home End', 'first or last state'],
  ['+ −', 'faster, slower'],
  ['L', 'repeat'],
  ['T', 'trails: short, whole, none'],
  ['C', 'contacts and impulses'],
  ['B', 'names of bodies'],
  ['O', 'side by side or laid over each other'],
  ['N P', 'next or previous sample'],
  ['4 6 8 2', 'turn the camera left, right, up, down (in the plane: move it)'],
  ['Z X', 'nearer, farther'],
  ['R', 'show everything'],
  ['D', 'dark or light'],
  ['?', 'this list'],
];

class Page {
  private documents: CaromDocument[] = [];
  private theme: Theme = light;
  private panel: MotionPanel | null = null;
  private charts: Chart[] = [];
  private readonly force2d = new URLSearchParams(location.search).has('flat');
  private readonly main = h('main', { id: 'content', tabindex: -1 });
  private readonly crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Documents' });
  private readonly help = h('dialog', { class: 'help', 'aria-label': 'Keys' });
  current = -1;

  async start(): Promise<void> {
    this.theme = this.preferredTheme();
    this.build();
    const texts = [...document.querySelectorAll('script.carom-document')];
    try {
      for (const text of texts) this.documents.push(await readDocument(text.textContent ?? ''));
    } catch (error) {
      this.fail(error);
      return;
    }
    if (this.documents.length === 0) {
      this.fail(new Error('there is no document in this page'));
      return;
    }
    window.addEventListener('hashchange', () => this.route());
    window.addEventListener('resize', () => this.resize());
    window.addEventListener('keydown', (e) => this.key(e));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.setTheme(this.preferredTheme()));
    this.route();
    document.documentElement.dataset.ready = 'true';
  }

  private fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.main.replaceChildren(h('section', { class: 'card failure', role: 'alert' }, h('h2', {}, 'This page cannot be shown'), h('p', {}, message), h('p', {}, 'It may have been cut short or changed. `carom view` writes it again.')));
    document.documentElement.dataset.ready = 'failed';
  }

  /* ---- around the content ---- */

  private preferredTheme(): Theme {
    const wanted = new URLSearchParams(location.search).get('theme');
    if (wanted !== null) return wanted === 'dark' ? dark : light;
    return matchMedia('(prefers-color-scheme: dark)').matches ? dark : light;
  }

  private build(): void {
    for (const [key, what] of KEYS) this.help.append(h('div', {}, h('kbd', {}, key), h('span', {}, what)));
    this.help.append(button('Close', 'Close', () => this.help.close()));
    document.body.prepend(
      h('a', { class: 'skip', href: '#content' }, 'To the content'),
      h(
        'header',
        { class: 'top' },
        h('span', { class: 'brand' }, 'carom'),
        this.crumbs,
        h('span', { class: 'grow' }),
        button('?', 'Keys (?)', () => this.help.showModal()),
        button('◐', 'Dark or light (D)', () => this.setTheme(this.theme === dark ? light : dark)),
      ),
      this.main,
      this.help,
    );
    document.documentElement.dataset.theme = this.theme.name;
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    document.documentElement.dataset.theme = theme.name;
    this.panel?.setTheme(theme);
    const shown = this.documents[this.current];
    if (shown !== undefined) shown.charts.forEach((c, k) => this.charts[k]?.update(this.drawing(c), theme));
  }

  private key(e: KeyboardEvent): void {
    const target = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || this.help.open) return;
    if (['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName) && !(target instanceof HTMLInputElement && target.type === 'range')) return;
    // what has the focus is pressed by space, and scrolled by arrows
    if (e.key === ' ' && target.closest('button, summary, a') !== null) return;
    if ((e.key === ' ' || e.key.length > 1) && target.closest('.scroll') !== null) return;
    if (e.key === '?') this.help.showModal();
    else if (e.key.toLowerCase() === 'd') this.setTheme(this.theme === dark ? light : dark);
    else if (!this.panel?.key(e)) return;
    e.preventDefault();
  }

  private resize(): void {
    this.panel?.layOut();
    this.charts.forEach((c) => c.resize());
  }

  /* ---- what is shown ---- */

  private route(): void {
    const match = /^#document-(\d+)$/.exec(location.hash);
    const index = match !== null ? Number(match[1]) : this.documents.length === 1 ? 0 : -1;
    this.show(index >= 0 && index < this.documents.length ? index : this.documents.length === 1 ? 0 : -1);
  }

  private clear(): void {
    this.panel?.dispose();
    this.panel = null;
    this.charts.forEach((c) => c.dispose());
    this.charts = [];
    this.main.replaceChildren();
  }

  private show(index: number): void {
    this.clear();
    this.current = index;
    const several = this.documents.length > 1;
    this.crumbs.replaceChildren();
    if (several) this.crumbs.append(h('a', { href: '#' }, this.listName()));
    if (index < 0) {
      this.showList();
      return;
    }
    const doc = this.documents[index];
    this.crumbs.append(several ? ' › ' : '', h('span', { 'aria-current': 'page' }, doc.title));
    this.showDocument(doc);
  }

  private listName(): string {
    const runs = this.documents.every((d) => d.summary !== undefined);
    return `All ${this.documents.length} ${runs ? 'runs' : 'documents'}`;
  }

  private showList(): void {
    const open = (k: number) => (location.hash = `#document-${k}`);
    const runs = this.documents.every((d) => d.summary !== undefined);
    const columns = runs
      ? ['run', 'scene', 'model', 'seed', 'epochs', 'best loss', 'error', 'long error', 'energy error', 'seconds']
      : ['document', 'kind', 'scene', 'motions'];
    const rows = this.documents.map((d): Cell[] => {
      const s = d.summary;
      if (runs && s !== undefined)
        return [d.path ?? d.title, s.scene, s.model, s.seed, s.epochs, s.loss, s.error, s.long, s.energy, s.seconds];
      return [d.path ?? d.title, d.kind, d.scene?.name ?? null, d.tracks.length];
    });
    const note = runs ? 'Errors are relative, on test data. Click a heading to sort, a run to open it.' : 'Click one to open it.';
    this.main.append(h('h1', {}, document.title), makeTable({ title: runs ? 'Runs' : 'Documents', note, columns, rows }, 'carom', open));
  }

  private showDocument(doc: CaromDocument): void {
    this.main.append(
      h('h1', {}, doc.title, h('span', { class: 'kind' }, doc.kind)),
      h('dl', { class: 'facts' }, ...doc.facts.flatMap(([label, text]) => [h('div', {}, h('dt', {}, label), h('dd', {}, text))])),
    );
    if (doc.tracks.length > 0 && doc.scene !== null) {
      this.panel = new MotionPanel(doc, this.theme, this.force2d);
      this.main.append(this.panel.element);
      this.panel.start();
    } else {
      this.main.append(h('p', { class: 'note' }, 'There is no motion in this document.'));
    }
    this.showCharts(doc);
    for (const table of doc.tables) this.main.append(makeTable(table, doc.title));
    if (doc.sceneText !== undefined)
      this.main.append(h('details', { class: 'card' }, h('summary', {}, 'Scene'), h('pre', {}, doc.sceneText)));
    this.main.append(h('footer', {}, `Written by carom ${doc.version}`));
  }

  private drawing(c: ChartInfo) {
    const colour = (k: number) => this.theme.palette[k % this.theme.palette.length];
    const lines = c.series.map((s, k) => ({ name: s.name, colour: colour(k), dash: [] as number[], values: s.values as ArrayLike<number> }));
    const truths = c.series.flatMap((s, k) =>
      s.truth !== null ? [{ name: `${s.name} true`, colour: colour(k), dash: [5, 4], values: new Float64Array(c.x.length).fill(s.truth), truthOf: k }] : [],
    );
    return { title: c.title, xLabel: c.xLabel, yLabel: c.yLabel, log: c.log, x: c.x, lines: [...lines, ...truths] };
  }

  private showCharts(doc: CaromDocument): void {
    if (doc.charts.length === 0) return;
    this.charts = doc.charts.map((c) => new Chart(this.drawing(c), this.theme, doc.title, null));
    this.main.append(h('div', { class: 'charts wide' }, ...this.charts.map((c) => c.element)));
    this.charts.forEach((c) => c.resize());
  }

  /* ---- for tests and the console ---- */

  get motion(): MotionPanel | null {
    return this.panel;
  }
  get all(): CaromDocument[] {
    return this.documents;
  }
}

const page = new Page();
(window as unknown as { carom: Page }).carom = page;
void page.start();
