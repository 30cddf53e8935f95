import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type * as Session from '../../../services/dashboard/shell/session.ts';

const encoder = new TextEncoder();
const refusal = encoder.encode(
  JSON.stringify({ error: { code: 'API_KEY_REVOKED', message: 'The API key was revoked.' } }),
);

/** Bodies of the service's responses. The head of a response arrives immediately; the test writes the body. */
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

/** Sends a request whose head has arrived and whose body has not. */
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

describe('the session of the dashboard', () => {
  test('is signed out by a refused request, with the reason', async () => {
    const { answer, body } = await asked();
    refuse(body);
    await answer;
    expect(session.sessions.key.value).toBe(undefined);
    expect(session.signInMessages.key.value).toBe('You were signed out. The API key was revoked.');
  });

  test('shows the reason of the event stream when the page that sent a request is left', async () => {
    const leaving = new AbortController();
    const { answer } = await asked(leaving.signal);
    session.signOut('key', 'The API key was revoked.');
    leaving.abort();
    await answer;
    expect(session.signInMessages.key.value).toBe('You were signed out. The API key was revoked.');
  });

  test('stays signed in when the page that sent a request is left before the body arrives', async () => {
    const leaving = new AbortController();
    const { answer } = await asked(leaving.signal);
    leaving.abort();
    await answer;
    expect(session.sessions.key.value).toBeDefined();
  });

  test('stays signed in when another key signed in before the refusal arrived', async () => {
    const { answer, body } = await asked();
    session.keepSecret('key', 'wc_second');
    refuse(body);
    await answer;
    expect(session.sessions.key.value?.secret).toBe('wc_second');
  });
});
