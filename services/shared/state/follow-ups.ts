import type { CaptureRecord } from '../contract/capture-record.ts';
import type { Tasks } from './tasks.ts';

/**
 * Hands over to the leader what has to follow the end of a capture or of a refresh: its expiry, its next refresh, the
 * notice to its webhook. To be called by whoever ended it, before the job is given up; calling it again is harmless.
 */
export class FollowUps {
  readonly #tasks: Pick<Tasks, 'publish' | 'schedule'>;

  constructor(tasks: Pick<Tasks, 'publish' | 'schedule'>) {
    this.#tasks = tasks;
  }

  async arrange(record: CaptureRecord): Promise<void> {
    const { account, uuid, status, html, expiresAt, nextRefreshAt, webhook } = record;
    const capture = { account, uuid };
    const handing: Promise<void>[] = [];
    // Html that was to be kept for as long as the file would otherwise lie there for years.
    const isLeftBehind = status === 'deleted' || (status === 'failed' && html !== undefined);
    if (isLeftBehind) handing.push(this.#tasks.publish({ kind: 'expiry', ...capture }));
    if (status === 'completed') handing.push(this.#tasks.schedule({ kind: 'expiry', ...capture }, expiresAt));
    if (status === 'completed' && nextRefreshAt !== undefined) {
      handing.push(this.#tasks.schedule({ kind: 'refresh', ...capture }, nextRefreshAt));
    }
    const { state, event, revision, occurredAt, attempts } = webhook ?? {};
    if (
      state === 'pending' &&
      attempts === 0 &&
      event !== undefined &&
      revision !== undefined &&
      occurredAt !== undefined
    ) {
      const notice = { kind: 'webhook', ...capture, revision, event, occurredAt, attempt: 1 } as const;
      handing.push(this.#tasks.publish({ ...notice, firstAt: occurredAt }));
    }
    await Promise.all(handing);
  }
}
