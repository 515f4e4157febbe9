// Documents as `carom view` writes them (cli/page.h has the format): base64 of a zlib stream of JSON and
// arrays. What a document says is data: nothing here or elsewhere makes markup of it.

export interface ArrayInfo {
  encoding: 'f4' | 'f8' | 'motion';
  at: number;
  rows: number;
  columns: number;
  low?: number;
  step?: number;
}

export interface Place {
  points: number[];
  weights: number[];
  constant: number[];
}

export interface Body {
  id: string;
  rigid: boolean;
  first: number;
  count: number;
  mass: number;
  shape: 'none' | 'ball' | 'rim' | 'points';
  radius: number;
  points: number[][];
}

export interface Plane {
  id: string;
  normal: number[];
  offset: number;
}

export interface Tie {
  kind: 'link' | 'joint' | 'spring' | 'segment';
  from: Place;
  to: Place;
  length: number;
}

export interface SceneInfo {
  name: string;
  description: string;
  dimension: number;
  gravity: number[];
  bodies: Body[];
  planes: Plane[];
  ties: Tie[];
}

export interface Series {
  group: string;
  name: string;
  values: Float32Array;
}

// Contacts that act on the way to a state.
export interface Events {
  count: number;
  labels: string[];
  state: Float32Array;
  contact: Float32Array;
  gap: Float32Array;
  normal: Float32Array;
  point: Float32Array; // [count][dimension]
  impulse: Float32Array; // [count][dimension]
}

// Limits of a rope that act, each from a first to a last state, in order of the first.
export interface Limits {
  count: number;
  labels: string[];
  ties: number[]; // of each label the tie of the scene where it is
  contact: Float32Array; // a place in labels
  first: Float32Array;
  last: Float32Array;
}

export interface Track {
  sample: string;
  role: string;
  file: string;
  states: number;
  dt: number;
  size: number; // numbers of a state
  x: Float32Array; // [states][size]
  series: Series[];
  events: Events;
  limits: Limits;
}

export interface ChartSeries {
  name: string;
  values: Float64Array;
  truth: number | null;
}

export interface ChartInfo {
  title: string;
  xLabel: string;
  yLabel: string;
  group: string;
  log: boolean;
  x: Float64Array;
  series: ChartSeries[];
}

export type Cell = string | number | null;

export interface TableInfo {
  title: string;
  note: string;
  columns: string[];
  rows: Cell[][];
}

export interface Summary {
  scene: string;
  model: string;
  seed: number;
  epochs: number;
  loss: number | null;
  error: number | null;
  long: number | null;
  energy: number | null;
  seconds: number | null;
}

// Where a plan wants a body to be.
export interface Target {
  position: number[];
  radius: number;
  label: string;
}

export interface CaromDocument {
  kind: string;
  title: string;
  path?: string;
  version: string;
  facts: [string, string][];
  tables: TableInfo[];
  charts: ChartInfo[];
  scene: SceneInfo | null;
  sceneText?: string;
  summary?: Summary;
  targets: Target[];
  tracks: Track[];
}

export function decodeBase64(text: string): Uint8Array {
  // browsers since 2025 do it themselves, many times as fast
  const own = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
  if (own !== undefined) return own.call(Uint8Array, text);
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let k = 0; k < binary.length; k++) bytes[k] = binary.charCodeAt(k);
  return bytes;
}

export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  if (typeof DecompressionStream === 'undefined')
    throw new Error('this browser is too old to read the page (it has no DecompressionStream)');
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// byte planes back into the bits of number `index`
function gather(bytes: Uint8Array, at: number, count: number, index: number): number {
  return (
    (bytes[at + index] |
      (bytes[at + count + index] << 8) |
      (bytes[at + 2 * count + index] << 16) |
      (bytes[at + 3 * count + index] << 24)) >>>
    0
  );
}

// a few columns at a time: numbers of a row are then written side by side
const COLUMNS = 8;

