import { nkeys } from '@nats-io/nats-core';

/** Keys of servers in operator mode: an operator, the system account, and one account with JetStream. */
export class OperatorMode {
  readonly #operator = nkeys.createOperator();
  readonly #system = nkeys.createAccount();
  readonly #account = nkeys.createAccount();

  /** The part of a server's configuration with the accounts. */
  get config(): string {
    const limits = { ...noLimits, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
    const jetStream = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const [operator, system, account] = [this.#operator, this.#system, this.#account] as const;
    const config = {
      operator: signedJwt(operator, operator, { type: 'operator', system_account: system.getPublicKey() }),
      system_account: system.getPublicKey(),
      resolver: 'MEMORY',
      resolver_preload: {
        [system.getPublicKey()]: signedJwt(operator, system, { type: 'account', limits }),
        [account.getPublicKey()]: signedJwt(operator, account, {
          type: 'account',
          limits: { ...limits, ...jetStream },
        }),
      },
    };
    return `${JSON.stringify(config).slice(1, -1)}\n`;
  }

  /** Creates a user of the account without restrictions. @param expiresAt Unix seconds */
  user(expiresAt?: number): JwtUser {
    const user = nkeys.createUser();
    const claims = { type: 'user', pub: {}, sub: {}, ...noLimits };
    const jwt = signedJwt(this.#account, user, claims, expiresAt);
    const seed = Buffer.from(user.getSeed()).toString();
    return { jwt, seed, publicKey: user.getPublicKey(), creds: credsOf(jwt, seed) };
  }
}

interface JwtUser {
  readonly jwt: string;
  readonly seed: string;
  readonly publicKey: string;
  /** The content of a `.creds` file, without a line break at its end. */
  readonly creds: string;
}

const noLimits = { subs: -1, data: -1, payload: -1 };

/** Returns the content of a `.creds` file, without a line break at its end. */
export function credsOf(jwt: string, seed: string): string {
  return [
    '-----BEGIN NATS USER JWT-----',
    jwt,
    '------END NATS USER JWT------',
    '',
    '************************* IMPORTANT *************************',
    'NKEY Seed printed below can be used to sign and prove identity.',
    '',
    '-----BEGIN USER NKEY SEED-----',
    seed,
    '------END USER NKEY SEED------',
  ].join('\n');
}

/** Returns a JWT as NATS servers in operator mode accept it. */
function signedJwt(issuer: nkeys.KeyPair, subject: nkeys.KeyPair, nats: object, expiresAt?: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const keys = { iss: issuer.getPublicKey(), sub: subject.getPublicKey() };
  const expiry = expiresAt === undefined ? {} : { exp: expiresAt };
  const claims = { ...keys, iat: 1, ...expiry, nats: { ...nats, version: 2 } };
  const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claims)}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
}
