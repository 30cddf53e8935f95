import {
  type DeliveriesQuery,
  deliveriesQuerySchema,
  deliveriesSchema,
  sentTestSchema,
  type TestWebhook,
  testWebhookSchema,
} from '@webcapture/shared/api/delivery.ts';
import { webhookViewSchema } from '@webcapture/shared/api/capture.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import { testEvent } from '@webcapture/shared/api/webhook.ts';
import { Deliveries } from '@webcapture/shared/accounts/deliveries.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { redeliver } from '@webcapture/shared/captures/transitions.ts';
import { uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import { webhookView } from '@webcapture/shared/captures/view.ts';
import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { pendingDelivery } from '@webcapture/shared/queue/follow-ups.ts';
import { messageId, receiverOf, type Tasks } from '@webcapture/shared/queue/tasks.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyInstance } from 'fastify';
import { RetryLaterError } from '../admission.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { brokenWebhookRules, checkWebhook } from '../capture/accept-request.ts';
import { changeCapture, readState, type ReadStateDeps } from '../capture/capture-state.ts';
import { authenticateFirst, callerOf } from '../http/request-facts.ts';
import { TokenBuckets } from '../http/token-buckets.ts';
import { callNats } from '../nats.ts';
import { jsonBody, pageQueryOf } from '../validation/input.ts';
import {
  captureParams,
  captureRefusals,
  example,
  failureAnswers,
  keyRefusals,
  sendData,
  successAnswer,
} from './answers.ts';
import { bodyExamples } from './account-examples.ts';
import { deliveriesExample, redeliveryExample } from './capture-examples.ts';

export interface WebhookDeliveriesDeps extends ReadStateDeps {
  readonly authenticator: Authenticator;
  readonly captures: Captures;
  readonly session: NatsSession;
  readonly tasks: Tasks;
  readonly policy: EgressPolicy;
}

/** Maximum number of test events and redeliveries of each account a minute, on each front. */
const perMinute = { tests: 10, redeliveries: 60 } as const;

/** GET /webhooks/deliveries, POST /webhooks/test, POST /captures/{uuid}/webhook/redeliver. */
export function webhookDeliveriesRoutes(app: FastifyInstance, deps: WebhookDeliveriesDeps): void {
  listRoute(app, deps);
  testRoute(app, deps);
  redeliverRoute(app, deps);
}

function listRoute(app: FastifyInstance, { authenticator, session }: WebhookDeliveriesDeps): void {
  const deliveries = new Deliveries(session);
  app.get<{ Querystring: DeliveriesQuery }>('/webhooks/deliveries', {
    schema: {
      operationId: 'listDeliveries',
      tags: ['account'],
      security: [{ apiKey: [] }],
      summary: 'List the latest delivery attempts of all webhooks',
      description:
        'Requires the scope read. The last 100 attempts of the account are kept, including those of test events. An attempt is listed a second after it has ended.',
      querystring: deliveriesQuerySchema,
      response: {
        200: successAnswer('The attempts, newest first.', deliveriesSchema, {
          attempts: example('An attempt that is retried, and a test', success({ deliveries: deliveriesExample })),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...keyRefusals]),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    ...pageQueryOf(deliveriesQuerySchema),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const list = () => deliveries.list(account.id, request.query.limit);
      return sendData(reply, { deliveries: await callNats(list, 'The deliveries cannot be read right now.') });
    },
  });
}

function testRoute(app: FastifyInstance, { authenticator, tasks, policy, now }: WebhookDeliveriesDeps): void {
  const limit = new MinuteLimit(perMinute.tests, 'test events');
  app.post<{ Body: TestWebhook }>('/webhooks/test', {
    schema: {
      operationId: 'testWebhook',
      tags: ['account'],
      security: [{ apiKey: [] }],
      summary: 'Send a test event',
      description: `Requires the scope manage. Sends an event ${testEvent} to the URL, signed with the webhook secret, under the same egress policy and the same limits as all events. There is one attempt; GET /webhooks/deliveries shows its result within seconds. An account can send ${perMinute.tests} test events a minute.`,
      body: testWebhookSchema,
      response: {
        200: successAnswer('The event is being sent.', sentTestSchema, {
          sent: example('A test event', success({ id: 'msg_0198c2f0-7f9a-7c21-8e4d-2a1b3c4d5e6f_0' })),
        }),
        ...failureAnswers(['VALIDATION_ERROR', 'URL_BLOCKED', ...keyRefusals]),
      },
    },
    config: { requestExamples: bodyExamples.testWebhook },
    onRequest: authenticateFirst(authenticator, 'manage'),
    ...jsonBody(testWebhookSchema),
    handler: async (request, reply) => {
      const { url } = request.body;
      const broken = [...brokenWebhookRules(url, 'url')];
      if (broken.length > 0) throw new ServiceError('VALIDATION_ERROR', broken.join('; '));
      checkWebhook({ url }, policy, 'url');
      const account = callerOf(request).account.id;
      limit.spend(account);
      const time = now();
      const uuid = uuidV7(time);
      const times = { occurredAt: time, firstAt: time };
      const what = { kind: 'webhook', event: testEvent, account, uuid, revision: 0, attempt: 1 } as const;
      const task = { ...what, ...times, url, receiver: receiverOf(url) };
      const send = () => tasks.publish(task);
      await callNats(send, 'The event cannot be sent right now.');
      return sendData(reply, { id: messageId(uuid, 0) });
    },
  });
}

function redeliverRoute(app: FastifyInstance, deps: WebhookDeliveriesDeps): void {
  const { authenticator, tasks, now } = deps;
  const limit = new MinuteLimit(perMinute.redeliveries, 'redeliveries');
  app.post<{ Params: { uuid: string } }>('/captures/:uuid/webhook/redeliver', {
    schema: {
      operationId: 'redeliverWebhook',
      tags: ['captures'],
      security: [{ apiKey: [] }],
      summary: 'Deliver the latest event of a capture again',
      description:
        'Requires the scope capture. Sends the latest event of the capture to its webhook again, whether or not it was delivered, with the same webhook-id and all attempts. Returns 409 when the capture has no webhook, has no event yet, or was deleted.',
      params: captureParams,
      response: {
        200: successAnswer('The delivery has begun.', webhookViewSchema, {
          pending: example('The event is sent again', success(redeliveryExample)),
        }),
        ...failureAnswers([...captureRefusals, 'CONFLICT']),
      },
    },
    onRequest: authenticateFirst(authenticator, 'capture'),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const { uuid } = request.params;
      const found = await readState(deps, account.id, uuid);
      request.facts.record = found;
      if (redeliver(found, now()) === null) {
        const message =
          found.webhook === undefined
            ? 'The capture has no webhook.'
            : `There is no event of this capture to deliver${found.status === 'deleted' ? ': it was deleted' : ' yet'}.`;
        throw new ServiceError('CONFLICT', message);
      }
      limit.spend(account.id);
      const record = await changeCapture(deps, account.id, uuid, redeliver);
      const task = pendingDelivery(record);
      if (task !== null) {
        const time = now();
        // The task replaces a scheduled attempt.
        const send = () => tasks.schedule({ ...task, firstAt: time }, time);
        await callNats(send, 'The event cannot be delivered right now.');
      }
      return sendData(reply, webhookView(record).webhook);
    },
  });
}

/** Limits how often each account may do something on this front. */
class MinuteLimit {
  readonly #buckets: TokenBuckets;
  readonly #perMinute: number;
  readonly #what: string;

  constructor(perMinute: number, what: string) {
    this.#buckets = new TokenBuckets({ capacity: perMinute, perSecond: perMinute / 60 });
    this.#perMinute = perMinute;
    this.#what = what;
  }

  /** @throws RetryLaterError RATE_LIMIT_EXCEEDED */
  spend(account: string): void {
    if (this.#buckets.level(account) < 1) {
      const message = `An account can send ${this.#perMinute} ${this.#what} a minute. Retry after the number of seconds in the Retry-After header.`;
      throw new RetryLaterError('RATE_LIMIT_EXCEEDED', message, this.#buckets.secondsUntil(account, 1));
    }
    this.#buckets.spend(account, 1);
  }
}
