import type { StoredBytes } from '../captures/capture-record.ts';
import { noBytes } from '../captures/usage.ts';

/** Limits for the bytes that an account stores. */
export interface ByteLimits {
  /** HTML of background captures that have not ended. */
  readonly maxQueuedBytes: number;
  /** Files that expire. */
  readonly maxStoredBytes: number;
  /** Files of captures with persistence, and the HTML that is kept with them. */
  readonly maxPersistedBytes: number;
}

/** The share of the store in NATS that an account may use. */
export interface EmbeddedLimit {
  readonly maxEmbeddedBytes: number;
  /** Whether the store contains files; otherwise it contains only HTML. */
  readonly holdsFiles: boolean;
}

/** A limit that a request, or a file, would exceed. */
export interface ExceededLimit {
  readonly name: keyof ByteLimits | 'maxEmbeddedBytes';
  /** Bytes in use, without `added`. */
  readonly used: number;
  readonly max: number;
  /** Bytes that the request or the file adds; undefined if the size of the file is not known yet. */
  readonly added: number | undefined;
}

/** Bytes that a capture adds. A file that is not rendered yet counts as one byte, because its size is unknown. */
export interface AddedBytes extends Partial<StoredBytes> {
  readonly isFileUnknown?: boolean;
}

/** Returns the bytes of an account in the store in NATS. */
export function embeddedBytes(bytes: StoredBytes, { holdsFiles }: Pick<EmbeddedLimit, 'holdsFiles'>): number {
  const { queuedBytes, storedBytes, persistedBytes, keptHtmlBytes } = bytes;
  return queuedBytes + keptHtmlBytes + (holdsFiles ? storedBytes + persistedBytes : 0);
}

/**
 * Returns the first limit that the account would exceed with the added bytes, or null. If nothing is added to a kind of bytes, its limit
 * cannot be exceeded.
 */
export function exceededLimit(
  used: StoredBytes,
  { isFileUnknown = false, ...parts }: AddedBytes,
  limits: ByteLimits & { readonly embedded?: EmbeddedLimit | undefined },
): ExceededLimit | null {
  const added = { ...noBytes, ...parts };
  const persisted = (bytes: StoredBytes) => bytes.persistedBytes + bytes.keptHtmlBytes;
  const { embedded } = limits;
  const checks: (ExceededLimit & { readonly added: number })[] = [
    { name: 'maxQueuedBytes', used: used.queuedBytes, added: added.queuedBytes, max: limits.maxQueuedBytes },
    { name: 'maxStoredBytes', used: used.storedBytes, added: added.storedBytes, max: limits.maxStoredBytes },
    { name: 'maxPersistedBytes', used: persisted(used), added: persisted(added), max: limits.maxPersistedBytes },
  ];
  if (embedded !== undefined) {
    const [before, more] = [embeddedBytes(used, embedded), embeddedBytes(added, embedded)];
    checks.push({ name: 'maxEmbeddedBytes', used: before, added: more, max: embedded.maxEmbeddedBytes });
  }
  const exceeded = checks.find((check) => check.added > 0 && check.used + check.added > check.max);
  if (exceeded === undefined) return null;
  const isUnknown = isFileUnknown && exceeded.name !== 'maxQueuedBytes';
  return isUnknown ? { ...exceeded, added: undefined } : exceeded;
}

const contents = {
  maxQueuedBytes: 'HTML of background captures that have not ended',
  maxStoredBytes: 'stored files',
  maxPersistedBytes: 'persisted files',
  maxEmbeddedBytes: 'the part of the embedded store that one account may use',
} as const;

const remedies = {
  maxQueuedBytes: 'Wait until queued captures have ended, delete some, or ask the operator for a higher limit.',
  maxStoredBytes:
    'Delete captures, wait until files expire, use a shorter cdnTtl, or ask the operator for a higher limit.',
  maxPersistedBytes: 'Delete captures with persistence, or ask the operator for a higher limit.',
  maxEmbeddedBytes: 'Delete captures, wait until files expire or queued captures end, or ask the operator.',
} as const;

/** Returns the error message for an exceeded limit. */
export function byteLimitMessage({ name, used, max, added }: ExceededLimit): string {
  const wants = added === undefined ? '' : ` This capture adds ${added} bytes.`;
  return `The account uses ${used} of ${max} bytes of ${contents[name]} (${name}).${wants} ${remedies[name]}`;
}
