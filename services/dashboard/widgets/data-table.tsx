import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { formatNumber } from '../shell/format.ts';

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly render: (row: Row) => ComponentChildren;
  /** Returns the value that sorts the rows; null comes last. Without this function, the column cannot be sorted. */
  readonly sortBy?: (row: Row) => string | number | null;
  readonly align?: 'end';
  /** Whether the column is hidden on a phone. */
  readonly isMinor?: boolean;
}

interface Order {
  readonly key: string;
  readonly isDescending: boolean;
}

/**
 * A table that sorts, and shows one page of rows, so that ten thousand rows cost no more than fifty. With `onMore`, it fetches
 * further rows when the user goes past the last page.
 */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  rowKey,
  pageSize = 50,
  initialOrder,
  onMore,
  isLoadingMore = false,
  empty,
}: {
  /** Description of the table for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly pageSize?: number;
  readonly initialOrder?: Order;
  readonly onMore?: (() => void) | undefined;
  readonly isLoadingMore?: boolean;
  /** Content that is shown instead of an empty table. */
  readonly empty?: ComponentChildren;
}) {
  const [order, setOrder] = useState(initialOrder);
  const [wantedPage, setPage] = useState(0);
  const sorted = useMemo(() => sortRows(rows, columns, order), [rows, columns, order]);
  const pages = Math.max(1, Math.ceil(rows.length / pageSize));
  const page = Math.min(wantedPage, pages - 1);
  const isWaiting = wantedPage >= pages && isLoadingMore;
  useEffect(() => {
    if (!isLoadingMore && wantedPage >= pages) setPage(pages - 1);
  }, [isLoadingMore, pages]);

  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const first = page * pageSize;
  const shown = sorted.slice(first, first + pageSize);
  const sort = (key: string) =>
    setOrder(order?.key === key ? { key, isDescending: !order.isDescending } : { key, isDescending: false });
  const next = () => {
    if (page === pages - 1) onMore?.();
    setPage(page + 1);
  };
  return (
    <div class="table-frame">
      {/* Wide tables scroll, so the element must be focusable for the keyboard. */}
      <div class="table-scroll" role="region" aria-label={caption} tabIndex={0}>
        <table>
          <caption class="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ key, title, sortBy, align, isMinor }) => (
                <th key={key} scope="col" class={cellClass(align, isMinor)} aria-sort={ariaSort(order, key)}>
                  {sortBy === undefined ? (
                    title
                  ) : (
                    <button type="button" class="sort-button" onClick={() => sort(key)}>
                      {title}
                      <span class="sort-mark" aria-hidden="true" />
                    </button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={rowKey(row)}>
                {columns.map(({ key, render, align, isMinor }) => (
                  <td key={key} class={cellClass(align, isMinor)}>
                    {render(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(pages > 1 || onMore !== undefined) && (
        <nav class="pager" aria-label={`Pages of: ${caption}`}>
          <span aria-live="polite">
            {isWaiting
              ? 'Loading…'
              : `${formatNumber(first + 1)} to ${formatNumber(first + shown.length)} of ${formatNumber(rows.length)}${onMore ? ' or more' : ''}`}
          </span>
          <button type="button" class="button is-small" disabled={page === 0} onClick={() => setPage(page - 1)}>
            Previous
          </button>
          <button
            type="button"
            class="button is-small"
            disabled={isLoadingMore || (page === pages - 1 && onMore === undefined)}
            onClick={next}
          >
            Next
          </button>
        </nav>
      )}
    </div>
  );
}

/** A button for one row of a table. Its accessible name contains the name of the row. */
export function RowButton({
  title,
  row,
  isDangerous = false,
  onClick,
}: {
  readonly title: string;
  readonly row: string;
  readonly isDangerous?: boolean;
  readonly onClick: () => void;
}) {
  return (
    <button
      type="button"
      class={isDangerous ? 'button is-small is-danger' : 'button is-small'}
      aria-label={`${title}: ${row}`}
      onClick={onClick}
    >
      {title}
    </button>
  );
}

function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: Order | undefined,
): readonly Row[] {
  const sortBy = columns.find(({ key }) => key === order?.key)?.sortBy;
  if (order === undefined || sortBy === undefined) return rows;
  const sign = order.isDescending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: sortBy(row) }))
    .sort(({ value: a }, { value: b }) => {
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      return sign * (typeof a === 'string' ? a.localeCompare(String(b)) : a - Number(b));
    })
    .map(({ row }) => row);
}

function ariaSort(order: Order | undefined, key: string): 'ascending' | 'descending' | undefined {
  if (order?.key !== key) return undefined;
  return order.isDescending ? 'descending' : 'ascending';
}

function cellClass(align: 'end' | undefined, isMinor = false): string {
  return [align === 'end' ? 'align-end' : '', isMinor ? 'is-minor' : ''].filter(Boolean).join(' ');
}
