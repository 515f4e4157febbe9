// Motions on the page: stages, transport, what is shown, plots that follow the time.

import { Chart } from './chart';
import { button, fileName, h, icon, number, save } from './dom';
import { toCsv, type Drawing, type Line } from './export';
import { FlatStage } from './flat';
import type { CaromDocument, SceneInfo, Track } from './format';
import { difference, extent, pointAt, resample, stateAt, tieMiddle } from './geometry';
import { Player, fittingSpeed, speeds } from './player';
import { listen } from './pointer';
import { SolidStage, hasWebGL } from './solid';
import { actingLimits, firstEvent, flashes, type Frame, type Shown, type Stage } from './stage';
import { trackColour, type Theme } from './theme';
import { OrbitView, PlaneView, type View } from './view';

const GROUPS: [string, string, string, boolean][] = [
  ['energy', 'Energy', 'energy', false],
  ['error', 'Error against the truth', 'relative error', true],
  ['gap', 'Smallest gaps', 'gap', false],
  ['impulse', 'Impulses', 'impulse', false],
  ['control', 'Controls', 'force, torque', false],
];

const trackName = (t: Track, files: boolean): string =>
  [t.role, files ? t.file : ''].filter((s) => s !== '').join(' · ') || t.file;

export class MotionPanel {
  readonly element: HTMLElement;
  readonly player = new Player();
  readonly scene: SceneInfo;
  private readonly samples: string[];
  private readonly hidden = new Set<string>();
  private sample: string;
  private sideBySide = false;
  private trails = 1; // 0 none, 1 short, 2 whole
  private contacts = true;
  private labels = false;
  private stages: Stage[] = [];
  private charts: Chart[] = [];
  private dirty = true;
  private running = 0;
  private readonly flat: boolean;
  frameTimes: number[] = [];

  private readonly holder = h('div', { class: 'stages' });
  private readonly chartHolder = h('div', { class: 'charts' });
  private readonly legend = h('div', { class: 'legend', role: 'group', 'aria-label': 'Motions' });
  private readonly tip = h('div', { class: 'tip', hidden: true, role: 'status' });
  private readonly status = h('p', { class: 'visually-hidden', 'aria-live': 'polite' });
  private readonly clock = h('output', { class: 'clock' });
  private readonly slider = h('input', { type: 'range', min: 0, step: 1, value: 0, 'aria-label': 'Time', class: 'scrubber' });
  private readonly playButton = button(icon('play'), 'Play or pause (space)', () => this.player.toggle(), 'primary');
  private readonly speedMenu = h('select', { 'aria-label': 'Speed', title: 'Speed' });
  private readonly sampleMenu = h('select', { 'aria-label': 'Sample', title: 'Sample (N, P)' });
  private readonly toggles = new Map<string, HTMLButtonElement>();

  constructor(
    readonly document: CaromDocument,
    private theme: Theme,
    force2d: boolean,
  ) {
    this.scene = document.scene!;
    this.flat = this.scene.dimension === 2 || force2d || !hasWebGL();
    this.samples = [...new Set(document.tracks.map((t) => t.sample))];
    this.sample = this.samples[0];
    this.element = h('section', { class: 'motion', 'aria-label': 'Motion' }, h('div', { class: 'left' }, this.stageCard()), this.chartHolder, this.status);
    this.player.onChange = () => this.changed();
    this.slider.addEventListener('input', () => {
      this.player.playing = false;
      this.player.seek(Number(this.slider.value) * this.player.dt);
    });
  }

  /* ---- what is shown ---- */

  private tracksOfSample(): Track[] {
    return this.document.tracks.filter((t) => t.sample === this.sample);
  }

  private manyFiles(): boolean {
    return new Set(this.document.tracks.map((t) => t.file)).size > 1;
  }

  visible(): Track[] {
    const all = this.tracksOfSample();
    const seen = all.filter((t) => !this.hidden.has(trackName(t, this.manyFiles())));
    return seen.length > 0 ? seen : all.slice(0, 1);
  }

  private colourOf(track: Track): string {
    return trackColour(this.theme, track.role, this.tracksOfSample().indexOf(track));
  }

