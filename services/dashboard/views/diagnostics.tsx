import type { Diagnostics as DiagnosticsData } from '@webcapture/client';
import type { ComponentChildren } from 'preact';
import { download } from '../shell/download.ts';
import { formatBytes, formatDuration } from '../shell/format.ts';
import { useQuery } from '../shell/query.ts';
import { client } from '../shell/session.ts';
import { BlobImage } from '../widgets/blob-image.tsx';
import { Card } from '../widgets/card.tsx';
import { type Column, DataTable } from '../widgets/data-table.tsx';
import { Badge } from '../widgets/figures.tsx';
import { Loaded } from '../widgets/states.tsx';
import { UntrustedText } from '../widgets/untrusted-text.tsx';
import './extracted.css';

type List = 'steps' | 'waits' | 'console' | 'requests' | 'blocked';
type Row<Of extends List> = DiagnosticsData[Of][number];

/** Shows why a capture failed, or why its picture looks odd. The texts come from pages and are never rendered as markup. */
export function Diagnostics({ uuid }: { readonly uuid: string }) {
  const diagnostics = useQuery((signal) => client().getDiagnostics(uuid, { signal }), [uuid]);
  return (
    <Loaded query={diagnostics} label="Loading the diagnostics…">
      {(data) => (data === null ? null : <DiagnosticsCard data={data} />)}
    </Loaded>
  );
}

