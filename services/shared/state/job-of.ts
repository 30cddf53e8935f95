import { captureJobVersion, type CaptureJob, type CaptureSource } from '../contract/capture-job.ts';
import type { CaptureRecord } from '../contract/capture-record.ts';

/** What only a front that waits for the end knows of a job. */
export interface JobDelivery {
  /** Absent when nobody waits. */
  readonly resultSubject?: string;
  readonly wantsBytes: boolean;
  /** Html that is kept nowhere else. */
  readonly source?: CaptureSource;
}

/**
 * The job of a capture (revision 0) or of its latest refresh: everything that it needs stands in the record, so whoever
 * finds that a job is missing can make it again.
 *
 * @throws TypeError when the revision is neither 0 nor that of the latest refresh
 */
export function jobOf(record: CaptureRecord, revision = 0, delivery: JobDelivery = { wantsBytes: false }): CaptureJob {
  const { uuid, account, refresh, fileName, options, cache } = record;
  const turn = revision === 0 ? record : refresh;
  if (turn === undefined || (revision !== 0 && refresh?.revision !== revision)) {
    throw new TypeError(`${uuid} has no revision ${revision}`);
  }
  const { source, ...answer } = delivery;
  return {
    version: captureJobVersion,
    uuid,
    revision,
    account,
    region: turn.region,
    lane: revision === 0 ? record.lane : 'background',
    acceptedAt: turn.acceptedAt,
    startBy: turn.startBy,
    deadline: turn.deadline,
    ...answer,
    fileName,
    source: source ?? sourceOf(record),
    options,
    ...(cache === undefined ? {} : { cache }),
    ...(turn.isolation === undefined ? {} : { isolation: turn.isolation }),
  };
}

function sourceOf({ url, html }: CaptureRecord): CaptureSource {
  return html === undefined ? { kind: 'url', url } : { kind: 'stored-html', fileName: html };
}