  // laid over each other each motion has a colour of its own, and the first is paler
  private shownOn(stage: number): Shown[] {
    const tracks = this.visible();
    if (this.sideBySide && tracks.length > 1) return [{ track: tracks[stage], colour: null, ghost: false }];
    if (tracks.length === 1) return [{ track: tracks[0], colour: null, ghost: false }];
    return tracks.map((track, k) => ({ track, colour: this.colourOf(track), ghost: k === 0 }));
  }

  private frame(stage: number): Frame {
    const trail = [0, Math.min(this.player.end * 0.25, 1.5), Infinity][this.trails];
    return { time: this.player.time, shown: this.shownOn(stage), trail: Math.min(trail, 1e9), contacts: this.contacts, labels: this.labels, targets: this.document.targets, theme: this.theme };
  }

  /* ---- making it ---- */

  private stageCard(): HTMLElement {
    for (const s of speeds) this.speedMenu.append(h('option', { value: s }, `${s}×`));
    this.speedMenu.addEventListener('change', () => (this.player.speed = Number(this.speedMenu.value)));
    for (const s of this.samples) this.sampleMenu.append(h('option', { value: s }, /^\d+$/.test(s) ? `sample ${s}` : s));
    this.sampleMenu.addEventListener('change', () => this.showSample(this.sampleMenu.value));
    return h(
      'div',
      { class: 'card stage-card' },
      h('div', { class: 'stage-head' }, this.samples.length > 1 && this.sampleMenu, this.legend),
      h('div', { class: 'stage-box' }, this.holder, this.tip),
      h(
        'div',
        { class: 'transport', role: 'group', 'aria-label': 'Playback' },
        button(icon('start'), 'To the start (Home)', () => this.player.seek(0)),
        button(icon('back'), 'One state back (left arrow)', () => this.player.step(-1)),
        this.playButton,
        button(icon('on'), 'One state on (right arrow)', () => this.player.step(1)),
        this.slider,
        this.clock,
        this.speedMenu,
      ),
      h(
        'div',
        { class: 'options', role: 'group', 'aria-label': 'What is drawn' },
        this.toggle('loop', 'Loop', 'Repeat (L)', () => (this.player.loop = !this.player.loop)),
        this.toggle('trails', 'Trails', 'Trails: short, whole, none (T)', () => (this.trails = (this.trails + 1) % 3)),
        this.toggle('contacts', 'Contacts', 'Contacts and impulses (C)', () => (this.contacts = !this.contacts)),
        this.toggle('labels', 'Names', 'Names of bodies (B)', () => (this.labels = !this.labels)),
        this.toggle('side', 'Side by side', 'Side by side or laid over each other (O)', () => this.setSideBySide(!this.sideBySide)),
        button('Reset view', 'Show everything (R)', () => this.resetView()),
        h('span', { class: 'grow' }),
        button('PNG', 'Save this picture as PNG', () => this.savePicture()),
        button('CSV', 'Save the positions shown as CSV', () => this.savePositions()),
      ),
    );
  }

  private toggle(name: string, label: string, title: string, act: () => void): HTMLButtonElement {
    const b = button(label, title, () => {
      act();
      this.changed();
    }, 'toggle');
    this.toggles.set(name, b);
    return b;
  }

  // Once the page has its size.
  start(): void {
    this.showSample(this.sample);
    this.player.speed = fittingSpeed(this.player.end);
    this.speedMenu.value = String(this.player.speed);
    const observer = new ResizeObserver(() => this.layOut());
    observer.observe(this.element);
    const loop = (now: number) => {
      if (!this.element.isConnected) {
        observer.disconnect();
        return;
      }
      if (this.player.tick(now)) this.dirty = true;
      if (this.dirty) this.draw();
      this.running = requestAnimationFrame(loop);
    };
    this.running = requestAnimationFrame(loop);
  }

  dispose(): void {
    cancelAnimationFrame(this.running);
    clearTimeout(this.saying);
    this.stages.forEach((s) => s.dispose());
    this.charts.forEach((c) => c.dispose());
    this.element.remove();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.makeLegend();
    this.makeCharts();
    this.changed();
  }

