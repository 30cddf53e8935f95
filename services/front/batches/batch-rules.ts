import { setImmediate } from 'node:timers/promises';
import type { Account } from '@webcapture/shared/accounts/accounts.ts';
import { type BatchRequest, batchRequestSchema, maxBatchRequests } from '@webcapture/shared/api/batch.ts';
import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { mergeOptions } from '@webcapture/shared/api/merge-options.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import {
  type AcceptDeps,
  type AcceptedRequest,
  acceptRequest,
  assertPermitted,
  brokenWebhookRules,
  checkWebhook,
} from '../capture/accept-request.ts';
import { canonical, sha256 } from '../capture/cache-key.ts';
import { omitDefaults } from '../capture/omit-defaults.ts';
import { withoutSecrets } from '../capture/pipeline.ts';
import { fillInDevice } from '../capture/visitor-rules.ts';
import { explainErrors } from '../validation/explain-errors.ts';
import { isObject } from '../validation/is-object.ts';

/** Maximum number of values in a body: fifty for each request of the batch. */
export const maxBatchValues = 50 * maxBatchRequests;

/** Maximum size of the shared options as JSON, multiplied by the number of requests, because each capture stores a copy. */
export const maxSharedBytes = 32 * 1024 * 1024;

/** Number of requests that are validated before other work of this process runs. */
const validatedAtOnce = 20;

/** Maximum number of schema errors that are explained. */
const maxErrors = 500;

/** A valid request of a batch. */
export interface BatchOrder {
  readonly accepted: AcceptedRequest;
  /** Hash of the request. Equal requests have equal hashes. The hash discloses no secrets. */
  readonly hash: string;
}

/**
 * Merges the shared options into all requests of a body, and sets the priority of the requests to background. Must run before the
 * validation, which fills in defaults. Leaves invalid bodies unchanged.
 *
 * @throws ServiceError VALIDATION_ERROR
 */
export function fillInRequests(body: unknown): void {
  if (!isObject(body) || !Array.isArray(body['requests'])) return;
  const { requests, options = {} } = body as { requests: unknown[]; options?: unknown };
  if (!isObject(options) || requests.length > maxBatchRequests) return;
  const bytes = Buffer.byteLength(JSON.stringify(options));
  if (bytes * requests.length > maxSharedBytes) {
    throw new ServiceError(
      'VALIDATION_ERROR',
      `options has ${bytes} bytes, and each of the ${requests.length} requests stores a copy. The copies may have at most ${maxSharedBytes} bytes together. Send fewer requests, or shorter options.`,
    );
  }
  body['requests'] = requests.map((request) => {
    if (!isObject(request)) return request;
    const merged = mergeOptions({ background: true, ...options }, request);
    fillInDevice(merged);
    return merged;
  });
}

/** Explains the schema errors of a body. An error in the shared options is not repeated for each request. */
export function explainBatchErrors(errors: readonly object[]): string {
  const ofOptions = (errors as readonly { readonly instancePath: string }[]).filter(({ instancePath }) =>
    /^\/options(\/|$)/.test(instancePath),
  );
  return explainErrors((ofOptions.length > 0 ? ofOptions : errors).slice(0, maxErrors), batchRequestSchema);
}

/**
 * Validates all requests of a batch for an account.
 *
 * @throws ServiceError the first refusal, with the index of the request
 */
export async function orderBatch(
  { requests, webhook }: BatchRequest,
  account: Account,
  deps: AcceptDeps,
): Promise<readonly BatchOrder[]> {
  if (webhook !== undefined) {
    const broken = [...brokenWebhookRules(webhook.url)];
    if (broken.length > 0) throw new ServiceError('VALIDATION_ERROR', broken.join('; '));
    checkWebhook(webhook, deps.policy);
  }
  const orders: BatchOrder[] = [];
  for (const [index, given] of requests.entries()) {
    if (index % validatedAtOnce === validatedAtOnce - 1) await setImmediate();
    orders.push(ofRequest(index, () => orderRequest(given, account, deps)));
  }
  return orders;
}

function orderRequest(given: CaptureRequest, account: Account, deps: AcceptDeps): BatchOrder {
  if (!given.background) {
    throw new ServiceError(
      'VALIDATION_ERROR',
      'background must be true, or left out: a batch responds before its captures end',
    );
  }
  const request = omitDefaults(given);
  const accepted = acceptRequest(request, deps);
  assertPermitted(accepted.options, account, deps.limits);
  return { accepted, hash: sha256(canonical(withoutSecrets(request, accepted, deps))) };
}

/** Runs a step for one request. If the step throws, the path of the request is prepended to the message of the error. */
function ofRequest<T>(index: number, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw withIndex(error, index);
  }
}

/** Prepends the path of a request in its batch to the message of an error. */
export function withIndex(error: unknown, index: number): unknown {
  if (error instanceof ServiceError) error.message = `requests.${index}: ${error.message}`;
  return error;
}
