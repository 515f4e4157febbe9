// Mouse, touch and wheel on a stage: turn, pan, zoom; a tap asks what is there.

import type { View } from './view';

export interface PointerActions {
  changed: () => void;
  reset: () => void;
  hover: (x: number, y: number, inside: boolean) => void;
}

export function listen(element: HTMLElement, view: View, actions: PointerActions): void {
  const down = new Map<number, { x: number; y: number }>();
  let moved = 0; // pixels since the first finger came

  const place = (e: PointerEvent) => {
    const box = element.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  };

  element.addEventListener('pointerdown', (e) => {
    element.setPointerCapture(e.pointerId);
    if (down.size === 0) moved = 0;
    down.set(e.pointerId, place(e));
    actions.hover(0, 0, false);
  });

  element.addEventListener('pointermove', (e) => {
    const to = place(e);
    const from = down.get(e.pointerId);
    if (from === undefined) {
      actions.hover(to.x, to.y, true);
      return;
    }
    const other = [...down.entries()].find(([id]) => id !== e.pointerId)?.[1];
    if (other !== undefined) {
      // two fingers: zoom by their distance, pan by their middle
      const before = Math.hypot(from.x - other.x, from.y - other.y);
      const after = Math.hypot(to.x - other.x, to.y - other.y);
      if (before > 0 && after > 0) view.zoom(after / before, (to.x + other.x) / 2, (to.y + other.y) / 2);
      view.pan((to.x - from.x) / 2, (to.y - from.y) / 2);
    } else if (e.shiftKey || e.buttons === 2 || e.buttons === 4) {
      view.pan(to.x - from.x, to.y - from.y);
    } else {
      view.turn(to.x - from.x, to.y - from.y);
    }
    moved += Math.hypot(to.x - from.x, to.y - from.y);
    down.set(e.pointerId, to);
    actions.changed();
  });

  element.addEventListener('pointerup', (e) => {
    const at = place(e);
    if (down.delete(e.pointerId) && down.size === 0 && moved < 6) actions.hover(at.x, at.y, true);
  });
  element.addEventListener('pointercancel', (e) => down.delete(e.pointerId));
  // a finger leaves when it is lifted: what it asked for stays
  element.addEventListener('pointerleave', (e) => e.pointerType !== 'touch' && actions.hover(0, 0, false));
  element.addEventListener('contextmenu', (e) => e.preventDefault());
  element.addEventListener('dblclick', actions.reset);
  element.addEventListener(
    'wheel',
    (e) => {
      e.preventDefault();
      const box = element.getBoundingClientRect();
      view.zoom(Math.exp(-e.deltaY * 0.0015), e.clientX - box.left, e.clientY - box.top);
      actions.changed();
    },
    { passive: false },
  );
}
