import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { maxCodeBytes } from '@webcapture/shared/api/option-schemas.ts';
import { maxTemplateBytes } from '@webcapture/shared/api/pdf-options.ts';
import { maxSessionBytes } from '@webcapture/shared/queue/outcomes.ts';
import { maxTicketLength } from '@webcapture/shared/queue/tickets.ts';
import { until } from '../../harness/until.ts';
import { adminToken, dataOf } from './accounts.ts';
import { type Holder, openHolder } from './background.ts';
import { sendBatch, untilBatchEnds } from './batches.ts';
import { startTestFront, type TestFront } from './test-front.ts';

const code = { css: 'c'.repeat(maxCodeBytes), script: 's'.repeat(maxCodeBytes) };
const file = { name: 'a.bin', content: `data:;base64,${Buffer.alloc(256 * 1024).toString('base64')}` };

/** `code`, and almost 32 KiB of credentials and 32 KiB of values of steps: the largest secrets of a request. */
const secrets = {
  ...code,
  headers: Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`x-${index}`, 'v'.repeat(300)])),
  cookies: Array.from({ length: 100 }, (_, index) => ({ name: `n${index}`, value: 'v'.repeat(120) })),
  steps: Array.from({ length: 30 }, () => ({ type: { selector: '#field', text: 't'.repeat(1050) } })),
};

/** Returns selectors of the maximum length, in characters of four bytes. */
const selectors = (count: number) => Array.from({ length: count }, () => `#${'\u{1F600}'.repeat(999)}`);

/** The longest address, the largest secrets, templates and selectors: almost as much as a request may have. */
const most = {
  url: `https://example.com/#${'\u{1F600}'.repeat(2027)}`,
  format: 'pdf',
  ...secrets,
  pdf: { headerTemplate: 'h'.repeat(maxTemplateBytes), footerTemplate: 'f'.repeat(maxTemplateBytes) },
  hide: selectors(4),
};

const compare = { ignore: selectors(20) };
const unlike = { hide: selectors(80), persistence: { enabled: true, refreshInterval: 86_400, compare } };

const requests: readonly (readonly [string, object])[] = [
  ['css of 64 KiB', { css: code.css }],
  ['css and script of 64 KiB', code],
  ['the largest secrets', secrets],
  ['attachments of 256 KiB', { format: 'pdf', pdf: { attachments: [file] } }],
  ['selectors of 400 KB, some of them for comparisons', unlike],
  ['options of the maximum size', most],
];

let front: TestFront;
let holder: Holder;

const useFront = (environment: Record<string, string>) => {
  beforeAll(async () => {
    front = await startTestFront({ WEBCAPTURE_ADMIN_TOKEN: adminToken, ...environment });
    holder = await openHolder(front);
  });
  afterAll(() => front[Symbol.asyncDispose]());
  beforeEach(() => {
    front.renderer.behavior = (job, renderer) => renderer.complete(job);
  });
};

const captured = async (request: object) => {
  expect(dataOf(await holder.capture({ ...request, background: false }))).toMatchObject({ status: 'completed' });
};

describe('with a key that seals secrets', () => {
  useFront({ WEBCAPTURE_SECRETS_KEY: 'k'.repeat(64) });

  test.each(requests)('a client gets the capture with %s', async (_, request) => {
    await captured(request);
  });

  test('options of the maximum size fill the longest ticket, and their job fits into 1 MiB', async () => {
    await captured(most);
    const job = front.renderer.jobs.at(-1);
    expect(job?.ticket.length).toBeGreaterThan(0.97 * maxTicketLength);
    expect(job?.ticket.length).toBeLessThanOrEqual(maxTicketLength);
    expect(Buffer.byteLength(JSON.stringify(job))).toBeLessThan(1024 * 1024);
  });

  test('a capture with options and a session of the maximum size ends if the reply is lost', async () => {
    front.renderer.behavior = (job, renderer) => renderer.complete(job, { silently: true });
    const session = { key: 'k', sealed: 's'.repeat(Math.ceil((4 / 3) * maxSessionBytes)) };
    front.renderer.changeOutcome = (outcome) => ({ ...outcome, session });
    onTestFinished(() => {
      front.renderer.changeOutcome = (outcome) => outcome;
    });
    await captured(most);
  });

  test.each([
    ['of a client', { background: false }],
    ['in the background', { background: true }],
  ])('a capture %s with larger options is refused with the limit', async (_, options) => {
    const { status, body } = await holder.capture({ ...most, ...options, hide: selectors(10) });
    expect([status, body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(body.error?.message).toContain('All options may have 409600 bytes');
  });

  test('with a session, the limit leaves room for it', async () => {
    const { status, body } = await holder.capture({ ...unlike, session: randomUUIDv7(), background: false });
    expect([status, body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(body.error?.message).toContain('All options may have 353426 bytes');
  });

  test('a capture whose comparison makes its options too large is refused', async () => {
    const { status, body } = await holder.capture({ ...unlike, hide: selectors(90), background: false });
    expect([status, body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  test.each(requests.slice(-3))('a background capture with %s ends, and its refresh', async (_, request) => {
    const { uuid } = await holder.queue(request);
    await holder.until(uuid, 'completed');
    dataOf(await holder.refresh(uuid));
    await until('the refresh to end', async () => {
      const { refresh } = await holder.state(uuid);
      return (refresh as { state: string }).state === 'completed';
    });
  });

  test('a batch of captures with options of the maximum size ends', async () => {
    const { url, ...options } = most;
    const { status, data } = await sendBatch(front, holder.key, { requests: [{ url }, { url }], options });
    expect(status).toBe(200);
    expect(await untilBatchEnds(front, holder.key, data.id)).toMatchObject({ counts: { completed: 2, failed: 0 } });
  });
});

describe('without a key that seals secrets', () => {
  useFront({});

  test.each(requests)('a client gets the capture with %s', async (_, request) => {
    await captured(request);
  });
});
