import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { removeFolder } from './temp-folder.ts';

/** A home folder for browsers, with a certificate store. */
export interface BrowserHome {
  readonly folder: string;
  /** Removes the folder. Never throws. */
  remove(): Promise<void>;
}

const run = promisify(execFile);

/** Timeout for a large bundle on a busy machine; 50 certificates take 0.4 s (measured). */
const timeoutMs = 30_000;

/**
 * Creates a home folder whose certificate store contains the authorities. Chromium has no switch for authorities, and an unprivileged
 * process cannot write policies. On Linux, both browsers read the NSS database in their home folder (measured with Chromium 156).
 * `--ignore-certificate-errors-spki-list` is not an alternative: it accepts every chain that contains the certificate of the authority,
 * without checking signatures and names. Anybody can append that certificate.
 *
 * @param certificates one certificate each, in PEM
 * @throws Error that says what is missing
 */
export async function createBrowserHome(certificates: readonly string[]): Promise<BrowserHome> {
  const folder = await mkdtemp(join(tmpdir(), 'ca'));
  const database = join(folder, '.pki', 'nssdb');
  try {
    await mkdir(database, { recursive: true });
    const commands = await Promise.all(
      certificates.map(async (pem, index) => {
        const file = join(folder, `${index}.pem`);
        await writeFile(file, pem);
        // The flag C trusts the authority for certificates of servers, and for nothing else.
        return `-A -n authority-${index} -t C,, -a -i ${file} -d sql:${database}\n`;
      }),
    );
    const batch = join(folder, 'commands');
    await writeFile(batch, commands.join(''));
    await certutil('-N', '--empty-password', '-d', `sql:${database}`);
    await certutil('-B', '-i', batch, '-d', `sql:${database}`);
  } catch (error) {
    await removeFolder(folder);
    throw error;
  }
  return { folder, remove: () => removeFolder(folder) };
}

async function certutil(...args: string[]): Promise<void> {
  try {
    await run('certutil', args, { timeout: timeoutMs });
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const what = isMissing
      ? 'The browsers cannot trust WEBCAPTURE_CA_BUNDLE: the program certutil is missing. Install the package libnss3-tools (Debian) or nss-tools (Fedora).'
      : 'The browsers cannot trust WEBCAPTURE_CA_BUNDLE: certutil failed.';
    throw new Error(what, { cause });
  }
}
