import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { NewSigningSecret } from '@webcapture/shared/api/signing-secret.ts';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import type { KeyRecord } from '../../../../services/front/auth/keys.ts';
import { adminToken, dataOf, send } from '../accounts.ts';
import { bytesOf, type Envelope, startTestFront, type TestFront } from '../test-front.ts';

export type Options = readonly (readonly [string, string])[];

/** An identity that can sign: the id of an API key, and its signing secret. */
interface Signer {
  readonly keyId: string;
  readonly secret: string;
}

export const expiresIn = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds);

export const encode = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);

/** Signs a link as docs/capture-links.md describes it, with separate code. */
export function sign({ keyId, secret }: Signer, options: Options, expires = expiresIn(600)): URLSearchParams {
  const parameters = [...options, ['key', keyId] as const, ['expires', expires] as const];
  const pairs = parameters.map(([name, value]) => `${encode(name)}\0${encode(value)}`).toSorted();
  const text = `GET /capture?${pairs.map((pair) => pair.replace('\0', '=')).join('&')}`;
  const signature = createHmac('sha256', secret).update(text).digest('hex');
  return new URLSearchParams([...parameters.map(([name, value]) => [name, value]), ['signature', signature]]);
}

/** Returns an IP address that no other request uses. */
export const newAddress = () => [10, ...randomBytes(3)].join('.');

/** Returns the URL of a page that no other test captures. */
export const newUrl = () => `https://example.com/${randomUUID()}`;

export const page = (): Options => [['url', newUrl()]];

/** Gives the tests of a file two fronts, and keys that sign links; the log of the first must not contain secrets. */
export function useLinks() {
  let testFront: TestFront;
  let other: string;
  let signer: Awaited<ReturnType<typeof newSigner>>;
  const clock = { aheadMs: 0 };
  const logged: string[] = [];

  beforeAll(async () => {
    // Every request comes from another address, because the wrong links of one address are limited.
    const environment = { WEBCAPTURE_ADMIN_TOKEN: adminToken, WEBCAPTURE_TRUST_PROXY: 'true' };
    const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
    testFront = await startTestFront(environment, { now: () => Date.now() + clock.aheadMs, log });
    other = await testFront.addFront();
    signer = await newSigner();
  });
  beforeEach(() => {
    clock.aheadMs = 0;
    testFront.renderer.behavior = (job, renderer) => renderer.complete(job);
  });
  afterAll(async () => {
    await testFront[Symbol.asyncDispose]();
    expect(logged.join('')).not.toMatch(/signature|wcs_|token=|expires=|key=/);
  });

  function open(query: URLSearchParams | string, init: RequestInit = {}, front = testFront.url): Promise<Response> {
    const headers = { 'x-forwarded-for': newAddress(), ...(init.headers as Record<string, string> | undefined) };
    return fetch(`${front}/capture?${query.toString()}`, { signal: AbortSignal.timeout(40_000), ...init, headers });
  }

  /** Opens a link; returns the status, and the code of an error. */
  async function outcome(
    query: URLSearchParams | string,
    front?: string,
  ): Promise<readonly [number, string | undefined]> {
    const response = await open(query, {}, front);
    const bytes = await bytesOf(response);
    const body = response.ok ? null : (JSON.parse(bytes.toString()) as Envelope);
    return [response.status, body?.error?.code];
  }

  const rotate = async (id: string, key: string, body: object = {}) =>
    dataOf<NewSigningSecret>(await send(`${testFront.url}/keys/${id}/signing-secret`, key, { body }));

  /** Creates a key of a new account, and its first signing secret. */
  async function newSigner(changes: Partial<KeyRecord> = {}): Promise<Signer & { readonly key: string }> {
    const id = randomUUID();
    const key = await testFront.makeKey({ id, ...changes });
    return { key, ...(await rotate(id, key)) };
  }

  function lastJob(): CaptureJob {
    const job = testFront.renderer.jobs.at(-1);
    if (job === undefined) throw new Error('nothing was rendered');
    return job;
  }

  return {
    testFront: () => testFront,
    /** The URL of the other front. */
    other: () => other,
    /** A signer that the tests of the file share. */
    signer: () => signer,
    /** The clock offset of the fronts; each test begins with 0. */
    clock,
    logged,
    open,
    outcome,
    rotate,
    newSigner,
    lastJob,
    renders: () => testFront.renderer.jobs.length,
  };
}
