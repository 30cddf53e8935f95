import { readFileSync } from 'node:fs';
import { type Authenticator, jwtAuthenticator, nkeyAuthenticator, nkeys } from '@nats-io/nats-core';
import type { Logger } from '../runtime/logger.ts';

/** Files with the login of a user: `creds`, or `seed` with or without `jwt`. */
export interface NatsLoginFiles {
  /** A `.creds` file of `nsc`, with the JWT and the seed of a user. */
  readonly creds?: string;
  /** The seed of a user's NKey. */
  readonly seed?: string;
  /** The JWT of the user of the seed, for servers in operator mode. */
  readonly jwt?: string;
}

interface LoginFileProblem {
  readonly file: keyof NatsLoginFiles;
  /** The problem as a sentence without the final dot. It contains no secrets. */
  readonly message: string;
}

/** Thrown if files of a login are unreadable or malformed. */
export class LoginFileError extends Error {
  readonly problems: readonly LoginFileProblem[];

  constructor(problems: readonly LoginFileProblem[]) {
    super(problems.map(({ message }) => message).join('; '));
    this.problems = problems;
  }
}

interface Login {
  readonly jwt: string | undefined;
  readonly seed: Uint8Array;
}

/** Reads and checks the files. Throws a {@link LoginFileError} with all problems. */
export function readLogin(files: NatsLoginFiles): Login {
  const problems: LoginFileProblem[] = [];
  const report = (file: keyof NatsLoginFiles) => (message: string) => void problems.push({ file, message });
  const texts = Object.fromEntries(
    (['creds', 'seed', 'jwt'] as const).map((file) => [file, textOf(files[file], report(file))]),
  );
  const creds = texts['creds'];
  const jwtText = creds === undefined ? texts['jwt'] : blockOf(creds, 'NATS USER JWT');
  const seedText = creds === undefined ? texts['seed'] : blockOf(creds, 'USER NKEY SEED');
  const jwtFile = creds === undefined ? 'jwt' : 'creds';
  const seedFile = creds === undefined ? 'seed' : 'creds';
  const jwt = jwtText === undefined ? undefined : checkedJwt(jwtText, files[jwtFile], report(jwtFile));
  const seed = seedText === undefined ? undefined : checkedSeed(seedText, files[seedFile], report(seedFile));
  if (jwt !== undefined && seed !== undefined && jwt.user !== seed.user) {
    const message = `the JWT in ${files[jwtFile]} is for the user ${jwt.user}, and the seed in ${files[seedFile]} belongs to ${seed.user}`;
    problems.push({ file: jwtFile, message });
  }
  if (problems.length > 0 || seed === undefined) throw new LoginFileError(problems);
  return { jwt: jwt?.text, seed: seed.bytes };
}

/**
 * Returns an authenticator that reads the files at each connection, so that they can be replaced. If they cannot be read at a reconnection,
 * it uses the previous login. It must not throw then, because the client would close the connection forever.
 */
export function loginAuthenticator(files: NatsLoginFiles, log: Pick<Logger, 'warn'>): Authenticator {
  let login = readLogin(files);
  return (nonce) => {
    try {
      login = readLogin(files);
    } catch (error) {
      log.warn({ err: error }, 'the files with the login for NATS are invalid; using the previous login');
    }
    const { jwt, seed } = login;
    return (jwt === undefined ? nkeyAuthenticator(seed) : jwtAuthenticator(jwt, seed))(nonce);
  };
}

function textOf(path: string | undefined, report: (message: string) => void): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    report(`${path} cannot be read (${code})`);
    return undefined;
  }
}

/** Returns the content of a block between its lines BEGIN and END; an empty text if there is none. */
function blockOf(text: string, name: string): string {
  return new RegExp(`-{3,}BEGIN ${name}-{3,}([^]*?)-{3,}END ${name}-{3,}`).exec(text)?.[1] ?? '';
}

function checkedJwt(text: string, path: string | undefined, report: (message: string) => void) {
  const jwt = text.trim();
  const user = userOfJwt(jwt);
  if (user !== undefined) return { text: jwt, user };
  report(`${path} has no JWT of a NATS user`);
  return undefined;
}

/** Returns the public key of the user of a JWT. */
function userOfJwt(jwt: string): string | undefined {
  const [, claims] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(jwt) ?? [];
  try {
    const { sub } = JSON.parse(Buffer.from(claims ?? '', 'base64url').toString()) as { sub?: unknown };
    return typeof sub === 'string' && sub.startsWith('U') ? sub : undefined;
  } catch {
    return undefined;
  }
}

function checkedSeed(text: string, path: string | undefined, report: (message: string) => void) {
  // Some tools write comments or a block around the seed.
  const [seed = ''] = /^S[A-Z2-7]{20,}$/m.exec(text.replaceAll(/[\t\r ]/g, '')) ?? [];
  try {
    const bytes = Buffer.from(seed);
    const user = nkeys.fromSeed(bytes).getPublicKey();
    if (user.startsWith('U')) return { bytes, user };
    report(`${path} has the seed of another key than that of a user: it must begin with SU`);
  } catch {
    // The cause is omitted, because it may contain the seed.
    report(`${path} has no valid seed of an NKey, which begins with SU`);
  }
  return undefined;
}
