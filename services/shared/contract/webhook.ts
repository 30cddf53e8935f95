/** What accounts are told of, in the terms of Standard Webhooks (standardwebhooks.com): the `type` of a notice. */
export const webhookEvents = ['capture.completed', 'capture.failed', 'capture.refreshed'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** How a delivery stands: waiting for an event, trying, told, or given up. */
export const webhookStates = ['waiting', 'pending', 'delivered', 'failed'] as const;
export type WebhookState = (typeof webhookStates)[number];
