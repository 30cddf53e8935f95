import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import { htmlUrl } from '../html-url.ts';

/** Removes secrets from the texts and addresses of diagnostics. */
export interface Redactor {
  /** Returns a text without secrets, of at most `maxLength` characters. */
  readonly text: (value: string, maxLength?: number) => string;
  /** Returns an address without credentials, fragment and secrets. */
  readonly url: (value: string) => string;
}

const mark = '[redacted]';

/**
 * Minimum length of a secret that is removed. Shorter values are part of too many words, and texts would become unreadable without them.
 */
const minSecretLength = 3;

/** Names of query parameters whose values grant access. */
const secretParameter =
  /token|secret|passw|pwd|session|sid$|api[-_]?key|^key$|auth|signature|^sig$|credential|^code$|jwt/i;

/** An address in a text. */
const address = /\bhttps?:\/\/[^\s"'<>`)\]}]+/gi;

/** Returns a redactor that removes the secrets of one capture. */
export function redactorOf(secrets: CaptureSecrets = {}): Redactor {
  const values = secretValuesOf(secrets);
  const userName = userNameOf(secrets);
  const withoutSecrets = (text: string) => {
    const rest = values.reduce((remaining, value) => remaining.replaceAll(value, mark), text);
    return userName === null ? rest : rest.replace(userName, mark);
  };
  // A page controls the length of a text, so only its beginning is examined. The end of that beginning may be the first half of a secret
  // or an address, so a margin at the end is dropped.
  const margin = limits.url + Math.max(0, ...values.map(({ length }) => length));
  return {
    url: (value) => withoutSecrets(withoutCredentials(value)).slice(0, limits.url),
    text: (value, maxLength = limits.text) => {
      const examined = value.slice(0, maxLength + margin);
      const clean = withoutSecrets(examined.replace(address, withoutCredentials));
      return (examined === value ? clean : clean.slice(0, -margin)).slice(0, maxLength);
    },
  };
}

/** Returns a function that removes the values of steps from a text. A page may put a value that was entered into its address or title. */
export function withoutStepValues({ stepValues = [] }: CaptureSecrets = {}): (text: string) => string {
  const values = secretValuesOf({ stepValues });
  return (text) => values.reduce((remaining, value) => remaining.replaceAll(value, mark), text);
}

/** Returns the secret values of a request in the forms in which pages show them. The longest comes first, because it may contain another. */
function secretValuesOf({
  headers = {},
  cookies = [],
  auth,
  css,
  script,
  pdfEncryption,
  stepValues = [],
  session,
}: CaptureSecrets): string[] {
  const login = auth && Buffer.from(`${auth.username}:${auth.password}`, 'utf8').toString('base64');
  const plain = [
    // A page may know only the second word of a value such as "Bearer abc".
    ...Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]),
    ...[...cookies, ...(session?.cookies ?? [])].map(({ value }) => value),
    ...storedValuesOf(session),
    auth?.password,
    login,
    css,
    script,
    pdfEncryption?.userPassword,
    pdfEncryption?.ownerPassword,
    ...stepValues,
  ].filter((value) => value !== undefined && value.length >= minSecretLength) as string[];
  const forms = plain.flatMap((value) => [
    value,
    encodeURIComponent(value.toWellFormed()),
    inForm(value),
    inJson(value),
  ]);
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
}

/** Shorter values in storage are rather settings than secrets. */
const minStoredLength = 16;

/** A page may store thousands of values, each of which is searched in all texts. */
const maxStoredValues = 200;

function storedValuesOf(session: CaptureSecrets['session']): readonly string[] {
  return (session?.origins ?? [])
    .flatMap(({ localStorage, sessionStorage }) => [...localStorage, ...sessionStorage])
    .map(({ value }) => value)
    .filter(({ length }) => length >= minStoredLength)
    .slice(0, maxStoredValues);
}

/** Encodes a value as forms send it. */
const inForm = (value: string) => new URLSearchParams({ '': value }).toString().slice(1);

const inJson = (value: string) => JSON.stringify(value).slice(1, -1);

/** Returns a pattern that matches the user name only as a whole word: "ann" is also part of "cannot". */
function userNameOf({ auth }: CaptureSecrets): RegExp | null {
  if (auth === undefined || auth.username.length < minSecretLength) return null;
  const escaped = auth.username.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  return new RegExp(String.raw`(?<![\p{L}\p{N}])${escaped}(?![\p{L}\p{N}])`, 'gu');
}

function withoutCredentials(value: string): string {
  if (value.startsWith('data:')) return `${value.slice(0, 50)}…`;
  const url = URL.parse(value);
  if (url === null) return value;
  if (value.startsWith(htmlUrl)) return 'about:blank';
  url.username = '';
  url.password = '';
  url.hash = '';
  for (const name of new Set(url.searchParams.keys())) {
    if (secretParameter.test(name)) url.searchParams.set(name, mark);
  }
  return url.href.replaceAll(encodeURIComponent(mark), mark);
}
