import { WebcaptureError } from '@webcapture/client';
import { type ErrorCode, errorTable } from '@webcapture/shared/runtime/errors.ts';
import { plainText } from './text.ts';

/**
 * Exit codes of the command line. They are an interface for programs: docs/cli.md lists them, and a released code keeps its
 * meaning.
 */
export const exitCodes = {
  success: 0,
  /** The command worked, but its check failed: pictures differ, some captures of a batch failed, or the service is not operational. */
  negative: 1,
  usage: 2,
  validation: 3,
  authentication: 4,
  quota: 5,
  rateLimit: 6,
  captureFailed: 7,
  unavailable: 8,
  notFound: 9,
  file: 10,
  internal: 70,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitKind = keyof typeof exitCodes;

/** An error with a message for the user: what is wrong, and what to do. */
export class CliError extends Error {
  readonly kind: ExitKind;
  /** Error code of the service's response. */
  readonly code: string | undefined;

  constructor(kind: ExitKind, message: string, options: { cause?: unknown; code?: string } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CliError';
    this.kind = kind;
    this.code = options.code;
  }
}

/** Exit kinds by the error code of the service. Other codes are internal errors of the service. */
const kindsByCode: Readonly<Record<string, ExitKind>> = {
  VALIDATION_ERROR: 'validation',
  URL_BLOCKED: 'validation',
  SESSION_NOT_FOUND: 'validation',
  UNAUTHORIZED: 'authentication',
  API_KEY_EXPIRED: 'authentication',
  API_KEY_REVOKED: 'authentication',
  FORBIDDEN: 'authentication',
  QUOTA_EXCEEDED: 'quota',
  RATE_LIMIT_EXCEEDED: 'rateLimit',
  QUEUE_FULL: 'rateLimit',
  NAVIGATION_FAILED: 'captureFailed',
  CAPTURE_TIMEOUT: 'captureFailed',
  CAPTURE_FAILED: 'captureFailed',
  PAGE_TOO_LARGE: 'captureFailed',
  NOT_FOUND: 'notFound',
  CAPTURE_NOT_FOUND: 'notFound',
  CONFLICT: 'notFound',
};

const advice: Partial<Record<ExitKind, string>> = {
  authentication: 'Set WEBCAPTURE_API_KEY, or run "webcapture login".',
  quota: 'Ask the operator for a higher quota, or wait for the next month.',
  unavailable: '"webcapture status" shows the state of the service.',
};

/** Returns what the user can do. Messages of the service say whether to send a request again, but not when a limit allows it. */
function adviceFor({ code, retryable, retryAfterMs }: WebcaptureError, kind: ExitKind): string {
  if (code === 'NETWORK_ERROR' || code === 'UNEXPECTED_RESPONSE') {
    return 'Check --server or WEBCAPTURE_URL, and check that the service is running.';
  }
  const time = retryAfterMs === null ? 'later' : `in ${Math.ceil(retryAfterMs / 1000)} s`;
  const retry = retryable && (kind === 'rateLimit' || code === 'TIMEOUT') ? `Try again ${time}.` : '';
  return `${retry} ${advice[kind] ?? ''}`.trim();
}

/** Whether another attempt of a failed capture can succeed. This is assumed for codes that this version does not know. */
export const mayRetry = (code: string): boolean =>
  !Object.hasOwn(errorTable, code) || errorTable[code as ErrorCode].retryable;

/** Returns the exit code for an error of the client. */
export function kindOf(error: WebcaptureError): ExitKind {
  const known = kindsByCode[error.code];
  if (known !== undefined) return known;
  if (error.status === 404) return 'notFound';
  return error.status !== null && error.status >= 400 && error.status < 500 ? 'validation' : 'unavailable';
}

/** Converts a thrown value to an error with an exit code. */
export function toCliError(thrown: unknown): CliError {
  if (thrown instanceof CliError) return thrown;
  if (thrown instanceof WebcaptureError) {
    const kind = kindOf(thrown);
    // The service's default message mentions the header. POST /capture has other messages with this code, for suspended accounts.
    const isUnknownKey = thrown.code === 'UNAUTHORIZED' && thrown.message === errorTable.UNAUTHORIZED.message;
    const said = isUnknownKey ? 'This API key does not exist.' : thrown.message.replace(/[.\s]*$/, '.');
    return new CliError(kind, `${said} ${adviceFor(thrown, kind)}`.trim(), { cause: thrown, code: thrown.code });
  }
  if (isFileError(thrown)) return fileError(thrown);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new CliError('internal', `Unexpected error: ${message}. Please report it.`, { cause: thrown });
}

/** Returns the line for stderr. */
export const errorLine = (error: CliError): string => `webcapture: ${plainText(error.message)}\n`;

/** Returns an error for a file or folder that could not be read or written, with advice. */
export function fileError(error: NodeJS.ErrnoException, path: string = error.path ?? 'the file'): CliError {
  const sentence = fileSentences[error.code ?? '']?.(path) ?? `${path}: ${error.message}.`;
  return new CliError('file', sentence, { cause: error });
}

const full = (path: string) =>
  `The disk is full: ${path} could not be written. Free some space and run the command again.`;

const fileSentences: Readonly<Record<string, (path: string) => string>> = {
  ENOSPC: full,
  EDQUOT: (path) =>
    `The disk quota is used up: ${path} could not be written. Free some space and run the command again.`,
  EROFS: (path) => `${path} is on a read-only file system. Choose another path with --output.`,
  EACCES: (path) => `No permission to access ${path}. Check the permissions of the file and its folder.`,
  EPERM: (path) => `No permission to access ${path}. Check the permissions of the file and its folder.`,
  ENOENT: (path) => `${path} does not exist.`,
  EISDIR: (path) => `${path} is a folder, not a file.`,
  ENOTDIR: (path) => `${path} is not in a folder: a part of the path is a file.`,
  EFBIG: (path) => `${path} is larger than the file system allows.`,
  EIO: (path) => `${path} could not be read or written: the disk reports an error.`,
};

/** Whether the error comes from the operating system and concerns a file, not a connection. */
export function isFileError(thrown: unknown): thrown is NodeJS.ErrnoException {
  if (!(thrown instanceof Error) || !('syscall' in thrown)) return false;
  const { code } = thrown as NodeJS.ErrnoException;
  return code !== undefined && !/^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|EAI_|ENOTFOUND|EADDR)/.test(code);
}
