import { success } from '@webcapture/shared/api/envelope.ts';
import {
  rotateWebhookSecretSchema,
  webhookSecretSchema,
  type RotateWebhookSecret,
  type WebhookSecretView,
} from '@webcapture/shared/api/webhook.ts';
import type { RotatedSecret } from '@webcapture/shared/accounts/rotated-secret.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { FastifyInstance } from 'fastify';
import type { Authenticator } from '../auth/authenticator.ts';
import { authenticateFirst, callerOf } from '../http/request-facts.ts';
import { example, failureAnswers, keyRefusals, sendData, successAnswer } from './answers.ts';
import { bodyExamples, rotatedSecretExample, webhookSecretExample } from './account-examples.ts';
import { jsonBody } from '../validation/input.ts';

const security = [{ apiKey: [] }];
const tags = ['account'];

export interface WebhooksDeps {
  readonly authenticator: Authenticator;
  readonly session: NatsSession;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** GET /webhooks/secret and POST /webhooks/secret/rotate: the secrets that sign the webhook events of an account. */
export function webhooksRoutes(app: FastifyInstance, { authenticator, session, now }: WebhooksDeps): void {
  const webhookSecrets = new WebhookSecrets(session);
  const onRequest = authenticateFirst(authenticator, 'manage');

  app.get('/webhooks/secret', {
    schema: {
      operationId: 'getWebhookSecret',
      tags,
      security,
      summary: 'Get the webhook secret',
      description:
        'Requires the scope manage. Webhook events are signed with this secret according to Standard Webhooks (standardwebhooks.com). The secret is created with the first request or the first event.',
      response: {
        200: successAnswer('The webhook secret.', webhookSecretSchema, {
          only: example('A secret that was never rotated', success(webhookSecretExample)),
        }),
        ...failureAnswers(keyRefusals),
      },
    },
    onRequest,
    handler: async (request, reply) => {
      const found = await webhookSecrets.get(callerOf(request).account.id);
      return sendData(reply, secretView(found, now()));
    },
  });

  app.post<{ Body: RotateWebhookSecret }>('/webhooks/secret/rotate', {
    schema: {
      operationId: 'rotateWebhookSecret',
      tags,
      security,
      summary: 'Rotate the webhook secret',
      description:
        'Requires the scope manage. For graceSeconds, events are signed with the new secret and with the earlier ones, so that receivers can switch without rejecting an event. With 0 the earlier secrets end immediately.',
      body: rotateWebhookSecretSchema,
      response: {
        200: successAnswer('The new webhook secret.', webhookSecretSchema, {
          rotated: example('The earlier secret still signs events', success(rotatedSecretExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...keyRefusals]),
      },
    },
    config: { requestExamples: bodyExamples.rotateWebhookSecret, isBodyOptional: true },
    onRequest,
    ...jsonBody(rotateWebhookSecretSchema, { optional: true }),
    handler: async (request, reply) => {
      const rotated = await webhookSecrets.rotate(
        callerOf(request).account.id,
        request.body.graceSeconds * 1000,
        now(),
      );
      return sendData(reply, secretView(rotated, now()));
    },
  });
}

function secretView({ secret, former }: RotatedSecret, now: number): WebhookSecretView {
  const previous = former.filter(({ until }) => until > now);
  return {
    secret,
    previous: previous.map((old) => ({ secret: old.secret, signsUntil: new Date(old.until).toISOString() })),
  };
}
