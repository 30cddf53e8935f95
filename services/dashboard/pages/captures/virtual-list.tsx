import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Number of rows that are rendered above and below the screen, so that the keyboard can reach the next row. */
const overscan = 8;

/**
 * A list that renders only the rows near the screen, so that ten thousand rows cost no more than fifty. All rows have the same height. Rows
 * that are added at the top do not move the visible rows.
 */
export function VirtualList<Item>({
  items,
  itemKey,
  rowHeightRem,
  label,
  onNearEnd,
  children,
}: {
  readonly items: readonly Item[];
  readonly itemKey: (item: Item) => string;
  readonly rowHeightRem: number;
  readonly label: string;
  readonly onNearEnd: () => void;
  readonly children: (item: Item) => ComponentChildren;
}) {
  const frame = useRef<HTMLUListElement>(null);
  const [range, setRange] = useState({ first: 0, last: 20 });
  const rowHeight = rowHeightRem * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const readingAt = useRef<{ readonly key: string; readonly index: number } | undefined>(undefined);

  const measure = () => {
    const top = frame.current?.getBoundingClientRect().top ?? 0;
    const index = Math.floor(-top / rowHeight);
    const item = items[index];
    readingAt.current = top < 0 && item !== undefined ? { key: itemKey(item), index } : undefined;
    const first = Math.max(0, index - overscan);
    const last = Math.ceil((innerHeight - top) / rowHeight) + overscan;
    setRange((before) => (before.first === first && before.last === last ? before : { first, last }));
    if (last >= items.length) onNearEnd();
  };

  useLayoutEffect(() => {
    const reading = readingAt.current;
    const index = reading === undefined ? -1 : items.findIndex((item) => itemKey(item) === reading.key);
    if (reading !== undefined && index > reading.index) scrollBy(0, (index - reading.index) * rowHeight);
    measure();
  }, [items]);
  useEffect(() => {
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure, { passive: true });
    return () => {
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  });

  return (
    <ul
      ref={frame}
      class="virtual-list"
      role="list"
      aria-label={label}
      style={{ height: `${items.length * rowHeight}px` }}
    >
      {items.slice(range.first, range.last).map((item, offset) => {
        const index = range.first + offset;
        return (
          <li
            key={itemKey(item)}
            aria-setsize={items.length}
            aria-posinset={index + 1}
            style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
          >
            {children(item)}
          </li>
        );
      })}
    </ul>
  );
}
