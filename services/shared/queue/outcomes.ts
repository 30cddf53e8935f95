import type { ErrorCode } from '../runtime/errors.ts';

// Apart from results.ts: a renderer parses no results and does not load TypeBox.

/** Ways in which a capture fails on a renderer. */
export const renderFailures = [
  'URL_BLOCKED',
  'NAVIGATION_FAILED',
  'CAPTURE_TIMEOUT',
  'CAPTURE_FAILED',
  'PAGE_TOO_LARGE',
  'STORAGE_FAILED',
  'INTERNAL_ERROR',
] as const satisfies readonly ErrorCode[];

export type RenderFailure = (typeof renderFailures)[number];

export const isRenderFailure = (code: ErrorCode): code is RenderFailure =>
  (renderFailures as readonly ErrorCode[]).includes(code);

/**
 * Why a renderer returns a job that it has not ended. `store_unavailable`: the store did not take the file of a background capture, or
 * did not return its html, and may do so later. `cut_off`: a page could not be reached while the renderer could not reach NATS either.
 */
export const returnReasons = [
  'shutting_down',
  'unknown_version',
  'no_free_slot',
  'store_unavailable',
  'cut_off',
] as const;

export type ReturnReason = (typeof returnReasons)[number];

/** Characters of a message that says why a capture failed. */
export const maxFailureLength = 2000;

/** Maximum length of a report's texts, which the page controls and clients see unchanged. */
export const maxTextLength = 16_384;