  showSample(sample: string): void {
    this.sample = sample;
    this.sampleMenu.value = sample;
    const tracks = this.tracksOfSample();
    this.player.dt = Math.min(...tracks.map((t) => t.dt));
    this.player.end = Math.max(...tracks.map((t) => (t.states - 1) * t.dt));
    this.player.time = Math.min(this.player.time, this.player.end);
    this.slider.max = String(Math.round(this.player.end / this.player.dt));
    this.makeLegend();
    this.makeStages();
    this.makeCharts();
    this.changed();
  }

  moveSample(by: number): void {
    const at = this.samples.indexOf(this.sample) + by;
    if (at >= 0 && at < this.samples.length) this.showSample(this.samples[at]);
  }

  private makeLegend(): void {
    const tracks = this.tracksOfSample();
    this.legend.replaceChildren(
      ...tracks.map((t) => {
        const name = trackName(t, this.manyFiles());
        const chip = h('span', { class: 'chip-colour' });
        chip.style.background = tracks.length > 1 ? this.colourOf(t) : 'transparent';
        const b = h('button', { type: 'button', class: 'chip', 'aria-pressed': String(!this.hidden.has(name)), title: `Show or hide ${name}`, onclick: () => this.toggleTrack(name) }, tracks.length > 1 && chip, name);
        return b;
      }),
    );
    const side = this.toggles.get('side');
    if (side !== undefined) side.hidden = tracks.length < 2;
  }

  toggleTrack(name: string): void {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.makeLegend();
    this.makeStages(!this.sideBySide);
    this.makeCharts();
    this.changed();
  }

  setSideBySide(on: boolean): void {
    this.sideBySide = on;
    this.makeStages();
    this.changed();
  }

  private newStage(): Stage {
    const box = extent(this.scene, this.visible(), this.document.targets);
    if (!this.flat) return new SolidStage(this.scene, box);
    return new FlatStage(this.scene, this.scene.dimension === 2 ? new PlaneView() : new OrbitView(this.scene.gravity));
  }

  private stagesKey = '';

  private makeStages(keepCamera = false): void {
    const count = this.sideBySide ? Math.min(this.visible().length, 6) : 1;
    const names = this.visible().map((t) => trackName(t, this.manyFiles()));
    const key = [this.sample, count, ...(count > 1 ? names : [])].join('/');
    const camera = keepCamera ? this.stages[0]?.view : undefined;
    if (key !== this.stagesKey) {
      this.stagesKey = key;
      this.stages.forEach((s) => s.dispose());
      this.stages = Array.from({ length: count }, () => this.newStage());
      this.holder.replaceChildren(
        ...this.stages.map((s, k) => {
          s.element.setAttribute('role', 'img');
          s.element.tabIndex = 0;
          return h('div', { class: 'stage' }, s.element, count > 1 && h('span', { class: 'stage-name' }, names[k]));
        }),
      );
      this.stages.forEach((s) =>
        listen(s.element, s.view, {
          changed: () => this.shareCamera(s.view),
          reset: () => this.resetView(),
          hover: (x, y, inside) => this.hover(s, x, y, inside),
        }),
      );
      this.described = '';
    }
    this.layOut();
    if (camera !== undefined) this.shareCamera(camera);
    else this.resetView();
  }

  // cameras of all stages are one
  private shareCamera(from: View): void {
    for (const { view } of this.stages)
      if (view !== from) Object.assign(view, from, { width: view.width, height: view.height });
    this.changed();
  }

  layOut(): void {
    const width = this.holder.clientWidth;
    if (width === 0) return;
    const columns = Math.min(this.stages.length, width < 560 ? 1 : this.stages.length > 2 ? 3 : 2);
    const each = Math.floor((width - (columns - 1) * 6) / columns);
    const height = Math.round(Math.min(Math.max(each * (columns > 1 ? 0.95 : 0.68), 220), window.innerHeight * 0.62));
    this.holder.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    for (const s of this.stages) {
      if (s.view.width === each && s.view.height === height) continue;
      const first = s.view.width <= 1;
      const factor = each / Math.max(s.view.width, 1);
      s.resize(each, height);
      if (first) s.view.fit(extent(this.scene, this.visible(), this.document.targets));
      else if (s.view instanceof PlaneView) s.view.unit *= factor;
    }
    this.charts.forEach((c) => c.resize());
    this.dirty = true;
  }

