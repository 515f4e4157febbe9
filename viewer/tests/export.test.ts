import assert from 'node:assert/strict';
import { test } from 'node:test';
import { number } from '../src/dom';
import { logTicks, rangeOf, tableCsv, tickText, ticks, toCsv, toSvg } from '../src/export';
import { dark, light, onPaper, trackColour } from '../src/theme';
import { compareCells } from '../src/table';

test('CSV quotes what it must, and numbers that are none are empty', () => {
  assert.equal(toCsv(['t', 'a "b", c'], [[0, 1], [NaN, 0.5]]), 't,"a ""b"", c"\r\n0,\r\n1,0.5\r\n');
});

test('CSV never holds a formula', () => {
  assert.equal(tableCsv(['x'], [['=1+1'], ['-2'], ['@a'], [-3]]), "x\r\n'=1+1\r\n-2\r\n'@a\r\n-3\r\n");
});

const drawing = { title: 'Loss </text><script>', xLabel: 'epoch', yLabel: 'y', log: true, x: [1, 2, 3], lines: [{ name: '<b>', colour: '#123456', dash: [5, 4], values: [1, 0, 0.01] }] };

test('SVG escapes text and leaves out what a log axis cannot show', () => {
  const svg = toSvg(drawing);
  assert.ok(!svg.includes('<script>') && svg.includes('&lt;script&gt;') && svg.includes('&lt;b&gt;'));
  const path = /<path d="([^"]*)"/.exec(svg)![1];
  assert.equal((path.match(/M/g) ?? []).length, 2);
  assert.ok(!path.includes('NaN') && !path.includes('L'));
});

test('axes', () => {
  assert.deepEqual(rangeOf([[0.02, 5]], true), { low: 0.01, high: 10 });
  assert.deepEqual(logTicks({ low: 0.01, high: 10 }, 6), [0.01, 0.1, 1, 10]);
  assert.deepEqual(logTicks({ low: 0.01, high: 0.1 }, 6), [0.01, 0.02, 0.05, 0.1]);
  assert.equal(logTicks({ low: 1e-9, high: 10 }, 6).length, 6);
  assert.ok(logTicks({ low: 0.031, high: 0.037 }, 6).length > 2);
  assert.deepEqual(ticks({ low: -0.1, high: 1.05 }, 5).map((v) => Math.round(v * 100) / 100), [0, 0.5, 1]);
  assert.equal(tickText(0.00001), '1e-5');
  assert.equal(tickText(0.00012), '1.2e-4');
});

const course = { title: 't', xLabel: 'time', yLabel: 'y', log: false, x: [0, 1, 2, 3], lines: [{ name: 'a', colour: '#111111', dash: [], values: [0, 1, 2, 3] }, { name: 'a true', colour: '#111111', dash: [5, 4], values: [2, 2, 2, 2], truthOf: 0 }] };

test('SVG begins where the numbers do, and shows what is zoomed to', () => {
  const first = (svg: string) => Number(/<path d="M([\d.]+) /.exec(svg)![1]);
  assert.equal(first(toSvg(course)), 66);
  const zoomed = toSvg(course, { low: 1, high: 2 });
  assert.equal(first(zoomed), 66);
  assert.ok(!zoomed.includes('>3<'));
});

test('the truth of a line has no entry of its own', () => assert.ok(!toSvg(course).includes('a true')));

test('colours of the dark page become those for paper', () => {
  dark.palette.forEach((c, k) => assert.equal(onPaper(c), light.palette[k]));
  assert.equal(onPaper(trackColour(dark, 'true', 0)), trackColour(light, 'true', 0));
  assert.equal(onPaper('#123456'), '#123456');
});

test('numbers are short', () => {
  assert.equal(number(0.123456), '0.1235');
  assert.equal(number(1.5e-7), '1.50e-7');
  assert.equal(number(null), '–');
  assert.equal(number(12), '12');
});

test('tables sort numbers as numbers', () => {
  assert.deepEqual([10, 'b', null, 9, 'a10', 'a9'].sort(compareCells), [9, 10, 'a9', 'a10', 'b', null]);
});
