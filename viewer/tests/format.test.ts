import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { decodeArray, decodeBase64, inflate, parseDocument, readDocument, type ArrayInfo } from '../src/format';

// what cli/page.c does, in other words
function planes(values: number[], width: number): Uint8Array {
  const out = new Uint8Array(values.length * width);
  values.forEach((v, i) => {
    for (let k = 0; k < width; k++) out[k * values.length + i] = (v / 2 ** (8 * k)) & 255;
  });
  return out;
}

function floatPlanes(values: number[], width: 4 | 8): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  const out = new Uint8Array(values.length * width);
  values.forEach((v, i) => {
    if (width === 4) view.setFloat32(0, v, true);
    else view.setFloat64(0, v, true);
    for (let k = 0; k < width; k++) out[k * values.length + i] = view.getUint8(k);
  });
  return out;
}

function encodeMotion(rows: number[][], low: number, step: number): Uint8Array {
  const list: number[] = [];
  for (let c = 0; c < rows[0].length; c++) {
    let [before, slope] = [0, 0];
    rows.forEach((row, r) => {
      const q = Math.round((row[c] - low) / step);
      const second = q - before - slope;
      slope = r > 0 ? q - before : 0;
      before = q;
      list.push(second >= 0 ? 2 * second : -2 * second - 1);
    });
  }
  return planes(list, 4);
}

test('floats come back as they were', () => {
  const values = [0, -1.5, 1e-30, 3.25, NaN, Infinity];
  const info: ArrayInfo = { encoding: 'f4', at: 3, rows: 6, columns: 1 };
  const bytes = new Uint8Array([1, 2, 3, ...floatPlanes(values, 4)]);
  assert.deepEqual([...decodeArray(bytes, 0, info)], values.map(Math.fround));
});

test('doubles come back bit for bit', () => {
  const values = [Math.PI, -1e-300, 0.1, NaN];
  const bytes = floatPlanes(values, 8);
  assert.deepEqual([...decodeArray(bytes, 0, { encoding: 'f8', at: 0, rows: 4, columns: 1 })], values);
});

test('motion comes back to its step', () => {
  const rows = Array.from({ length: 50 }, (_, k) => [Math.sin(k / 5), -2 + 0.03 * k, k % 7 === 0 ? 1 : -1]);
  const step = 4 / 2 ** 24;
  const bytes = encodeMotion(rows, -2, step);
  const found = decodeArray(bytes, 0, { encoding: 'motion', at: 0, rows: 50, columns: 3, low: -2, step });
  rows.flat().forEach((v, k) => assert.ok(Math.abs(found[k] - v) < step + 1e-7, `${k}: ${found[k]} is not ${v}`));
});

function documentBytes(json: object, arrays: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(json));
  const out = new Uint8Array(4 + text.length + arrays.length);
  new DataView(out.buffer).setUint32(0, text.length, true);
  out.set(text, 4);
  out.set(arrays, 4 + text.length);
  return out;
}

const small = { kind: 'numbers', title: '<b>a</b>', carom_version: '1', facts: [], tables: [], tracks: [], charts: [{ title: 't', x: { encoding: 'f8', at: 0, rows: 2, columns: 1 }, series: [] }] };

test('a document is JSON and arrays', () => {
  const doc = parseDocument(documentBytes(small, floatPlanes([1, 2], 8)));
  assert.equal(doc.title, '<b>a</b>');
  assert.deepEqual([...doc.charts[0].x], [1, 2]);
});

test('base64 of a zlib stream is read', async () => {
  const bytes = documentBytes(small, floatPlanes([1, 2], 8));
  const text = deflateSync(bytes).toString('base64');
  assert.equal((await readDocument(text)).kind, 'numbers');
  assert.deepEqual(await inflate(decodeBase64(text)), bytes);
});

test('a stream that is cut short is an error', async () => {
  const text = deflateSync(documentBytes(small, floatPlanes([1, 2], 8))).toString('base64');
  await assert.rejects(readDocument(text.slice(0, 40)));
});