  resetView(): void {
    const box = extent(this.scene, this.visible(), this.document.targets);
    for (const s of this.stages) {
      if (s.view instanceof OrbitView) Object.assign(s.view, { yaw: 0.9, pitch: 0.35 });
      s.view.fit(box);
    }
    this.changed();
  }

  /* ---- plots ---- */

  private drawing(group: string, title: string, label: string, log: boolean): Drawing | null {
    const tracks = this.visible();
    const lines: Line[] = [];
    const dashes = [[], [6, 4], [2, 3]];
    tracks.forEach((track) => {
      track.series
        .filter((s) => s.group === group)
        .forEach((s, k) => {
          const many = tracks.length > 1;
          lines.push({
            name: many ? `${s.name} · ${trackName(track, this.manyFiles())}` : s.name,
            colour: many ? this.colourOf(track) : this.theme.palette[k],
            // the total is often one of its parts: both are to be seen
            dash: many ? dashes[k % 3] : s.name === 'total' ? [6, 4] : [],
            values: this.onTimes(s.values, track),
          });
        });
    });
    return lines.length > 0 ? { title, xLabel: 'time', yLabel: label, log, x: this.times(), lines } : null;
  }

  // the motion whose states are the places of plots: the finest, of these the longest
  private finest(): Track {
    return this.visible().reduce((a, b) => (b.dt < a.dt || (b.dt === a.dt && b.states > a.states) ? b : a));
  }

  // all states of the finest motion, and on to the end of the longest
  private times(): Float64Array {
    const { dt } = this.finest();
    const states = Math.max(...this.visible().map((t) => Math.floor(((t.states - 1) * t.dt) / dt + 1e-6) + 1));
    return Float64Array.from({ length: states }, (_, k) => k * dt);
  }

  private onTimes(values: ArrayLike<number>, track: Track): Float32Array {
    return resample(values, track.dt, this.times());
  }

  // how far motions of one sample are apart, where nothing else tells
  private differenceDrawing(): Drawing | null {
    const tracks = this.visible();
    if (tracks.length < 2) return null;
    return {
      title: `Distance from ${trackName(tracks[0], this.manyFiles())}`,
      xLabel: 'time',
      yLabel: 'distance of bodies',
      log: true,
      x: this.times(),
      lines: tracks.slice(1).map((t) => ({
        name: trackName(t, this.manyFiles()),
        colour: this.colourOf(t),
        dash: [],
        values: this.onTimes(difference(this.scene, t, tracks[0]), t),
      })),
    };
  }

  private makeCharts(): void {
    const drawings = [...GROUPS.map(([g, title, label, log]) => this.drawing(g, title, label, log)), this.differenceDrawing()].filter((d) => d !== null);
    this.charts.forEach((c) => c.dispose());
    this.charts = drawings.map((d) => new Chart(d, this.theme, this.document.title, (t) => this.player.seek(t)));
    this.chartHolder.replaceChildren(...this.charts.map((c) => c.element));
    if (this.element.isConnected) this.charts.forEach((c) => c.resize());
  }

  /* ---- drawing ---- */

  private changed(): void {
    this.dirty = true;
    const pressed: Record<string, boolean> = { loop: this.player.loop, trails: this.trails > 0, contacts: this.contacts, labels: this.labels, side: this.sideBySide };
    for (const [name, b] of this.toggles) b.setAttribute('aria-pressed', String(pressed[name]));
    this.toggles.get('trails')!.textContent = ['Trails', 'Trails', 'Whole trails'][this.trails];
  }

  private draw(): void {
    const start = performance.now();
    this.dirty = false;
    this.stages.forEach((s, k) => s.draw(this.frame(k)));
    const { time, end, dt, playing } = this.player;
    const state = Math.floor(time / dt + 1e-6);
    this.slider.value = String(state);
    this.slider.setAttribute('aria-valuetext', `${number(time, 4)} of ${number(end, 4)}, state ${state}`);
    this.clock.textContent = `${time.toFixed(dt < 0.01 ? 3 : 2)} / ${end.toFixed(dt < 0.01 ? 3 : 2)}  #${state}`;
    this.showPlaying(playing);
    this.charts.forEach((c) => c.setTime(time));
    this.describe(state);
    this.frameTimes.push(performance.now() - start);
    if (this.frameTimes.length > 600) this.frameTimes.shift();
  }

