import { NotFoundError, PermissionError, Webcapture } from '@webcapture/client';
import { batch, computed, effect, type ReadonlySignal, signal } from '@preact/signals';

/** What one signs in with: the key of an account, or the admin token for the operator's page. */
export type Kind = 'key' | 'admin';

interface Session {
  readonly secret: string;
  readonly client: Webcapture;
}

/** Where the service is that this dashboard belongs to, without a slash at the end: the folder above its own. */
export const serviceUrl = new URL('..', document.baseURI).href.replace(/\/$/, '');

// Of this tab, and gone with it; never in an address, which would end up in histories and logs.
const storageNames: Readonly<Record<Kind, string>> = { key: 'webcapture.key', admin: 'webcapture.admin-token' };

const secrets: Readonly<Record<Kind, ReturnType<typeof signal<string | null>>>> = {
  key: signal<string | null>(sessionStorage.getItem(storageNames.key)),
  admin: signal<string | null>(sessionStorage.getItem(storageNames.admin)),
};

/** What to say above the sign-in, until the next one: why somebody was signed out. */
export const signInNotices: Readonly<Record<Kind, ReturnType<typeof signal<string | null>>>> = {
  key: signal<string | null>(null),
  admin: signal<string | null>(null),
};

const visits = { key: signal(0), admin: signal(0) };

/** Counts who has signed in and out: what one has loaded and typed is not for the next one. */
export const visit: Readonly<Record<Kind, ReadonlySignal<number>>> = visits;

/** Undefined: nobody is signed in with that. */
export const sessions = { key: sessionOf('key'), admin: sessionOf('admin') };

function sessionOf(kind: Kind) {
  return computed((): Session | undefined => {
    const secret = secrets[kind].value;
    return secret ? { secret, client: clientOf(kind, secret) } : undefined;
  });
}

/** The client of who is signed in. Pages are shown only then. */
export function client(kind: Kind = 'key'): Webcapture {
  const session = sessions[kind].value;
  if (session === undefined) throw new Error('nobody is signed in');
  return session.client;
}

/**
 * A client that signs out when the key no longer holds: unknown, revoked or expired. (A suspended account may be resumed: its
 * pages say that it is suspended.) Pages repeat what failed by themselves, so it does not.
 */
function clientOf(kind: Kind, secret: string): Webcapture {
  return new Webcapture({
    url: serviceUrl,
    apiKey: secret,
    maxRetries: 0,
    fetch: async (url, init) => {
      // A refresh replaces pictures under their addresses: the browser asks whether those that it has are the current ones.
      const response = await fetch(url, { ...init, cache: 'no-cache' });
      if (response.status === 401) {
        const reason = await reasonOf(response.clone());
        // While it was read, the event stream may have signed out and said why, or another key may have signed in. And when the
        // page that asked has gone away, there is no reason to read: the next request gets one.
        const isAborted = init?.signal?.aborted === true;
        if (!isAborted && secrets[kind].peek() === secret) signOut(kind, reason);
      }
      return response;
    },
  });
}

async function reasonOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
  return body?.error?.message ?? 'The service no longer accepts what you signed in with.';
}

/** Signs in, or throws the WebcaptureError that says why not; nothing is kept then. */
export async function signIn(kind: Kind, given: string): Promise<void> {
  const secret = given.trim();
  const candidate = new Webcapture({ url: serviceUrl, apiKey: secret, maxRetries: 0 });
  await (kind === 'key' ? checkKey(candidate) : candidate.admin.listAccountsPage({ limit: 1 }));
  keepSecret(kind, secret);
}

const unknownUuid = '00000000-0000-7000-8000-000000000000';

/**
 * Rejects when the key may do nothing at all, since its account is suspended; one that lacks a scope is good. A request of each
 * scope, none of which changes anything.
 */
async function checkKey(candidate: Webcapture): Promise<void> {
  let refusal: unknown;
  for (const request of [
    () => candidate.getUsage(),
    () => candidate.listKeysPage({ limit: 1 }),
    () => candidate.refreshCapture(unknownUuid),
  ]) {
    try {
      await request();
      return;
    } catch (error) {
      if (error instanceof NotFoundError) return;
      if (!(error instanceof PermissionError)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

/** For a secret that is known to be good. */
export function keepSecret(kind: Kind, secret: string): void {
  batch(() => {
    exchangeSecret(kind, secret);
    visits[kind].value++;
  });
}

/** For one that takes the place of the former on the same account: the pages keep what they show. */
export function exchangeSecret(kind: Kind, secret: string): void {
  sessionStorage.setItem(storageNames[kind], secret);
  signInNotices[kind].value = null;
  secrets[kind].value = secret;
}

export function signOut(kind: Kind, reason: string | null = null): void {
  sessionStorage.removeItem(storageNames[kind]);
  signInNotices[kind].value = reason === null ? null : `You were signed out. ${reason}`;
  batch(() => {
    secrets[kind].value = null;
    visits[kind].value++;
  });
}

/** Calls `forget` when another key signs in, or none: what one account has typed and seen is not for the next one. */
export function onKeyChange(forget: () => void): void {
  effect(() => {
    if (visits.key.value > 0) forget();
  });
}
