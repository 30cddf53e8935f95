import type { CaptureHistory } from '../api/capture-history.ts';
import type { CaptureOutcome, CaptureRecord, CaptureRefresh, DeliveryEntry, RefreshEntry } from './capture-record.ts';
import { comparisonView, failureView, statusOf } from './view.ts';

/**
 * Maximum number of refreshes and delivery attempts in a record. Lists read thousands of records, so entries are small.
 */
export const maxHistory = 20;

/** Maximum length of error texts, because a page can make them long. */
const maxTextLength = 200;

/** Adds an ended refresh to the history; newest first. */
export function withRefresh(
  { refreshHistory = [] }: CaptureRecord,
  { revision, by, acceptedAt, endedAt = acceptedAt, failure }: CaptureRefresh,
  outcome?: CaptureOutcome,
): Pick<CaptureRecord, 'refreshHistory'> {
  const entry: RefreshEntry = {
    number: revision,
    by,
    acceptedAt,
    endedAt,
    ...(failure === undefined ? {} : { failure: { ...failureView(failure), message: shortened(failure.message) } }),
    ...(outcome === undefined ? {} : { file: sizeOf(outcome) }),
  };
  return { refreshHistory: [entry, ...refreshHistory].slice(0, maxHistory) };
}

/** Adds a delivery attempt to the history. */
export const withDelivery = (
  { deliveryHistory = [] }: CaptureRecord,
  entry: DeliveryEntry,
): Pick<CaptureRecord, 'deliveryHistory'> => ({ deliveryHistory: [entry, ...deliveryHistory].slice(0, maxHistory) });

const sizeOf = ({ fileSizeBytes, width, height }: CaptureOutcome) => ({ fileSizeBytes, width, height });

/** The function does not split surrogate pairs. */
const shortened = (text: string) =>
  text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;

/**
 * Returns the refreshes, earlier files and deliveries of a capture for the account holder.
 *
 * @param options.now Unix milliseconds
 */
export function historyView(
  record: CaptureRecord,
  { cdnUrl, now }: { readonly cdnUrl: string; readonly now: number },
): Omit<CaptureHistory, 'options'> {
  const { uuid, refresh, refreshHistory = [], deliveryHistory = [], earlierFiles = [], webhook } = record;
  const isThere = statusOf(record, now) === 'completed';
  const comparisonOf = (number: number) => (isThere ? (comparisonView(record, number, cdnUrl) ?? null) : null);
  const past = refreshHistory.map(({ number, by, acceptedAt, endedAt, failure, file }) => ({
    number,
    by,
    state: failure === undefined ? ('completed' as const) : ('failed' as const),
    acceptedAt: iso(acceptedAt),
    endedAt: iso(endedAt),
    error: failure === undefined ? null : failureView(failure),
    ...(file ?? noSize),
    comparison: comparisonOf(number),
  }));
  // A refresh in progress is not in the history yet.
  const refreshes = refresh === undefined || refresh.endedAt !== undefined ? past : [underWay(refresh), ...past];
  return {
    refreshes: refreshes.slice(0, maxHistory),
    files: (isThere ? earlierFiles : []).map(({ name, capturedAt, replacedBy, ...size }) => ({
      fileUrl: `${cdnUrl}/${name}`,
      capturedAt: iso(capturedAt),
      replacedBy,
      ...size,
      comparison: comparisonOf(replacedBy),
    })),
    deliveries: deliveryHistory.map(({ at, status, error, durationMs, ...entry }) => ({
      uuid,
      url: webhook?.url ?? '',
      ...entry,
      at: iso(at),
      status: status ?? null,
      error: error ?? null,
      durationMs: durationMs ?? null,
    })),
  };
}

const underWay = ({ revision, by, state, acceptedAt }: CaptureRefresh): CaptureHistory['refreshes'][number] => ({
  number: revision,
  by,
  state,
  acceptedAt: iso(acceptedAt),
  endedAt: null,
  error: null,
  ...noSize,
  comparison: null,
});

const noSize = { fileSizeBytes: null, width: null, height: null };

const iso = (time: number) => new Date(time).toISOString();
