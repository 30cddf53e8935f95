import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type * as Session from '../../../services/dashboard/shell/session.ts';

const encoder = new TextEncoder();
const refusal = encoder.encode(
  JSON.stringify({ error: { code: 'API_KEY_REVOKED', message: 'The API key was revoked.' } }),
);

/** Answers of the service: the head at once, the body when told. */
let bodies: ReadableStreamDefaultController<Uint8Array>[];
let session: typeof Session;

beforeEach(async () => {
  bodies = [];
  vi.resetModules();
  vi.stubGlobal('document', { baseURI: 'https://capture.example/dashboard/' });
  vi.stubGlobal('sessionStorage', {
    getItem: () => null,
    setItem: () => undefined,
    removeItem: () => undefined,
  });
  vi.stubGlobal('fetch', async (_url: string, { signal }: RequestInit) => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        bodies.push(controller);
        signal?.addEventListener('abort', () => controller.error(signal.reason));
      },
    });
    return new Response(body, { status: 401, headers: { 'content-type': 'application/json' } });
  });
  session = await import('../../../services/dashboard/shell/session.ts');
  session.keepSecret('key', 'wc_first');
});
afterEach(() => vi.unstubAllGlobals());

/** A request whose head has come; its body has not. */
async function asked(
  signal?: AbortSignal,
): Promise<{ answer: Promise<unknown>; body: ReadableStreamDefaultController }> {
  const before = bodies.length;
  const answer = session
    .client()
    .getUsage({ signal })
    .catch(() => undefined);
  const body = await vi.waitUntil(() => bodies[before]);
  return { answer, body };
}

function refuse(body: ReadableStreamDefaultController): void {
  body.enqueue(refusal);
  body.close();
}

describe('signed out', () => {
  test('by an answer, with its reason', async () => {
    const { answer, body } = await asked();
    refuse(body);
    await answer;
    expect(session.sessions.key.value).toBe(undefined);
    expect(session.signInNotices.key.value).toBe('You were signed out. The API key was revoked.');
  });

  test('by the event stream, while the answer to a page is read that then goes away', async () => {
    const leaving = new AbortController();
    const { answer } = await asked(leaving.signal);
    session.signOut('key', 'The API key was revoked.');
    leaving.abort();
    await answer;
    expect(session.signInNotices.key.value).toBe('You were signed out. The API key was revoked.');
  });

  test('not, when the page that asked went away before it knew why: who asks next learns it', async () => {
    const leaving = new AbortController();
    const { answer } = await asked(leaving.signal);
    leaving.abort();
    await answer;
    expect(session.sessions.key.value).toBeDefined();
  });

  test('not, when another key has signed in meanwhile', async () => {
    const { answer, body } = await asked();
    session.keepSecret('key', 'wc_second');
    refuse(body);
    await answer;
    expect(session.sessions.key.value?.secret).toBe('wc_second');
  });
});
