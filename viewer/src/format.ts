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
  limit: Float32Array; // 1: a limit of a rope, which has no impulse on a body
  point: Float32Array; // [count][dimension]
  impulse: Float32Array; // [count][dimension]
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
  tracks: Track[];
}

export function decodeBase64(text: string): Uint8Array {
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

function decodeMotion(bytes: Uint8Array, at: number, info: ArrayInfo): Float32Array {
  const { rows, columns } = info;
  const low = info.low ?? 0;
  const step = info.step ?? 1;
  const count = rows * columns;
  const values = new Float32Array(count);
  for (let c = 0; c < columns; c++) {
    let before = 0;
    let slope = 0;
    for (let r = 0; r < rows; r++) {
      const zigzag = gather(bytes, at, count, c * rows + r);
      const second = (zigzag >>> 1) ^ -(zigzag & 1);
      const q = (before + slope + second) | 0;
      slope = r > 0 ? (q - before) | 0 : 0;
      before = q;
      values[r * columns + c] = low + step * q;
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

/* eslint-disable @typescript-eslint/no-explicit-any */
function readTrack(raw: any, floats: (info: ArrayInfo) => Float32Array): Track {
  const events = raw.events;
  return {
    sample: raw.sample,
    role: raw.role,
    file: raw.file,
    states: raw.states,
    dt: raw.dt,
    size: raw.x.columns,
    x: floats(raw.x),
    series: raw.series.map((s: any) => ({ group: s.group, name: s.name, values: floats(s.values) })),
    events: {
      count: events.state.rows,
      labels: events.label,
      state: floats(events.state),
      contact: floats(events.contact),
      gap: floats(events.gap),
      normal: floats(events.normal),
      limit: floats(events.limit),
      point: floats(events.point),
      impulse: floats(events.impulse),
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
    tracks: raw.tracks.map((t: any) => readTrack(t, floats)),
  };
}

export async function readDocument(text: string): Promise<CaromDocument> {
  return parseDocument(await inflate(decodeBase64(text)));
}