  private shownPlaying = false;
  private showPlaying(playing: boolean): void {
    if (playing === this.shownPlaying) return;
    this.shownPlaying = playing;
    this.playButton.replaceChildren(icon(playing ? 'pause' : 'play'));
    this.playButton.setAttribute('aria-pressed', String(playing));
  }

  private described = '';
  private saying = 0;

  // what is seen in words, for those who cannot see it; said once it stands still for a moment
  private describe(state: number): void {
    const names = this.visible().map((t) => trackName(t, this.manyFiles())).join(', ');
    const text = `${this.scene.name}, sample ${this.sample}, ${names}, time ${number(this.player.time, 4)}, state ${state}`;
    if (this.player.playing || text === this.described) return;
    this.described = text;
    this.stages.forEach((s) => s.element.setAttribute('aria-label', `Picture of ${text}`));
    clearTimeout(this.saying);
    this.saying = window.setTimeout(() => (this.status.textContent = [text, ...this.actingContacts()].join('; ')), 500);
  }

  private actingContacts(): string[] {
    const state = Math.round(this.player.time / this.player.dt);
    return this.visible().flatMap((track) => {
      const { events: e, dt } = track;
      const at = Math.round((state * this.player.dt) / dt);
      const out: string[] = [];
      for (let k = firstEvent(e, at); k < e.count && e.state[k] === at && out.length < 6; k++)
        if (e.normal[k] > 0) out.push(`contact ${e.labels[e.contact[k]]}, impulse ${number(e.normal[k], 3)}`);
      const limits = actingLimits(track, state * this.player.dt).length;
      return limits > 0 ? [...out, `${limits} limits of the rope act`] : out;
    });
  }

  /* ---- looking things up ---- */

  // Where bodies are now: in the scene and on the first stage.
  bodies(track = 0): { id: string; position: number[]; pixel: number[] }[] {
    const t = this.visible()[track];
    const x = stateAt(t, this.player.time, new Float32Array(t.size));
    const stage = this.stages[this.sideBySide ? Math.min(track, this.stages.length - 1) : 0];
    return this.scene.bodies.map((b) => {
      const position = pointAt(x, this.scene.dimension, b.first);
      return { id: b.id, position, pixel: stage.view.project(position).slice(0, 2) };
    });
  }

  get stage(): Stage {
    return this.stages[0];
  }

  private hover(stage: Stage, x: number, y: number, inside: boolean): void {
    const index = this.stages.indexOf(stage);
    const lines = inside ? this.whatIsAt(stage, index, x, y) : [];
    this.tip.hidden = lines.length === 0;
    if (lines.length === 0) return;
    this.tip.replaceChildren(...lines.map((l) => h('div', {}, l)));
    const box = stage.element.getBoundingClientRect();
    const outer = this.holder.getBoundingClientRect();
    this.tip.style.left = `${Math.min(x + box.left - outer.left + 14, outer.width - 170)}px`;
    this.tip.style.top = `${y + box.top - outer.top + 14}px`;
  }

  private whatIsAt(stage: Stage, index: number, x: number, y: number): string[] {
    const d = this.scene.dimension;
    const target = this.document.targets.find((t) => {
      const [px, py] = stage.view.project(t.position);
      return Math.hypot(px - x, py - y) < 9;
    });
    if (target !== undefined) return [target.label, `target at ${target.position.map((v) => number(v, 4)).join(', ')}`];
    for (const { track } of this.shownOn(index)) {
      const contact = this.contactAt(stage, track, x, y);
      if (contact !== null) return contact;
      const state = stateAt(track, this.player.time, new Float32Array(track.size));
      const limit = this.limitAt(stage, track, state, x, y);
      if (limit !== null) return limit;
      for (const body of this.scene.bodies) {
        const p = pointAt(state, d, body.first);
        const [px, py] = stage.view.project(p);
        if (Math.hypot(px - x, py - y) > Math.max(body.radius * stage.view.scale(p), 9)) continue;
        return [body.id, `at ${p.map((v) => number(v, 4)).join(', ')}`, `mass ${number(body.mass)}`, trackName(track, this.manyFiles())];
      }
    }
    return [];
  }

