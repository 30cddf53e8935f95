import type { Batch, BatchCapture } from '@webcapture/client';
import { useEffect, useState } from 'preact/hooks';
import { downloadFile } from '../shell/download.ts';
import { errorInWords } from '../shell/errors.ts';
import { formatNumber } from '../shell/format.ts';
import { Page } from '../shell/page.tsx';
import { useQuery } from '../shell/query.ts';
import { linkTo } from '../shell/routes.ts';
import { client } from '../shell/session.ts';
import './captures/captures.css';
import { statusTones } from './captures/status-badge.tsx';
import { Card } from '../widgets/card.tsx';
import { CopyButton } from '../widgets/copy-button.tsx';
import { type Column, DataTable } from '../widgets/data-table.tsx';
import { Badge, StatTile } from '../widgets/figures.tsx';
import { Loaded } from '../widgets/states.tsx';
import { Ago } from '../widgets/time.tsx';
import { toast } from '../widgets/toast.tsx';
import { UntrustedText } from '../widgets/untrusted-text.tsx';

/** Poll interval until the batch has ended. A response may contain 1,000 captures. */
const pollMs = 3000;

/** The page of one batch: its progress, its captures and their files. */
export function BatchPage({ id }: { readonly id: string }) {
  const [hasEnded, setEnded] = useState(false);
  const batch = useQuery((signal) => client().getBatch(id, { signal }), [id], {
    everyMs: hasEnded ? undefined : pollMs,
  });
  useEffect(() => setEnded(batch.data?.status === 'completed'), [batch.data]);
  return (
    <Page
      title="Batch"
      actions={
        <>
          <CopyButton text={new URL(linkTo('batches', id), document.baseURI).href} what="link" size="normal" />
          {batch.data !== undefined && <DownloadFiles batch={batch.data} />}
        </>
      }
    >
      <nav class="back" aria-label="Breadcrumb">
        <a href={linkTo('captures')}>← All captures</a>
      </nav>
      <Loaded query={batch} label="Loading the batch…">
        {(data) => <Details batch={data} />}
      </Loaded>
    </Page>
  );
}

function DownloadFiles({ batch: { id, counts } }: { readonly batch: Batch }) {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      await downloadFile(await client().getBatchZip(id), `${id}.zip`);
    } catch (error) {
      toast(errorInWords(error).message, 'error');
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      class="button"
      disabled={isBusy || counts.completed === 0}
      aria-busy={isBusy}
      onClick={() => void save()}
    >
      Download files
    </button>
  );
}

const states = ['queued', 'rendering', 'completed', 'failed', 'expired', 'deleted'] as const;

function Details({ batch }: { readonly batch: Batch }) {
  const { id, counts, captures, tokensCharged, createdAt } = batch;
  const ended = counts.total - counts.queued - counts.rendering;
  return (
    <>
      <p class="status-summary" role="status">
        <Badge tone={batch.status === 'completed' ? 'good' : 'busy'}>{batch.status}</Badge> {formatNumber(ended)} of{' '}
        {formatNumber(counts.total)} captures have ended.
      </p>
      <progress class="batch-progress" max={counts.total} value={ended} aria-label="Captures that have ended" />
      <Card id="counts" title="Captures by state">
        <dl class="tiles card-body">
          {states.map((state) => (
            <StatTile key={state} label={state} value={formatNumber(counts[state])} />
          ))}
        </dl>
        <p class="card-body muted">
          <code>{id}</code>, requested <Ago at={createdAt} />, {formatNumber(tokensCharged)} tokens charged
        </p>
      </Card>
      <Card id="captures" title="Captures">
        <DataTable
          caption="Captures"
          columns={columns}
          rows={captures.map(toRow)}
          rowKey={({ number }) => String(number)}
        />
      </Card>
    </>
  );
}

interface Row extends BatchCapture {
  /** Number of the request, from 1. */
  readonly number: number;
}

const toRow = (capture: BatchCapture, index: number): Row => ({ ...capture, number: index + 1 });

const columns: readonly Column<Row>[] = [
  {
    key: 'number',
    title: 'Request',
    align: 'end',
    isMinor: true,
    sortBy: ({ number }) => number,
    render: ({ number }) => formatNumber(number),
  },
  {
    key: 'state',
    title: 'State',
    sortBy: ({ status }) => status,
    render: ({ status, fromCache }) => (
      <>
        <Badge tone={statusTones[status]}>{status}</Badge>
        {fromCache && <span class="muted"> from the cache</span>}
      </>
    ),
  },
  {
    key: 'address',
    title: 'Address',
    sortBy: ({ url }) => url,
    render: ({ url }) =>
      url === null ? '–' : <UntrustedText text={url === 'about:blank' ? 'Supplied HTML' : url} max={120} />,
  },
  {
    key: 'capture',
    title: 'Capture',
    // A capture without a record has no page.
    render: ({ uuid, url }) => (url === null ? <code>{uuid}</code> : <a href={linkTo('captures', uuid)}>{uuid}</a>),
  },
  {
    key: 'error',
    title: 'Error',
    sortBy: ({ error }) => error?.code ?? null,
    render: ({ error }) => error !== null && <UntrustedText text={`${error.code}: ${error.message}`} max={120} />,
  },
];
