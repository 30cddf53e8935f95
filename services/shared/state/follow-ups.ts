import type { CaptureRecord } from '../contract/capture-record.ts';
import type { Tasks } from './tasks.ts';

/**
 * Hands over to the leader what has to follow the end of a capture or of a refresh: its expiry, its next refresh, the
 * notice to its webhook. To be called by whoever ended it, before the job is given up; calling it again is harmless.
 */
export class FollowUps {
  readonly #tasks: Pick<Tasks, 'publish' | 'schedule'>;
  readonly #now: () => number;

  constructor(tasks: Pick<Tasks, 'publish' | 'schedule'>, now: () => number = Date.now) {
    this.#tasks = tasks;
    this.#now = now;
  }

  async arrange(record: CaptureRecord): Promise<void> {
    const { account, uuid, status, expiresAt, nextRefreshAt, webhook } = record;
    const capture = { account, uuid };
    const handing: Promise<void>[] = [];
    // A capture that failed may have left its file, by a renderer that died, or its html.
    const isLeftBehind = status === 'deleted' || status === 'failed';
    if (isLeftBehind || status === 'completed') {
      const at = isLeftBehind ? this.#now() : expiresAt;
      handing.push(this.#tasks.schedule({ kind: 'expiry', ...capture }, at));
    }
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
