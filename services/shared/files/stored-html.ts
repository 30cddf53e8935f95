import type { StoredMsg } from '@nats-io/jetstream';
import type { Region } from '../runtime/regions.ts';
import { ServiceError } from '../runtime/errors.ts';
import { isTransient } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { getMessage } from '../nats/get-message.ts';
import type { Reading } from '../nats/entries.ts';
import { prefixed, streamNames } from '../nats/streams.ts';
import { StoreUnavailableError } from './file-store.ts';
import { FileMessages, partSize, untilFound } from './file-messages.ts';

const writeTimeoutMs = 10_000;

/**
 * Time for which a read is repeated if a replica that is behind does not have the HTML of a delivered job. It is longer than a disconnected
 * server needs to notice that and to catch up.
 */
const lagTimeoutMs = 15_000;

/** Timeout of reading one message. It is longer than an election of the stream's leader. */
const readTimeoutMs = 15_000;

interface Head {
  readonly parts: number;
  readonly size: number;
}

/** Identifies stored HTML and the region whose renderers can read it. */
export interface StoredHtmlAddress {
  readonly region: Region;
  /** One token of a subject, which is used once (the capture's uuid). */
  readonly name: string;
}

/**
 * Stores HTML that is too large for the message of its job. It is stored in the stream of files, under a name of its own, until the job's
 * deadline. The renderers of its region can read it. The parts are written before the head that completes them.
 *
 * @param expiresAt Unix milliseconds
 * @param now current time by the clock of `expiresAt`
 * @throws ServiceError STORAGE_FAILED
 */
export async function storeHtml(
  session: NatsSession,
  address: StoredHtmlAddress,
  html: string,
  expiresAt: number,
  now: number = session.now(),
): Promise<void> {
  const bytes = Buffer.from(html, 'utf8');
  const messages = new FileMessages(session);
  const limits = {
    ttlSeconds: Math.max(1, Math.ceil((expiresAt - now) / 1000)),
    deadline: Date.now() + writeTimeoutMs,
    isShared: true,
  };
  const head: Head = { parts: Math.ceil(bytes.length / partSize), size: bytes.length };
  try {
    await messages.createParts((part) => subjectOf(address, part), bytes, limits);
    await messages.create(subjectOf(address, 'head'), JSON.stringify(head), limits);
  } catch (error) {
    // Without this call, the parts that were stored would stay until the HTML would have expired.
    session.jsm.streams.purge(streamNames.files, { filter: subjectOf(address, '>') }).catch(() => undefined);
    throw new ServiceError('STORAGE_FAILED', 'The html could not be passed to a renderer. Send the request again.', {
      cause: error,
    });
  }
}

/**
 * Reads stored HTML. It is not removed, so that a second delivery of the job can read it too.
 *
 * @param reading `by-subject` reads with the rights of a region's renderers
 * @throws ServiceError STORAGE_FAILED if it is missing or incomplete; StoreUnavailableError if NATS does not answer, or a replica does not
 * have it
 */
export async function readHtml(
  session: NatsSession,
  address: StoredHtmlAddress,
  reading: Reading = 'from-leader',
): Promise<string> {
  try {
    const read = (part: number | 'head') => readMessage(session, subjectOf(address, part), reading);
    const head = (await read('head')).json<Head>();
    const parts = await Promise.all(Array.from({ length: head.parts }, (_, part) => read(part)));
    const bytes = Buffer.concat(parts.map(({ data }) => data));
    if (bytes.length !== head.size) throw new RangeError(`${bytes.length} bytes in place of ${head.size}`);
    return bytes.toString('utf8');
  } catch (error) {
    const message = 'The supplied html could not be read back. Send the request again.';
    // A replica may be behind for longer than this function retries, so the leader is asked.
    const mayPass = isTransient(error) || (reading === 'by-subject' && error instanceof PartMissingError);
    if (mayPass) throw new StoreUnavailableError(message, { cause: error });
    throw new ServiceError('STORAGE_FAILED', message, { cause: error });
  }
}

/**
 * Copies HTML that was stored for the renderers of one region, so that those of another region can read it.
 *
 * @param expiresAt expiry of the copy, Unix milliseconds
 * @param now current time by the same clock
 * @throws HtmlMissingError; ServiceError STORAGE_FAILED
 */
export async function copyHtml(
  session: NatsSession,
  { name, region }: StoredHtmlAddress,
  to: Region,
  expiresAt: number,
  now: number,
): Promise<void> {
  if (await isThere(session, { name, region: to })) return;
  const from = { name, region };
  if (!(await isThere(session, from))) throw new HtmlMissingError();
  await storeHtml(session, { region: to, name }, await readHtml(session, from), expiresAt, now);
}

/** Thrown if the html does not exist, because it was never stored or was removed. Nothing can be rendered from it. */
export class HtmlMissingError extends ServiceError<'STORAGE_FAILED'> {
  constructor() {
    super('STORAGE_FAILED', 'The supplied html is not stored any more. Send the request again.');
  }
}

async function isThere(session: NatsSession, address: StoredHtmlAddress): Promise<boolean> {
  try {
    await readMessage(session, subjectOf(address, 'head'), 'from-leader');
    return true;
  } catch (error) {
    if (error instanceof PartMissingError) return false;
    throw error;
  }
}

class PartMissingError extends Error {}

/** Removes stored HTML from all regions. It is not an error if there is none. */
export async function removeHtml(session: NatsSession, name: string): Promise<void> {
  await session.jsm.streams.purge(streamNames.files, { filter: prefixed(`files.html.*.${name}.*`) });
}

async function readMessage({ jsm }: NatsSession, subject: string, reading: Reading): Promise<StoredMsg> {
  const isLagging = reading === 'by-subject';
  const reader = isLagging ? jsm.direct : jsm.streams;
  const missingUntil = Date.now() + (isLagging ? lagTimeoutMs : 0);
  const read = async () => {
    const message = await getMessage(reader, streamNames.files, { last_by_subj: subject });
    return message === null || message.data.length === 0 ? null : message;
  };
  const message = await untilFound(read, { missingUntil, deadline: missingUntil + readTimeoutMs });
  if (message === null) throw new PartMissingError(`nothing is stored under ${subject}`);
  return message;
}

const subjectOf = ({ region, name }: StoredHtmlAddress, part: number | 'head' | '>') =>
  prefixed(`files.html.${region}.${name}.${part}`);