function decodeMotion(bytes: Uint8Array, at: number, info: ArrayInfo): Float32Array {
  const { rows, columns } = info;
  const low = info.low ?? 0;
  const step = info.step ?? 1;
  const count = rows * columns;
  const values = new Float32Array(count);
  for (let from = 0; from < columns; from += COLUMNS) {
    const width = Math.min(COLUMNS, columns - from);
    const before = new Int32Array(COLUMNS);
    const slope = new Int32Array(COLUMNS);
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < width; c++) {
        const zigzag = gather(bytes, at, count, (from + c) * rows + r);
        const second = (zigzag >>> 1) ^ -(zigzag & 1);
        const q = (before[c] + slope[c] + second) | 0;
        slope[c] = r > 0 ? q - before[c] : 0;
        before[c] = q;
        values[r * columns + from + c] = low + step * q;
      }
  }
  return values;
}

function decodeFloats(bytes: Uint8Array, at: number, count: number): Float32Array {
  const bits = new Uint32Array(count);
  for (let k = 0; k < count; k++) bits[k] = gather(bytes, at, count, k);
  return new Float32Array(bits.buffer);
}

function decodeDoubles(bytes: Uint8Array, at: number, count: number): Float64Array {
  const view = new DataView(new ArrayBuffer(8 * count));
  for (let plane = 0; plane < 8; plane++)
    for (let k = 0; k < count; k++) view.setUint8(8 * k + plane, bytes[at + plane * count + k]);
  const values = new Float64Array(count);
  for (let k = 0; k < count; k++) values[k] = view.getFloat64(8 * k, true);
  return values;
}

export function decodeArray(bytes: Uint8Array, base: number, info: ArrayInfo): Float32Array | Float64Array {
  const at = base + info.at;
  if (info.encoding === 'motion') return decodeMotion(bytes, at, info);
  if (info.encoding === 'f4') return decodeFloats(bytes, at, info.rows * info.columns);
  return decodeDoubles(bytes, at, info.rows * info.columns);
}

// A value that is computed when it is first asked for: a page may hold many motions, and shows few.
function later<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/* eslint-disable @typescript-eslint/no-explicit-any */
function readEvents(raw: any, floats: (info: ArrayInfo) => Float32Array): Events {
  return {
    count: raw.state.rows,
    labels: raw.label,
    state: floats(raw.state),
    contact: floats(raw.contact),
    gap: floats(raw.gap),
    normal: floats(raw.normal),
    point: floats(raw.point),
    impulse: floats(raw.impulse),
  };
}

function readLimits(raw: any, floats: (info: ArrayInfo) => Float32Array): Limits {
  return {
    count: raw.first.rows,
    labels: raw.label,
    ties: raw.tie,
    contact: floats(raw.contact),
    first: floats(raw.first),
    last: floats(raw.last),
  };
}

function readTrack(raw: any, floats: (info: ArrayInfo) => Float32Array): Track {
  const x = later(() => floats(raw.x));
  const series = later(() => raw.series.map((s: any) => ({ group: s.group, name: s.name, values: floats(s.values) })));
  const events = later(() => readEvents(raw.events, floats));
  const limits = later(() => readLimits(raw.limits, floats));
  return {
    sample: raw.sample,
    role: raw.role,
    file: raw.file,
    states: raw.states,
    dt: raw.dt,
    size: raw.x.columns,
    get x() {
      return x();
    },
    get series() {
      return series();
    },
    get events() {
      return events();
    },
    get limits() {
      return limits();
    },
  };
}

// The bytes of a document, inflated.
export function parseDocument(bytes: Uint8Array): CaromDocument {
  const length = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const raw = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const base = 4 + length;
  const doubles = (info: ArrayInfo) => decodeArray(bytes, base, info) as Float64Array;
  const floats = (info: ArrayInfo) => decodeArray(bytes, base, info) as Float32Array;
  return {
    kind: raw.kind,
    title: raw.title,
    path: raw.path,
    version: raw.carom_version,
    facts: raw.facts,
    tables: raw.tables,
    charts: raw.charts.map((c: any) => ({
      ...c,
      x: doubles(c.x),
      series: c.series.map((s: any) => ({ name: s.name, truth: s.truth, values: doubles(s.values) })),
    })),
    scene: raw.scene ?? null,
    sceneText: raw.sceneText,
    summary: raw.summary,
    targets: raw.targets ?? [],
    tracks: raw.tracks.map((t: any) => readTrack(t, floats)),
  };
}

export async function readDocument(text: string): Promise<CaromDocument> {
  return parseDocument(await inflate(decodeBase64(text)));
}
