import type { Delivery } from '@webcapture/client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { errorInWords } from '../shell/errors.ts';
import { formatDuration } from '../shell/format.ts';
import { linkTo } from '../shell/routes.ts';
import { client, hasScope } from '../shell/session.ts';
import { type Column, DataTable } from '../widgets/data-table.tsx';
import { Badge, type Tone } from '../widgets/figures.tsx';
import { toast } from '../widgets/toast.tsx';
import { UntrustedText } from '../widgets/untrusted-text.tsx';
import { Ago } from '../widgets/time.tsx';

const tones: Readonly<Record<Delivery['state'], Tone>> = { delivered: 'good', retrying: 'busy', failed: 'bad' };

/** Lists deliveries of events to webhooks, newest first. */
export function Deliveries({
  deliveries,
  hasCapture = false,
  onRedeliver,
  empty,
}: {
  readonly deliveries: readonly Delivery[];
  /** Whether each row links to its capture and can redeliver its event. */
  readonly hasCapture?: boolean;
  /** Called after an event was redelivered. */
  readonly onRedeliver: () => void;
  readonly empty: ComponentChildren;
}) {
  const columns: Column<Delivery>[] = [
    { key: 'state', title: 'State', render: ({ state }) => <Badge tone={tones[state]}>{state}</Badge> },
    { key: 'event', title: 'Event', render: ({ event }) => <code>{event}</code> },
    { key: 'at', title: 'Sent', render: ({ at }) => <Ago at={at} /> },
    { key: 'url', title: 'Address', render: ({ url }) => <UntrustedText text={url} max={60} /> },
    { key: 'answer', title: 'Response', render: (delivery) => <Answer {...delivery} /> },
    { key: 'attempt', title: 'Attempt', align: 'end', isMinor: true, render: ({ attempt }) => attempt },
  ];
  if (hasCapture) {
    columns.push({
      key: 'capture',
      title: 'Capture',
      render: ({ uuid, event }) =>
        uuid !== null && (
          <span class="row-actions">
            <a href={linkTo('captures', uuid)}>Open</a>
            <Redeliver uuid={uuid} event={event} onDone={onRedeliver} />
          </span>
        ),
    });
  }
  return (
    <DataTable
      caption="Webhook deliveries"
      columns={columns}
      rows={deliveries}
      rowKey={(delivery) => `${delivery.at} ${delivery.uuid} ${delivery.revision} ${delivery.attempt}`}
      pageSize={20}
      empty={empty}
    />
  );
}

function Answer({ status, error, durationMs }: Delivery) {
  return (
    <>
      {status === null ? <UntrustedText text={error ?? ''} max={80} /> : `HTTP ${status}`}
      {durationMs !== null && <span class="muted no-wrap"> {formatDuration(durationMs)}</span>}
    </>
  );
}

/** Redelivers the latest event of a capture. */
export function Redeliver({
  uuid,
  event,
  onDone,
}: {
  readonly uuid: string;
  readonly event?: string;
  readonly onDone: () => void;
}) {
  const [isBusy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    try {
      await client().redeliverWebhook(uuid);
      toast('Redelivery of the latest event started');
      onDone();
    } catch (error) {
      toast(errorInWords(error).message, 'error');
    } finally {
      setBusy(false);
    }
  };
  if (!hasScope('capture')) return null;
  return (
    <button
      type="button"
      class="button is-small"
      disabled={isBusy}
      aria-label={event === undefined ? undefined : `Redeliver ${event}`}
      onClick={() => void send()}
    >
      Redeliver
    </button>
  );
}
