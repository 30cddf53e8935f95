import {
  intervalsOf,
  type Level,
  type SlotRow,
  slotSteps,
  spanOf,
  type Step,
  type TimedCapture,
  waitingOf,
} from './captures.ts';
import type { Interval } from '../speed/turns.ts';

/** The colors of the steps that are drawn as bars. */
const colors: ReadonlyMap<Step, string> = new Map([
  ['open', '#8250df'],
  ['navigate', '#0969da'],
  ['settle', '#1a7f37'],
  ['shoot', '#bf8700'],
  ['store', '#cf222e'],
  ['result', '#1b7c83'],
  ['answer', '#bf3989'],
  ['response', '#8c959f'],
]);

/** Milliseconds of a line of the picture. The rows continue in the next line. */
const lineMs = 5000;
const tickMs = 500;
const pixelsPerMs = 0.3;
const left = 70;
const width = left + lineMs * pixelsPerMs + 20;
const header = 70;
const waitingHeight = 40;
const slotHeight = 22;
/** Height of the steps after a capture has left its slot. They overlap with the next capture of the slot. */
const afterHeight = 8;
const rowHeight = slotHeight + afterHeight + 8;

/** The look of a capture that is slower than the 95th percentile. */
const slowLook = 'fill="none" stroke="#cf222e" stroke-width="2"';

/** Draws a row for each slot, with a bar for each step, and the number of captures in the queue, as an SVG. */
export function drawTimeline(rows: readonly SlotRow[], { title, slowMs }: { title: string; slowMs: number }): string {
  const captures = rows.flatMap((row) => row.captures);
  const start = Math.min(...captures.map((capture) => capture.start));
  const end = Math.max(...captures.map((capture) => capture.end));
  const lines = Math.ceil((end - start) / lineMs);
  const lineHeight = waitingHeight + rows.length * rowHeight + 36;
  const waiting = waitingOf(captures);
  const drawn = Array.from({ length: lines }, (_, index) => {
    const window = { start: start + index * lineMs, end: start + (index + 1) * lineMs };
    const line = [axis(window, start, lineHeight), drawWaiting(waiting, window)];
    for (const [row, { name, captures: of }] of rows.entries()) {
      const y = waitingHeight + 16 + row * rowHeight;
      line.push(label(name, y + slotHeight / 2 + 4));
      for (const capture of of) line.push(drawCapture(capture, window, y, slowMs));
    }
    return `<g transform="translate(0 ${header + index * lineHeight})">${line.join('')}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${header + lines * lineHeight}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/><text x="10" y="22" font-size="15">${title}</text>${legend(slowMs)}
${drawn.join('\n')}
</svg>
`;
}

function legend(slowMs: number): string {
  const marks = [...colors].map(([step, color], index) => {
    const x = 10 + index * 90;
    return `<rect x="${x}" y="36" width="12" height="12" fill="${color}"/><text x="${x + 17}" y="46">${step}</text>`;
  });
  const x = 10 + marks.length * 90;
  return `${marks.join('')}<rect x="${x}" y="36" width="12" height="12" ${slowLook}/><text x="${x + 17}" y="46">slower than p95 (${slowMs.toFixed(0)} ms)</text>`;
}

function axis({ start }: Interval, zero: number, height: number): string {
  const ticks = Array.from({ length: lineMs / tickMs + 1 }, (_, tick) => {
    const x = left + tick * tickMs * pixelsPerMs;
    const seconds = ((start - zero + tick * tickMs) / 1000).toFixed(1);
    return `<path d="M${x} 0V${height - 22}" stroke="#eaeef2"/><text x="${x}" y="${height - 10}" text-anchor="middle" fill="#57606a">${seconds} s</text>`;
  });
  return ticks.join('') + label('waiting', waitingHeight);
}

const label = (text: string, y: number) => `<text x="10" y="${y}">${text}</text>`;

/** Draws the number of captures in the queue as steps. */
function drawWaiting(levels: readonly Level[], window: Interval): string {
  const most = Math.max(...levels.map(({ count }) => count));
  const bars = levels.map(({ at, count }, index) => {
    const height = (count / most) * (waitingHeight - 10);
    const interval = { start: at, end: levels[index + 1]?.at ?? at };
    return bar(interval, window, {
      y: waitingHeight - height,
      height,
      look: 'fill="#afb8c1"',
      title: `${count} waiting`,
    });
  });
  return bars.join('');
}

function drawCapture(capture: TimedCapture, window: Interval, y: number, slowMs: number): string {
  const bars = [...intervalsOf(capture)].map(([step, interval]) => {
    const color = colors.get(step);
    if (color === undefined) return '';
    const isInSlot = slotSteps.includes(step);
    const place = isInSlot ? { y, height: slotHeight } : { y: y + slotHeight + 1, height: afterHeight };
    const title = `${step} ${capture.times[step].toFixed(0)} ms of ${(capture.end - capture.start).toFixed(0)} ms, in the queue ${capture.times.queue.toFixed(0)} ms`;
    return bar(interval, window, { ...place, look: `fill="${color}"`, title });
  });
  if (capture.end - capture.start <= slowMs) return bars.join('');
  const frame = { y, height: slotHeight, look: slowLook, title: 'slower than p95' };
  return bars.join('') + bar(spanOf(capture, slotSteps), window, frame);
}

/** Draws the part of an interval that is in the window. */
function bar(
  interval: Interval,
  window: Interval,
  { y, height, look, title }: { y: number; height: number; look: string; title: string },
): string {
  const start = Math.max(interval.start, window.start);
  const length = Math.min(interval.end, window.end) - start;
  if (length <= 0) return '';
  const x = left + (start - window.start) * pixelsPerMs;
  return `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${(length * pixelsPerMs).toFixed(1)}" height="${height.toFixed(1)}" ${look}><title>${title}</title></rect>`;
}
