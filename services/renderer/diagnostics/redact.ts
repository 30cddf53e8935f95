import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import { htmlUrl } from '../page/navigate.ts';

/** Removes secrets from what is kept of a rendering. */
export interface Redactor {
  /** A text without secrets, at most `maxLength` characters. */
  text(value: string, maxLength?: number): string;
  /** An address without credentials, fragment and secrets. */
  url(value: string): string;
}

const mark = '[redacted]';

/** Shorter values occur everywhere in texts, so that their removal would only garble them. */
const minSecretLength = 3;

/** No text is looked at beyond this: a page decides how long it is. */
const maxLookedAt = 10_000;

/** Parameters whose values open something. */
const secretParameter =
  /token|secret|passw|pwd|session|sid$|api[-_]?key|^key$|auth|signature|^sig$|credential|^code$|jwt/i;

/** Where an address may stand in a text. */
const address = /\bhttps?:\/\/[^\s"'<>`)\]}]+/gi;

/** The removal of the secrets of one capture. */
export function redactorOf(secrets: CaptureSecrets | undefined): Redactor {
  const values = secretValuesOf(secrets);
  const withoutValues = (text: string) => values.reduce((rest, value) => rest.replaceAll(value, mark), text);
  const url = (value: string) => withoutValues(withoutCredentials(value)).slice(0, limits.url);
  return {
    url,
    text: (value, maxLength = limits.text) =>
      withoutValues(value.slice(0, maxLookedAt).replace(address, withoutCredentials)).slice(0, maxLength),
  };
}

/** All that the request holds of secrets, in the forms in which pages show them; the longest first, since one may hold another. */
function secretValuesOf(secrets: CaptureSecrets | undefined): string[] {
  if (secrets === undefined) return [];
  const { headers = {}, cookies = [], auth, css, script } = secrets;
  const login = auth && Buffer.from(`${auth.username}:${auth.password}`, 'utf8').toString('base64');
  const plain = [
    // Of "Bearer abc", a page may know the second part alone.
    ...Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]),
    ...cookies.map(({ value }) => value),
    auth?.password,
    login,
    css,
    script,
  ].filter((value) => value !== undefined && value.length >= minSecretLength) as string[];
  const forms = plain.flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]);
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
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
