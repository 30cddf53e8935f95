/** Height of a row of {@link rowsOf}, in CSS pixels. */
const rowHeight = 100;

/** A number of rows of 100 px, each with a different colour; each has `attributes`. */
export function rowsOf(count: number, attributes = ''): string {
  return Array.from(
    { length: count },
    (_, index) => `<div ${attributes} style="height:${rowHeight}px;background:${rowColour(index)}"></div>`,
  ).join('');
}

/** The colour of the nth row: the first 4,096 are all different, and neighbors differ strongly. */
function rowColour(index: number): string {
  const channels = [(index * 112) % 256, ((index >> 4) * 80) % 256, 40 + (index >> 8) * 12];
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** The middle of the nth row, with its colour, if the first row starts at `top`. */
export function row(index: number, top = 0): readonly [y: number, colour: string] {
  return [top + index * rowHeight + rowHeight / 2, rowColour(index)];
}
