// Tables: sortable by a click on a heading, saved as CSV.

import { button, fileName, h, number, save } from './dom';
import { tableCsv } from './export';
import type { Cell, TableInfo } from './format';

const isNumber = (c: Cell): c is number => typeof c === 'number';

// numbers before texts before nothing; ties stay as they are
export function compareCells(a: Cell, b: Cell): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (isNumber(a) && isNumber(b)) return a - b;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

export function makeTable(info: TableInfo, prefix: string, onRow: ((row: number) => void) | null = null): HTMLElement {
  let column = -1;
  let down = false;
  const body = h('tbody');
  const heads = info.columns.map((name, k) =>
    h('th', { scope: 'col' }, h('button', { type: 'button', onclick: () => sortBy(k) }, name)),
  );

  function cellText(cell: Cell, row: number, k: number): Node {
    const text = isNumber(cell) ? number(cell, 5) : (cell ?? '–');
    if (onRow === null || k > 0) return document.createTextNode(text);
    return h('a', { href: '#', onclick: (e: Event) => (e.preventDefault(), onRow(row)) }, text);
  }

  function fill(): void {
    const order = info.rows.map((_, k) => k);
    if (column >= 0)
      order.sort((a, b) => {
        const [p, q] = [info.rows[a][column], info.rows[b][column]];
        const nothing = p === null || q === null;
        return down && !nothing ? compareCells(q, p) : compareCells(p, q);
      });
    body.replaceChildren(
      ...order.map((k) =>
        h(
          'tr',
          {},
          ...info.rows[k].map((c, i) => h('td', { class: isNumber(c) ? 'number' : '', title: isNumber(c) ? String(c) : undefined }, cellText(c, k, i))),
        ),
      ),
    );
    heads.forEach((head, k) => head.setAttribute('aria-sort', k !== column ? 'none' : down ? 'descending' : 'ascending'));
  }

  function sortBy(k: number): void {
    down = column === k ? !down : false;
    column = k;
    fill();
  }

  fill();
  return h(
    'section',
    { class: 'card table-card' },
    h(
      'header',
      {},
      h('h3', {}, info.title),
      h('span', { class: 'tools' }, button('CSV', 'Save this table as CSV', () =>
        save(`${fileName(prefix, info.title)}.csv`, new Blob([tableCsv(info.columns, info.rows)], { type: 'text/csv' })),
      )),
    ),
    info.note !== '' && h('p', { class: 'note' }, info.note),
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': info.title }, h('table', {}, h('thead', {}, h('tr', {}, ...heads)), body)),
  );
}
