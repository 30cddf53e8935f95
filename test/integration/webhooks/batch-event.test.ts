import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Delivery } from '@webcapture/shared/api/delivery.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import { Batches } from '@webcapture/shared/captures/batches.ts';
import { uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { until } from '../../harness/until.ts';
import { publicAddress } from '../egress/sites.ts';
import { dataOf, send } from '../front/accounts.ts';
import { completeJobs, holdJobs } from '../front/background.ts';
import { pages, readBatch, sendBatch, untilBatchEnds } from '../front/batches.ts';
import { startTestFront, type TestFront } from '../front/test-front.ts';
import { leadDeliveries } from './leader.ts';
import { startReceiver, type Received, type Receiver } from './receiver.ts';

let front: TestFront;
let receiver: Receiver;
let hook: string;
/** Statuses of the next responses of the receiver. After these, it responds with 204. */
let answers: number[] = [];
let stopLeading: () => Promise<void>;

const allow = `${publicAddress}/32`;

beforeAll(async () => {
  front = await startTestFront({ WEBCAPTURE_EGRESS_ALLOW: allow });
  receiver = await startReceiver(publicAddress, (response) => void response.writeHead(answers.shift() ?? 204).end());
  hook = `http://${publicAddress}:${receiver.port}/hook`;
  stopLeading = leadDeliveries(await front.nats.connect(), allow);
});
afterAll(async () => {
  await stopLeading();
  await receiver.close();
  await front[Symbol.asyncDispose]();
});
beforeEach(() => {
  completeJobs(front.renderer);
  answers = [];
});

const webhook = () => ({ url: hook });
const eventsOf = (id: string) => receiver.received.filter(({ headers }) => headers['webhook-id'] === `msg_${id}_0`);
const untilDelivered = (key: string, id: string) =>
  until('the event to be delivered', async () => {
    const { data } = await readBatch(front, key, id);
    return data.webhook?.state === 'delivered' && data.webhook;
  });

test('the end of a batch is one signed event, after the last capture has ended', async () => {
  const key = await front.makeKey({ account: 'one-event' });
  const release = holdJobs(front.renderer);
  const { data } = await sendBatch(front, key, { requests: pages(12), webhook: webhook() });
  expect(data.webhook).toMatchObject({ url: hook, state: 'waiting', event: null });
  // The leader checks the batch while its captures wait.
  await until('a capture to be rendered', () => front.renderer.jobs.length > 0);
  expect(eventsOf(data.id)).toEqual([]);
  release();
  const ended = await untilBatchEnds(front, key, data.id);
  expect(await untilDelivered(key, data.id)).toMatchObject({ event: 'batch.completed', attempts: 1, lastStatus: 204 });
  const [event] = eventsOf(data.id) as [Received];
  const { secret } = await new WebhookSecrets(front.nats.session).get('one-event');
  const { captures: _captures, webhook: _webhook, ...summary } = ended;
  expect(new Webhook(secret).verify(event.body, event.headers as Record<string, string>)).toEqual({
    type: 'batch.completed',
    timestamp: expect.any(String) as string,
    data: { ...summary, webhook: expect.objectContaining({ state: 'pending' }) as object },
  });
  // A check that is repeated, as by a leader that dies before it acknowledges the task, sends nothing.
  await new Tasks(front.nats.session).publish({ kind: 'batch', account: 'one-event', uuid: data.id });
  const second = await sendBatch(front, key, { requests: pages(1), webhook: webhook() });
  await untilDelivered(key, second.data.id);
  expect(eventsOf(data.id)).toHaveLength(1);
  const { deliveries } = dataOf<{ deliveries: Delivery[] }>(await send(`${front.url}/webhooks/deliveries`, key));
  expect(deliveries.find(({ uuid }) => uuid === data.id)).toMatchObject({
    event: 'batch.completed',
    state: 'delivered',
    attempt: 1,
  });
});

test('a failed attempt is repeated with the same id', { tags: 'long' }, async () => {
  const key = await front.makeKey();
  answers = [503];
  const { data } = await sendBatch(front, key, { requests: pages(2), webhook: webhook() });
  expect(await untilDelivered(key, data.id)).toMatchObject({ attempts: 2 });
  expect(eventsOf(data.id)).toHaveLength(2);
});

test('captures that fail, or come from the cache, end a batch too', async () => {
  const key = await front.makeKey();
  front.renderer.behavior = (job, renderer) => renderer.fail(job, 'NAVIGATION_FAILED', 'The page is away.');
  const { data } = await sendBatch(front, key, { requests: pages(2), webhook: webhook() });
  await untilDelivered(key, data.id);
  expect(eventsOf(data.id).map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { data: { status: 'completed', counts: { failed: 2 } } },
  ]);
});

test('a front that died before it finished the batch: the event is sent after the captures that it queued', async () => {
  const account = 'unfinished';
  const key = await front.makeKey({ account });
  const { data } = await sendBatch(front, key, { requests: pages(2) });
  await untilBatchEnds(front, key, data.id);
  const { session } = front.nats;
  const batches = new Batches(session);
  const now = session.now();
  const uuid = uuidV7(now - 1000);
  const captures = [...data.captures.map((capture) => capture.uuid), uuidV7(now - 1000)];
  const waiting = { url: hook, state: 'waiting', attempts: 0 } as const;
  await batches.create({ uuid, account, captures, acceptUntil: now + 3000, keepUntil: now + 60_000, webhook: waiting });
  await new Tasks(session).publish({ kind: 'batch', account, uuid });
  await untilDelivered(key, uuid);
  const [event] = eventsOf(uuid) as [Received];
  expect(JSON.parse(event.body)).toMatchObject({ data: { counts: { total: 3, completed: 2, failed: 1 } } });
});

test('an address that captures may not reach is refused', async () => {
  const key = await front.makeKey();
  const { status, error } = await sendBatch(front, key, { requests: pages(1), webhook: { url: 'http://10.0.0.1/' } });
  expect({ status, code: error?.code }).toEqual({ status: 400, code: 'URL_BLOCKED' });
  expect(error?.message).toMatch(/^webhook\.url: /);
  const invalid = await sendBatch(front, key, { requests: pages(1), webhook: { url: 'ftp://example.com' } });
  expect(invalid.error?.message).toContain('webhook.url must be an absolute http or https address');
});
