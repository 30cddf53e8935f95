/** Height of a row of {@link rowsOf}, in CSS pixels. */
const rowHeight = 100;

/** A number of rows of 100 px, each with a different color; each has `attributes`. */
export function rowsOf(count: number, attributes = ''): string {
  return Array.from(
    { length: count },
    (_, index) => `<div ${attributes} style="height:${rowHeight}px;background:${rowColor(index)}"></div>`,
  ).join('');
}

/** The color of the nth row: the first 4,096 are all different, and neighbors differ strongly. */
function rowColor(index: number): string {
  const channels = [(index * 112) % 256, ((index >> 4) * 80) % 256, 40 + (index >> 8) * 12];
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** The middle of the nth row, with its color, if the first row starts at `top`. */
export function row(index: number, top = 0): readonly [y: number, color: string] {
  return [top + index * rowHeight + rowHeight / 2, rowColor(index)];
}
