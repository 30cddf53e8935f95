import type { ErrorCode } from '../runtime/errors.ts';

// Separate from results.ts, because renderers do not parse results.

/** Error codes of captures that fail on a renderer. */
export const renderFailures = [
  'URL_BLOCKED',
  'SESSION_NOT_FOUND',
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
 * Reasons why a renderer returns a job that it has not ended. `store_unavailable`: the file of a background capture could not be stored, or
 * its HTML could not be read, but both may succeed later. `cut_off`: a page could not be reached, and the renderer could not reach NATS
 * either.
 */
export const returnReasons = [
  'shutting_down',
  'unknown_version',
  'no_free_slot',
  'store_unavailable',
  'cut_off',
] as const;

export type ReturnReason = (typeof returnReasons)[number];

/** Maximum length of a failure message. */
export const maxFailureLength = 2000;

/** Maximum length of the texts in a report. The page controls them, and clients see them unchanged. */
export const maxTextLength = 16_384;

/**
 * Maximum size of the cookies and storage of a login, as JSON in UTF-8. A result contains them in sealed form. Besides its ticket, a result
 * has at most 256 KiB.
 */
export const maxSessionBytes = 96 * 1024;

/** Maximum size of a sealed session in a job: base64 makes it a third larger. */
export const maxSealedSessionBytes = (maxSessionBytes * 4) / 3;

/** Maximum number of areas with ignored elements in a result. */
export const maxIgnoredAreas = 200;