  private contactAt(stage: Stage, track: Track, x: number, y: number): string[] | null {
    const d = this.scene.dimension;
    const e = track.events;
    for (const { index } of this.contacts ? flashes(track, this.player.time) : []) {
      const [px, py] = stage.view.project([...e.point.subarray(index * d, (index + 1) * d)]);
      if (Math.hypot(px - x, py - y) > 10) continue;
      const size = Math.hypot(...e.impulse.subarray(index * d, (index + 1) * d));
      const gap = e.gap[index];
      return [`contact ${e.labels[e.contact[index]]}`, `impulse ${number(size)}, normal ${number(e.normal[index])}`, gap < 0 ? `penetration ${number(-gap)}` : `gap ${number(gap)}`];
    }
    return null;
  }

  private limitAt(stage: Stage, track: Track, state: Float32Array, x: number, y: number): string[] | null {
    for (const contact of this.contacts ? actingLimits(track, this.player.time) : []) {
      const [px, py] = stage.view.project(tieMiddle(this.scene.ties[track.limits.ties[contact]], state, this.scene.dimension));
      if (Math.hypot(px - x, py - y) < 6) return [track.limits.labels[contact], 'a limit that acts'];
    }
    return null;
  }

  /* ---- files ---- */

  private savePicture(): void {
    this.draw();
    const { element } = this.stages[0];
    element.toBlob((blob) => blob && save(`${fileName(this.document.title, this.sample)}.png`, blob));
  }

  positionsCsv(): string {
    const d = this.scene.dimension;
    const header = ['time'];
    const columns: ArrayLike<number>[] = [this.times()];
    for (const track of this.visible())
      this.scene.bodies.forEach((b) => {
        for (let i = 0; i < d; i++) {
          header.push(`${b.id}.${'xyz'[i]}${this.visible().length > 1 ? ` (${trackName(track, this.manyFiles())})` : ''}`);
          columns.push(this.onTimes(Float32Array.from({ length: track.states }, (_, k) => track.x[k * track.size + b.first * d + i]), track));
        }
      });
    return toCsv(header, columns);
  }

  private savePositions(): void {
    save(`${fileName(this.document.title, this.sample)}.csv`, new Blob([this.positionsCsv()], { type: 'text/csv' }));
  }

  /* ---- keys ---- */

  key(e: KeyboardEvent): boolean {
    const p = this.player;
    const click = (name: string) => this.toggles.get(name)!.click();
    const many = e.shiftKey ? 10 : 1;
    const actions: Record<string, () => void> = {
      ' ': () => p.toggle(),
      ArrowLeft: () => p.step(-many),
      ArrowRight: () => p.step(many),
      Home: () => p.seek(0),
      End: () => p.seek(p.end),
      '+': () => this.changeSpeed(1),
      '-': () => this.changeSpeed(-1),
      l: () => click('loop'),
      t: () => click('trails'),
      c: () => click('contacts'),
      b: () => click('labels'),
      o: () => this.tracksOfSample().length > 1 && click('side'),
      '4': () => this.moveCamera((v) => v.turn(-24, 0)),
      '6': () => this.moveCamera((v) => v.turn(24, 0)),
      '8': () => this.moveCamera((v) => v.turn(0, -24)),
      '2': () => this.moveCamera((v) => v.turn(0, 24)),
      z: () => this.moveCamera((v) => v.zoom(1.2, v.width / 2, v.height / 2)),
      x: () => this.moveCamera((v) => v.zoom(1 / 1.2, v.width / 2, v.height / 2)),
      r: () => this.resetView(),
      n: () => this.moveSample(1),
      p: () => this.moveSample(-1),
    };
    const action = actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    action?.();
    return action !== undefined;
  }

  private moveCamera(move: (view: View) => void): void {
    move(this.stages[0].view);
    this.shareCamera(this.stages[0].view);
  }

  private changeSpeed(by: number): void {
    const at = speeds.indexOf(this.player.speed) + by;
    if (at < 0 || at >= speeds.length) return;
    this.player.speed = speeds[at];
    this.speedMenu.value = String(speeds[at]);
  }
}
