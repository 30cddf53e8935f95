import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';

/**
 * Refuses a webhook whose address no notice could ever go to. Names are resolved, and checked again, at each delivery.
 *
 * @throws ServiceError URL_BLOCKED, with a message that tells it from the address that is captured
 */
export function checkWebhook(
  webhook: { readonly url: string } | undefined,
  policy: Pick<EgressPolicy, 'checkLiteral'>,
): void {
  if (webhook === undefined) return;
  try {
    policy.checkLiteral(new URL(webhook.url));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError(error.code, `webhook.url: ${error.message}`, { cause: error.cause });
  }
}
