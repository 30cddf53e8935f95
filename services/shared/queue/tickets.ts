import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { CaptureRecord } from '../captures/capture-record.ts';
import type { Region } from '../runtime/regions.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';
import { compareAndSet } from '../nats/retry.ts';

/** Data that a trusted service writes into a job and reads from its result. The signature ensures that the renderer cannot change it. */
export interface Ticket {
  readonly account: string;
  readonly uuid: string;
  /** 0 for the capture itself, or the number of the refresh. */
  readonly revision: number;
  readonly region: Region;
  /** Name of the object that the renderer must create. */
  readonly object: string;
  /**
   * Number of times that the job was queued. It is queued again if a renderer returns it; each ticket can cause that once. If absent, the
   * number is 1.
   */
  readonly attempt?: number;
  /** The record of an interactive capture at its acceptance, which is not stored until the capture ends. */
  readonly draft?: CaptureRecord;
}

/**
 * Maximum size of the options, the persistence and the sealed secrets of a request as JSON. The job of an interactive capture contains them
 * twice, the second time in the base64 of its ticket, and must fit into one message of NATS, 1 MiB: (400 KiB + 16 KiB) × (1 + 4/3) = 971
 * KiB.
 */
export const maxOptionBytes = 400 * 1024;

/** Maximum size of the other fields of a ticket and its draft as JSON. The largest is the address, of up to 2,048 characters. */
const otherBytes = 16 * 1024;

/** Length of the dot and of the signature, which is 32 bytes in base64url. */
const signatureLength = 44;

/** Maximum length of a signed ticket, which contains JSON in base64url. */
export const maxTicketLength = Math.ceil((maxOptionBytes + otherBytes) * (4 / 3)) + signatureLength;

/** Key of the secret in the bucket `db`, which renderers cannot read. */
const secretKey = 'secret.tickets';

/** Minimum interval of reads of the secret after a ticket with an invalid signature. It bounds the load that forged tickets cause. */
const minReadIntervalMs = 1000;

/** Timeout of reading or creating the secret, with all attempts. */
const secretTimeoutMs = 5000;

/**
 * Signs data of a job (HMAC-SHA-256). A result that contains the signed data proves that its renderer was given the job. The secret is
 * created at the first use, and is shared by all fronts and controllers of the fleet.
 */
export class Tickets {
  readonly #db: Entries;
  #secret: Buffer | null = null;
  #reading: Promise<Buffer> | null = null;
  #readAt = -Infinity;

  constructor(session: NatsSession) {
    this.#db = new Entries(session, 'db');
  }

  /** Throws the errors of NATS if the secret is not known yet. */
  async sign(ticket: Ticket): Promise<string> {
    const secret = this.#secret ?? (await this.#read());
    const body = Buffer.from(JSON.stringify(withoutKey(ticket))).toString('base64url');
    return `${body}.${signature(body, secret)}`;
  }

  /**
   * Returns the signed ticket, or null if the signature is invalid. Before that, reads the secret again, because the server may have
   * restarted with an empty disk. Throws the errors of NATS if the secret cannot be read.
   */
  async open(signed: string): Promise<Ticket | null> {
    const [body = '', given = '', ...rest] = signed.split('.');
    if (rest.length > 0) return null;
    const known = this.#secret;
    if (known !== null && isSignedWith(known, body, given)) return parse(body);
    // While the secret is unknown, all callers wait for the read. Otherwise a valid ticket could be rejected as forged.
    if (known !== null && performance.now() - this.#readAt < minReadIntervalMs) return null;
    return isSignedWith(await this.#read(), body, given) ? parse(body) : null;
  }

  /** Makes the next caller read the secret again. Called after a reconnection. */
  forget(): void {
    this.#secret = null;
    this.#readAt = -Infinity;
  }

  #read(): Promise<Buffer> {
    this.#readAt = performance.now();
    this.#reading ??= this.#readOrCreate()
      .then((secret) => (this.#secret = secret))
      .finally(() => (this.#reading = null));
    return this.#reading;
  }

  /** Creates the secret. If another service was faster, or the answer was lost, returns the stored secret. */
  #readOrCreate(): Promise<Buffer> {
    return compareAndSet(
      async () => {
        const found = await this.#db.get<{ secret: string }>(secretKey);
        if (found !== null) return Buffer.from(found.value.secret, 'base64');
        const secret = randomBytes(32);
        await this.#db.create(secretKey, { secret: secret.toString('base64') });
        return secret;
      },
      { deadline: Date.now() + secretTimeoutMs },
    );
  }
}

/** Removes the id of the API key, because renderers can read the signed data. */
function withoutKey(ticket: Ticket): Ticket {
  if (ticket.draft === undefined) return ticket;
  const { key: _untold, ...draft } = ticket.draft;
  return { ...ticket, draft };
}

const signature = (body: string, secret: Buffer) => createHmac('sha256', secret).update(body).digest('base64url');

function isSignedWith(secret: Buffer, body: string, given: string): boolean {
  const [expected, found] = [Buffer.from(signature(body, secret)), Buffer.from(given)];
  return expected.length === found.length && timingSafeEqual(expected, found);
}

const parse = (body: string) => JSON.parse(Buffer.from(body, 'base64url').toString()) as Ticket;

/** Returns the ticket of a job from the queue. Its signature is not verified, because only trusted services write to the queue. */
export function ticketOf({ ticket }: { readonly ticket: string }): Ticket {
  return parse(ticket.split('.')[0] ?? '');
}

/** Returns the number of the next attempt if the job of a ticket is returned. */
export const attemptAfter = ({ attempt = 1 }: Ticket): number => attempt + 1;

/** Whether a ticket seems to belong to an interactive capture. Affects only when a result is processed, and not whether it is trusted. */
export function seemsInteractive(ticket: string): boolean {
  try {
    return ticketOf({ ticket }).draft !== undefined;
  } catch {
    return false;
  }
}
