import { ServiceError } from '../errors/service-error.ts';
import type { NatsSession } from '../nats/connect.ts';
import { retryWhileAway } from '../nats/retry.ts';
import { streamNames } from '../nats/streams.ts';

/** Bytes of a part: well below the smallest max_payload. */
const partSize = 256 * 1024;

const writeDeadlineMs = 10_000;

interface Head {
  readonly parts: number;
  readonly size: number;
}

/**
 * Html on its way to a renderer that is too large for the message of its job: it lies in the stream of files under a
 * name of its own until the job's deadline. Parts first, then the head that makes them whole.
 *
 * @param name one subject token, used once (the capture's uuid)
 * @param expiresAt Unix milliseconds
 * @throws ServiceError STORAGE_FAILED
 */
export async function putHtml(session: NatsSession, name: string, html: string, expiresAt: number): Promise<void> {
  const bytes = Buffer.from(html, 'utf8');
  const ttl = `${Math.max(1, Math.ceil((expiresAt - Date.now()) / 1000))}s`;
  const deadline = Date.now() + writeDeadlineMs;
  const publish = (subject: string, data: Uint8Array | string) =>
    retryWhileAway(() => session.js.publish(subject, data, { ttl, timeout: 5000 }), { deadline });
  const head: Head = { parts: Math.ceil(bytes.length / partSize), size: bytes.length };
  try {
    await Promise.all(
      Array.from({ length: head.parts }, (_, part) =>
        publish(partSubject(name, part), bytes.subarray(part * partSize, (part + 1) * partSize)),
      ),
    );
    await publish(headSubject(name), JSON.stringify(head));
  } catch (error) {
    // What is there of it would stay for as long as the whole was to.
    removeHtml(session, name).catch(() => undefined);
    throw new ServiceError('STORAGE_FAILED', 'The html could not be handed on. Send the request again.', {
      cause: error,
    });
  }
}

/**
 * The html of a parcel. It stays there, so that a second delivery of the job finds it too.
 *
 * @throws ServiceError STORAGE_FAILED when it is not there (any more) or not whole
 */
export async function takeHtml(session: NatsSession, name: string): Promise<string> {
  try {
    const head = (await read(session, headSubject(name))).json<Head>();
    const parts = await Promise.all(
      Array.from({ length: head.parts }, (_, part) => read(session, partSubject(name, part))),
    );
    const bytes = Buffer.concat(parts.map(({ data }) => data));
    if (bytes.length !== head.size) throw new RangeError(`${bytes.length} bytes in place of ${head.size}`);
    return bytes.toString('utf8');
  } catch (error) {
    throw new ServiceError('STORAGE_FAILED', 'The supplied html could not be read back. Send the request again.', {
      cause: error,
    });
  }
}

/** Removes a parcel; one that is not there is no error. */
export async function removeHtml(session: NatsSession, name: string): Promise<void> {
  await session.jsm.streams.purge(streamNames.files, { filter: `files.html.${name}.>` });
}

async function read(session: NatsSession, subject: string) {
  const message = await session.jsm.streams.getMessage(streamNames.files, { last_by_subj: subject });
  if (message === null || message.data.length === 0) throw new Error(`nothing is stored under ${subject}`);
  return message;
}

const headSubject = (name: string) => `files.html.${name}.head`;
const partSubject = (name: string, part: number) => `files.html.${name}.${part}`;
