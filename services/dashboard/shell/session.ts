import { Webcapture } from '@webcapture/client';
import { batch, computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import { findScopes, type Scope } from './key-scopes.ts';

/** Kind of the credential: the key of an account, or the admin token for the operator's page. */
export type Kind = 'key' | 'admin';

interface Session {
  readonly secret: string;
  readonly client: Webcapture;
}

/** Base URL of the service, without a trailing slash: the parent folder of the dashboard. */
export const serviceUrl = new URL('..', document.baseURI).href.replace(/\/$/, '');

// Session storage is used because it is limited to this tab and deleted with it. An address would appear in histories and logs.
const storageNames: Readonly<Record<Kind, string>> = { key: 'webcapture.key', admin: 'webcapture.admin-token' };

const secrets: Readonly<Record<Kind, ReturnType<typeof signal<string | null>>>> = {
  key: signal<string | null>(sessionStorage.getItem(storageNames.key)),
  admin: signal<string | null>(sessionStorage.getItem(storageNames.admin)),
};

const scopesName = 'webcapture.scopes';

/** Scopes of the signed-in key; undefined if they are not known yet. */
const scopes = signal<ReadonlySet<string> | undefined>(readScopes());

function readScopes(): ReadonlySet<string> | undefined {
  const stored = sessionStorage.getItem(scopesName);
  return stored === null ? undefined : new Set(stored.split(' '));
}

function keepScopes(found: ReadonlySet<Scope> | undefined): void {
  if (found === undefined) sessionStorage.removeItem(scopesName);
  else sessionStorage.setItem(scopesName, [...found].join(' '));
  scopes.value = found;
}

/** Whether the signed-in key has a scope. While its scopes are not known, returns true. */
export const hasScope = (scope: Scope): boolean => scopes.value?.has(scope) ?? true;

/** Asks the service for the scopes of the signed-in key, unless they are known. */
export async function learnScopes(): Promise<void> {
  const session = sessions.key.peek();
  if (session === undefined || scopes.peek() !== undefined) return;
  // If this fails, the pages show the error of the service.
  const found = await findScopes(session.client).catch(() => undefined);
  if (sessions.key.peek() === session) keepScopes(found);
}

/** The reason for the sign-out. It is shown above the sign-in form until the next sign-in. */
export const signInMessages: Readonly<Record<Kind, ReturnType<typeof signal<string | null>>>> = {
  key: signal<string | null>(null),
  admin: signal<string | null>(null),
};

const visits = { key: signal(0), admin: signal(0) };

/** Number of sign-ins and sign-outs. It changes the key of components, so that loaded data and typed text do not reach the next session. */
export const visit: Readonly<Record<Kind, ReadonlySignal<number>>> = visits;

/** The sessions by kind; undefined if no session of a kind is signed in. */
export const sessions = { key: sessionOf('key'), admin: sessionOf('admin') };

function sessionOf(kind: Kind) {
  return computed((): Session | undefined => {
    const secret = secrets[kind].value;
    return secret ? { secret, client: clientOf(kind, secret) } : undefined;
  });
}

/** The client of the current session. Pages are shown only after sign-in. */
export function client(kind: Kind = 'key'): Webcapture {
  const session = sessions[kind].value;
  if (session === undefined) throw new Error('not signed in');
  return session.client;
}

/**
 * Returns a client that signs out when the key is no longer valid, because it is unknown, revoked or expired. A suspended account may be
 * resumed, so its pages only report the suspension. The client does not retry, because the pages do.
 */
function clientOf(kind: Kind, secret: string): Webcapture {
  return new Webcapture({
    url: serviceUrl,
    apiKey: secret,
    maxRetries: 0,
    fetch: async (url, init) => {
      // The browser revalidates its copies, because a refresh replaces pictures at their addresses.
      const response = await fetch(url, { ...init, cache: 'no-cache' });
      if (response.status === 401) {
        const reason = await reasonOf(response.clone());
        // While the body was read, the event stream may have signed out with a reason, or another key may have signed in. If the requesting
        // page is closed, the body is not needed, because the next request gets the same error.
        const isAborted = init?.signal?.aborted === true;
        if (!isAborted && secrets[kind].peek() === secret) signOut(kind, reason);
      }
      return response;
    },
  });
}

async function reasonOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
  return body?.error?.message ?? 'The service no longer accepts your credentials.';
}

/** Signs in, or throws the WebcaptureError with the reason and stores nothing. */
export async function signIn(kind: Kind, given: string): Promise<void> {
  const secret = given.trim();
  const candidate = new Webcapture({ url: serviceUrl, apiKey: secret, maxRetries: 0 });
  if (kind === 'key') keepSecret(kind, secret, await findScopes(candidate));
  else {
    await candidate.admin.listAccountsPage({ limit: 1 });
    keepSecret(kind, secret);
  }
}

/** Signs in with a secret that is known to be valid. `found` are the scopes of the key, if they are known. */
export function keepSecret(kind: Kind, secret: string, found?: ReadonlySet<Scope>): void {
  batch(() => {
    if (kind === 'key') keepScopes(found);
    exchangeSecret(kind, secret);
    visits[kind].value++;
  });
}

/** Signs in with a new secret of the same account. The pages keep their content. */
export function exchangeSecret(kind: Kind, secret: string): void {
  sessionStorage.setItem(storageNames[kind], secret);
  signInMessages[kind].value = null;
  secrets[kind].value = secret;
}

export function signOut(kind: Kind, reason: string | null = null): void {
  sessionStorage.removeItem(storageNames[kind]);
  if (kind === 'key') keepScopes(undefined);
  signInMessages[kind].value = reason === null ? null : `You were signed out. ${reason}`;
  batch(() => {
    secrets[kind].value = null;
    visits[kind].value++;
  });
}

/**
 * Calls `forget` when another key signs in, or when the key signs out. Typed text and loaded data of one account must not reach the next
 * one.
 */
export function onKeyChange(forget: () => void): void {
  effect(() => {
    if (visits.key.value > 0) forget();
  });
}
