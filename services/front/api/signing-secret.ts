import { success } from '@webcapture/shared/api/envelope.ts';
import {
  newSigningSecretSchema,
  rotateSigningSecretSchema,
  type NewSigningSecret,
  type RotateSigningSecret,
} from '@webcapture/shared/api/signing-secret.ts';
import type { FastifyInstance } from 'fastify';
import type { Authenticator } from '../auth/authenticator.ts';
import { dateOrNull, type KeyIssuer } from '../auth/key-issuer.ts';
import { authenticateFirst, callerOf } from '../http/request-facts.ts';
import { jsonBody } from '../validation/input.ts';
import { example, failureAnswers, keyRefusals, sendData, successAnswer } from './answers.ts';
import { keyExample } from './account-examples.ts';

export interface SigningSecretDeps {
  readonly authenticator: Authenticator;
  readonly keyIssuer: KeyIssuer;
}

const secretExample: NewSigningSecret = { keyId: keyExample.id, secret: 'wcs_…', previousUntil: null };

/** POST /keys/{id}/signing-secret: creates the secret that signs capture links. */
export function signingSecretRoute(app: FastifyInstance, { authenticator, keyIssuer }: SigningSecretDeps): void {
  app.post<{ Params: { id: string }; Body: RotateSigningSecret }>('/keys/:id/signing-secret', {
    schema: {
      operationId: 'rotateSigningSecret',
      tags: ['account'],
      security: [{ apiKey: [] }],
      summary: 'Create or rotate the signing secret of an API key',
      description:
        'Requires the scope manage. The secret signs links (GET /capture), which capture on behalf of the key, within its scopes and limits, as long as the key is valid. A new secret replaces the previous one; links that were signed with earlier secrets work for another graceSeconds. The key can have only scopes of the key that sends the request, and must not expire later.',
      params: { type: 'object', properties: { id: { type: 'string', description: 'ID of the key.' } } },
      body: rotateSigningSecretSchema,
      response: {
        200: successAnswer('The new signing secret. It is shown only once.', newSigningSecretSchema, {
          created: example('The first signing secret of a key', success(secretExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT', ...keyRefusals]),
      },
    },
    config: {
      requestExamples: { hour: example('Keep links of the old secret valid for an hour', { graceSeconds: 3600 }) },
      isBodyOptional: true,
    },
    onRequest: authenticateFirst(authenticator, 'manage'),
    ...jsonBody(rotateSigningSecretSchema, { optional: true }),
    handler: async (request, reply) => {
      const { id } = request.params;
      const graceMs = request.body.graceSeconds * 1000;
      const { secret, former } = await keyIssuer.makeLinkSecret(callerOf(request).key, id, graceMs);
      const view: NewSigningSecret = { keyId: id, secret, previousUntil: dateOrNull(former[0]?.until) };
      return sendData(reply, view);
    },
  });
}
