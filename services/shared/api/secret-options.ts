import type { Static } from 'typebox';
import type { SessionState } from '../captures/session-state.ts';
import type { PdfEncryption } from './document-options.ts';
import { type optionSchemas, optionTable, type SecretOptionName } from './option-table.ts';

/** Maximum total size of `headers`, `cookies` and `auth` in UTF-8. It exceeds the limits of most servers. */
export const maxCredentialBytes = 32 * 1024;

/** Maximum total size of all secrets of a capture as JSON in UTF-8, because a job contains them sealed. */
export const maxSecretsBytes = 192 * 1024;

/** The secrets of a capture. Secrets that are not set are absent. They are stored sealed and never shown; see `docs/operations.md`. */
export type CaptureSecrets = { readonly [Name in SecretOptionName]?: Static<(typeof optionSchemas)[Name]> } & {
  /** `pdf.encryption`. */
  readonly pdfEncryption?: PdfEncryption;
  /** The values that `steps` enter, in the order of the steps. */
  readonly stepValues?: readonly string[];
  /** State of the session that the option `session` names. It belongs to the session, so records do not contain it. */
  readonly session?: SessionState;
};

/** Names for messages of those secrets that are nested in other options. */
const nestedLabels: Readonly<Partial<Record<keyof CaptureSecrets, string>>> = {
  pdfEncryption: 'pdf.encryption',
  stepValues: 'type and select of steps',
};

/** Returns the name of a secret for messages. */
export const secretLabel = (name: keyof CaptureSecrets): string => nestedLabels[name] ?? name;

/** The secrets that are shown by their names, and not only by their presence. */
export type NamedSecret = {
  [Name in SecretOptionName]: (typeof optionTable)[Name]['shows'] extends 'presence' ? never : Name;
}[SecretOptionName];

export const isNamedSecret = (name: SecretOptionName): name is NamedSecret => optionTable[name].shows !== 'presence';

/** The public part of the secrets of a capture: names of headers and cookies, and whether the others are set. */
export type SecretNames = {
  readonly [Name in SecretOptionName]?: Name extends NamedSecret ? readonly string[] : true;
} & { readonly pdfEncryption?: true; readonly stepValues?: true };

/** Returns the public part of secrets. */
export function namesOfSecrets({
  pdfEncryption,
  stepValues,
  session: _state,
  ...secrets
}: CaptureSecrets): SecretNames {
  const shown = Object.entries(secrets).map(([name, value]) => {
    const { shows } = optionTable[name as SecretOptionName];
    return [name, shows === 'presence' ? true : shows(value as never)];
  });
  return {
    ...Object.fromEntries(shown),
    ...(pdfEncryption === undefined ? {} : { pdfEncryption: true }),
    ...(stepValues === undefined ? {} : { stepValues: true }),
  };
}
