import { Webhook } from 'standardwebhooks';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { captureView } from '@webcapture/shared/contract/capture-view.ts';
import type { WebhookEvent } from '@webcapture/shared/contract/webhook.ts';
import type { WebhookNotice } from '@webcapture/shared/contract/webhook-notice.ts';
import { version } from '@webcapture/shared/lifecycle/version.ts';

/** What an account is to be told: something that happened to one of its captures. */
export interface NoticeSubject {
  readonly event: WebhookEvent;
  /** 0 for the capture itself, then the number of the refresh. */
  readonly revision: number;
  /** Unix milliseconds. */
  readonly occurredAt: number;
}

export interface NoticeOptions {
  readonly cdnUrl: string;
  /** The time of this try, Unix milliseconds. */
  readonly now: number;
  /** All that it is signed with; at least one. */
  readonly secrets: readonly string[];
}

/** A notice as it goes out. */
export interface Notice {
  readonly headers: Readonly<Record<string, string>>;
  /** JSON of a {@link WebhookNotice}. */
  readonly body: string;
}

/**
 * Builds the notice of an event as Standard Webhooks has it. Its id is the same in all tries, so that a receiver can tell
 * a notice that it has had; the time and the signatures are those of this try, and `data` is the capture as it stands.
 */
export function buildNotice(record: CaptureRecord, subject: NoticeSubject, options: NoticeOptions): Notice {
  const { cdnUrl, now, secrets } = options;
  const id = noticeId(record.uuid, subject.revision);
  const content: WebhookNotice = {
    type: subject.event,
    timestamp: new Date(subject.occurredAt).toISOString(),
    data: captureView(record, { cdnUrl, now }),
  };
  const body = JSON.stringify(content);
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, new Date(now), body));
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': `webcapture/${version}`,
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now / 1000)),
      'webhook-signature': signatures.join(' '),
    },
    body,
  };
}

/** It has no full stop: in what is signed, that ends the id. */
const noticeId = (uuid: string, revision: number) => `msg_${uuid}_${revision}`;
