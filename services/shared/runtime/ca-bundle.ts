import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { EnvReader } from './env.ts';
import { optionalVariable } from './variables.ts';

/** Certificate authorities that are trusted in addition to the public ones. */
export interface CaBundle {
  /** Path of the file. */
  readonly file: string;
  /** One certificate each, in PEM. */
  readonly certificates: readonly string[];
}

export const caBundleVariable = optionalVariable('WEBCAPTURE_CA_BUNDLE', {
  defaultText: 'none: only public authorities',
  meaning:
    'File with the certificates of your own authorities, in PEM. Pages, webhooks, NATS, the bucket and the upstream proxy may have certificates of these authorities or of public ones. The renderer needs the program `certutil` (package `libnss3-tools`) for it; the image contains it. A change of the file takes effect with a restart.',
});

/** Reads the file. A file that cannot be read, or that contains no valid certificate, is reported as a problem. */
export function readCaBundle(env: EnvReader): CaBundle | undefined {
  const file = caBundleVariable.read(env);
  if (file === undefined) return undefined;
  try {
    return { file, certificates: parseCertificates(readFileSync(file, 'utf8')) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    env.problem('WEBCAPTURE_CA_BUNDLE', code === undefined ? message : `must be a file that can be read: ${message}`);
    return undefined;
  }
}

/** @throws Error without a code, whose message is the violated rule */
function parseCertificates(text: string): readonly string[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? [];
  if (blocks.length === 0) throw new Error('must be a file that contains certificates in PEM, but it contains none');
  return blocks.map((block, index) => {
    if (!isCertificate(block)) {
      throw new Error(`must be a file that contains certificates in PEM; certificate ${index + 1} is not valid`);
    }
    return `${block}\n`;
  });
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/**
 * Makes all TLS clients of this process trust the authorities, except clients that name authorities of their own. Call it before the first
 * connection.
 */
export function trustCaBundle({ certificates }: CaBundle): void {
  setDefaultCACertificates([...getCACertificates('default'), ...certificates]);
}