function DiagnosticsCard({ data }: { readonly data: DiagnosticsData }) {
  const { uuid, refresh, steps, waits, console, requests, requestCount, blocked, moving, picture } = data;
  return (
    <Card
      id="diagnostics"
      title="Diagnostics"
      aside={
        <>
          {refresh > 0 && <span class="muted">Of refresh #{refresh}</span>}
          <button type="button" class="button is-small" onClick={() => void downloadHar(uuid)}>
            Download HAR
          </button>
        </>
      }
    >
      {picture !== null && (
        <Part title="Last picture" isOpen>
          <LastPicture uuid={uuid} />
        </Part>
      )}
      <Part title={`Steps (${steps.length})`} isOpen>
        <DataTable caption="Steps" columns={stepColumns} rows={steps} rowKey={({ startMs, name }) => name + startMs} />
      </Part>
      <Table title="Waits" columns={waitColumns} rows={waits} />
      <Table title="Console" columns={consoleColumns} rows={console} isOpen />
      <Table
        title="Requests"
        count={`${requests.length} of ${requestCount}`}
        columns={requestColumns}
        rows={requests}
      />
      <Table title="Blocked requests" columns={blockedColumns} rows={blocked} />
      {moving !== null && <Moving {...moving} />}
    </Card>
  );
}

async function downloadHar(uuid: string): Promise<void> {
  const har = await client().getHar(uuid);
  if (har !== null) download(har, `${uuid}.har`);
}

function LastPicture({ uuid }: { readonly uuid: string }) {
  const picture = useQuery((signal) => client().getLastPicture(uuid, { signal }), [uuid]);
  return (
    <Loaded query={picture} label="Loading the picture…">
      {(blob) => (blob === null ? null : <BlobImage blob={blob} alt="The page when the capture failed" />)}
    </Loaded>
  );
}

function Part({
  title,
  isOpen = false,
  children,
}: {
  readonly title: string;
  readonly isOpen?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <details class="extracted" open={isOpen}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

/** A list with its length; nothing if it is empty. */
function Table<T>({
  title,
  count,
  columns,
  rows,
  isOpen = false,
}: {
  readonly title: string;
  readonly count?: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly isOpen?: boolean;
}) {
  if (rows.length === 0) return null;
  const keys = new Map(rows.map((row, index) => [row, String(index)]));
  return (
    <Part title={`${title} (${count ?? rows.length})`} isOpen={isOpen}>
      <DataTable caption={title} columns={columns} rows={rows} rowKey={(row) => keys.get(row) ?? ''} />
    </Part>
  );
}

function Moving({ readyState, images, fonts, animations }: NonNullable<DiagnosticsData['moving']>) {
  const rows = [
    ...(readyState === 'complete' ? [] : [{ what: 'document', name: readyState }]),
    ...images.map((name) => ({ what: 'image', name })),
    ...fonts.map((name) => ({ what: 'font', name })),
    ...animations.map(({ name, element }) => ({ what: 'animation', name: `${name} of ${element}` })),
  ];
  return <Table title="Still loading or moving" columns={movingColumns} rows={rows} />;
}

const start = <T extends { readonly startMs: number }>(): Column<T> => ({
  key: 'start',
  title: 'Start',
  align: 'end',
  render: ({ startMs }) => formatDuration(startMs),
  sortBy: ({ startMs }) => startMs,
});

const duration = <T extends { readonly durationMs: number | null }>(): Column<T> => ({
  key: 'time',
  title: 'Time',
  align: 'end',
  render: ({ durationMs }) => (durationMs === null ? 'Not ended' : formatDuration(durationMs)),
  sortBy: ({ durationMs }) => durationMs,
});

const address = <T extends { readonly url: string }>(): Column<T> => ({
  key: 'url',
  title: 'URL',
  render: ({ url }) => <UntrustedText text={url} max={120} />,
});

const stepColumns: readonly Column<Row<'steps'>>[] = [
  start(),
  duration(),
  {
    key: 'name',
    title: 'Step',
    render: ({ name, failed }) => (
      <>
        {name} {failed && <Badge tone="bad">failed</Badge>}
      </>
    ),
  },
];

const waitColumns: readonly Column<Row<'waits'>>[] = [
  start(),
  duration(),
  {
    key: 'what',
    title: 'For',
    render: ({ what, timedOut }) => (
      <>
        {what} {timedOut && <Badge tone="bad">timed out</Badge>}
      </>
    ),
  },
];

const consoleColumns: readonly Column<Row<'console'>>[] = [
  { key: 'at', title: 'Time', align: 'end', render: ({ atMs }) => formatDuration(atMs), sortBy: ({ atMs }) => atMs },
  {
    key: 'level',
    title: 'Level',
    render: ({ level }) => <UntrustedText text={level} max={20} />,
    sortBy: ({ level }) => level,
  },
  { key: 'text', title: 'Message', render: ({ text }) => <UntrustedText text={text} /> },
  {
    key: 'source',
    title: 'Source',
    isMinor: true,
    render: ({ url, line }) =>
      url === null ? '–' : <UntrustedText text={line === null ? url : `${url}:${line}`} max={80} />,
  },
];

const requestColumns: readonly Column<Row<'requests'>>[] = [
  start(),
  duration(),
  {
    key: 'status',
    title: 'Status',
    render: ({ status, error }) => <UntrustedText text={error ?? String(status ?? '–')} max={60} />,
    sortBy: ({ status }) => status,
  },
  {
    key: 'bytes',
    title: 'Size',
    align: 'end',
    isMinor: true,
    render: ({ bytes }) => (bytes === null ? '–' : formatBytes(bytes)),
    sortBy: ({ bytes }) => bytes,
  },
  {
    key: 'type',
    title: 'Type',
    isMinor: true,
    render: ({ type }) => <UntrustedText text={type} max={20} />,
    sortBy: ({ type }) => type,
  },
  address(),
];

const blockedColumns: readonly Column<Row<'blocked'>>[] = [
  {
    key: 'rule',
    title: 'Rule',
    render: ({ rule }) => <UntrustedText text={rule} max={20} />,
    sortBy: ({ rule }) => rule,
  },
  { key: 'filter', title: 'Filter', render: ({ filter }) => <UntrustedText text={filter ?? '–'} max={80} /> },
  address(),
];

const movingColumns: readonly Column<{ readonly what: string; readonly name: string }>[] = [
  { key: 'what', title: 'What', render: ({ what }) => what },
  { key: 'name', title: 'Name', render: ({ name }) => <UntrustedText text={name} max={120} /> },
];
