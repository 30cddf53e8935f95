/** The API server refused: `status` is that of HTTP, `reason` the API's own word such as `Conflict` or `Expired`. */
export class KubeApiError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(what: string, status: number, reason: string, message: string) {
    super(`${what}: ${status}${reason === '' ? '' : ` ${reason}`}${message === '' ? '' : `: ${message}`}`);
    this.name = 'KubeApiError';
    this.status = status;
    this.reason = reason;
  }
}

const hasStatus = (error: unknown, status: number) => error instanceof KubeApiError && error.status === status;

/** Somebody else wrote since, or the object that was to be made is there already. */
export const isConflict = (error: unknown): boolean => hasStatus(error, 409);

export const isNotFound = (error: unknown): boolean => hasStatus(error, 404);

/** What was seen last is too long ago: everything has to be listed anew. */
export const isGone = (error: unknown): boolean => hasStatus(error, 410);

/** The token, or the certificate, is no longer taken. */
export const isUnauthorized = (error: unknown): boolean => hasStatus(error, 401);

/** A closed set, for metrics. */
export const apiErrorKinds = [
  'connection',
  'unauthorized',
  'forbidden',
  'not_found',
  'conflict',
  'throttled',
  'server',
  'other',
] as const;
export type ApiErrorKind = (typeof apiErrorKinds)[number];

const kindByStatus: Readonly<Record<number, ApiErrorKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  429: 'throttled',
};

export function kindOf(error: unknown): ApiErrorKind {
  if (!(error instanceof KubeApiError)) return 'connection';
  return kindByStatus[error.status] ?? (error.status >= 500 ? 'server' : 'other');
}
