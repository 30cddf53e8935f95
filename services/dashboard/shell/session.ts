import { Webcapture, WebcaptureError } from '@webcapture/client';
import { computed, effect, signal } from '@preact/signals';

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
 * A client that signs out when the service no longer knows the key: revoked, expired, or its account suspended. Pages
 * repeat what failed by themselves, so it does not.
 */
function clientOf(kind: Kind, secret: string): Webcapture {
  return new Webcapture({
    url: serviceUrl,
    apiKey: secret,
    maxRetries: 0,
    fetch: async (url, init) => {
      // A refresh replaces pictures under their addresses: the browser asks whether those that it has are the current ones.
      const response = await fetch(url, { ...init, cache: 'no-cache' });
      if (response.status === 401 && secrets[kind].peek() === secret) {
        signOut(kind, await reasonOf(response.clone()));
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
  try {
    await (kind === 'key' ? candidate.getUsage() : candidate.admin.listAccountsPage({ limit: 1 }));
  } catch (error) {
    // A key that may only capture is a key.
    const isForbidden = error instanceof WebcaptureError && error.status === 403;
    if (!isForbidden || kind === 'admin') throw error;
  }
  keepSecret(kind, secret);
}

/** For a secret that is known to be good. */
export function keepSecret(kind: Kind, secret: string): void {
  sessionStorage.setItem(storageNames[kind], secret);
  signInNotices[kind].value = null;
  secrets[kind].value = secret;
}

export function signOut(kind: Kind, reason: string | null = null): void {
  sessionStorage.removeItem(storageNames[kind]);
  signInNotices[kind].value = reason === null ? null : `You were signed out. ${reason}`;
  secrets[kind].value = null;
}

/** Calls `forget` when another key signs in, or none: what one account has typed and seen is not for the next one. */
export function onKeyChange(forget: () => void): void {
  let former = secrets.key.peek();
  effect(() => {
    const { value } = secrets.key;
    if (former && value !== former) forget();
    former = value;
  });
}
