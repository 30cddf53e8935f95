// Runs before the other services of compose.yaml at each start: creates the secrets that are missing, and writes the accounts of
// the NATS server. A secret that exists is never changed.
//   node deploy/compose/prepare.ts FOLDER, with a folder for the secrets of each service: nats, front, controller, renderer
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { parseEnv } from 'node:util';
import { isRegion, regions } from '@webcapture/shared/runtime/regions.ts';
import { accountsOf, nameOf, type NatsUser } from '../local/nats-users.ts';

const [folder = '.'] = process.argv.slice(2);
const region = process.env['WEBCAPTURE_REGION'] ?? '';

if (isRegion(region)) {
  const logins = [
    { service: 'backup' },
    { service: 'controller' },
    { service: 'front' },
    { service: 'operator' },
    { service: 'renderer', region },
  ] as const;
  const names = logins.map((login) => nameOf(login.service, 'region' in login ? login.region : undefined));
  const passwords = ensure('nats/passwords.env', { generated: names });
  const passwordOf = (name: string) => passwords[name] ?? '';
  const users = logins.map((login, index): NatsUser => {
    const user = names[index] ?? '';
    return { ...login, user, password: passwordOf(user) };
  });
  // The file is written at each start, because an upgrade may change the permissions.
  write('nats/accounts.conf', `accounts: ${JSON.stringify(accountsOf(users), null, 2)}\n`);

  const front = ensure('front/secrets.env', {
    generated: ['WEBCAPTURE_ADMIN_TOKEN', 'WEBCAPTURE_SECRETS_KEY'],
    copied: { WEBCAPTURE_NATS_PASSWORD: passwordOf('front') },
  });
  ensure('controller/secrets.env', { copied: { WEBCAPTURE_NATS_PASSWORD: passwordOf('controller') } });
  ensure('renderer/secrets.env', {
    copied: {
      WEBCAPTURE_NATS_PASSWORD: passwordOf(nameOf('renderer', region)),
      WEBCAPTURE_SECRETS_KEY: front['WEBCAPTURE_SECRETS_KEY'] ?? '',
    },
  });
} else {
  process.stderr.write(`WEBCAPTURE_REGION must be one of ${regions.join(', ')}, not "${region}".\n`);
  process.exitCode = 78;
}

/**
 * Adds what is missing to a file of variables, and returns all of them.
 *
 * @param generated names of secrets that are created once
 * @param copied secrets of other files, with their values
 */
function ensure(
  file: string,
  { generated = [], copied = {} }: { generated?: readonly string[]; copied?: Readonly<Record<string, string>> },
): Readonly<Record<string, string | undefined>> {
  const path = `${folder}/${file}`;
  const found: Readonly<Record<string, string | undefined>> = existsSync(path)
    ? parseEnv(readFileSync(path, 'utf8'))
    : {};
  const missing = generated.filter((name) => !found[name]);
  const all = {
    ...found,
    ...Object.fromEntries(missing.map((name) => [name, randomBytes(24).toString('base64url')])),
    ...copied,
  };
  const text = Object.entries(all).map(([name, value]) => `${name}=${value}\n`);
  const changed = Object.entries(all).filter(([name, value]) => found[name] !== value);
  if (changed.length > 0) write(file, text.join(''));
  const news = changed.length === 0 ? 'complete' : `wrote ${changed.map(([name]) => name).join(', ')}`;
  process.stdout.write(`${file}: ${news}\n`);
  return all;
}

/** Replaces a file atomically, so that a crash leaves either the old or the new one. */
function write(file: string, text: string): void {
  const path = `${folder}/${file}`;
  writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}
