import { webhookNoticeSchema, type WebhookNotice } from '@webcapture/shared/contract/webhook-notice.ts';
import { example } from './answers.ts';
import { failedExample, resultExample } from './examples.ts';

const timestamp = '2025-08-19T09:30:01.432Z';

const examples: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>> = {
  completed: notice('A capture completed', { type: 'capture.completed', timestamp, data: resultExample }),
  failed: notice('A capture failed', { type: 'capture.failed', timestamp, data: failedExample }),
  refreshed: notice('A capture was refreshed', { type: 'capture.refreshed', timestamp, data: resultExample }),
};

const header = (name: string, description: string) => ({
  name,
  in: 'header' as const,
  required: true,
  description,
  schema: { type: 'string' as const },
});

/** What the service sends to `webhook.url`, for the part of the document that is about that. */
export const noticesDocument = {
  capture: {
    post: {
      operationId: 'captureNotice',
      tags: ['captures'],
      summary: 'What happened to a background capture',
      description:
        'Sent to webhook.url and signed as Standard Webhooks (standardwebhooks.com) has it; GET /webhooks/secret shows the secret. An answer that is not 2xx within 10 seconds is a failure, a redirect too. There are eight tries over 24 hours; 410 ends them. The same notice may come twice, and notices may come out of order.',
      parameters: [
        header('webhook-id', 'The id of the event, the same in all tries.'),
        header('webhook-timestamp', 'When this try was made, in Unix seconds. Refuse what is older than five minutes.'),
        header(
          'webhook-signature',
          'v1, and the base64 of HMAC-SHA256 over "id.timestamp.body"; several while rotating.',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: webhookNoticeSchema as object, examples } },
      },
      responses: { '2XX': { description: 'The notice has arrived.' }, 410: { description: 'No more tries, please.' } },
    },
  },
};

function notice(summary: string, value: WebhookNotice) {
  return example(summary, value);
}
