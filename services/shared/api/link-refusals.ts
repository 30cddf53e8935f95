import { type CaptureSecrets, secretLabel } from './secret-options.ts';

const isFile = 'a link is answered with the file';
const isSecret = 'a link is public, and would show it';

/** If a secret option is missing here, the file does not compile. */
const secrets: Readonly<Record<keyof CaptureSecrets, string>> = {
  headers: isSecret,
  cookies: isSecret,
  auth: isSecret,
  css: isSecret,
  script: isSecret,
  pdfEncryption: isSecret,
};

/**
 * Options of `POST /capture`, by dotted paths, that a signed link cannot have, with the reasons: links are public and can be opened
 * repeatedly. All other options are allowed in links as soon as they are in the schema. See docs/capture-links.md.
 */
export const linkRefusals: ReadonlyMap<string, string> = new Map([
  ['responseType', isFile],
  ['background', isFile],
  ['webhook', isFile],
  ['persistence', 'the file of a link ends with cdnTtl'],
  ['extract', isFile],
  ['html', 'an address cannot hold a page'],
  ...Object.entries(secrets).map(([name, why]) => [secretLabel(name as keyof CaptureSecrets), why] as const),
  ['headersFor', isSecret],
]);
