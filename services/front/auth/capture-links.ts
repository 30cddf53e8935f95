import { signingSecrets } from '@webcapture/shared/accounts/rotated-secret.ts';
import { isKeyPart } from '@webcapture/shared/nats/read-many.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { callNats, callTimeoutMs } from '../nats.ts';
import { ReadCache } from '../read-cache.ts';
import { type Authenticator, type Caller, keyMaxAgeMs } from './authenticator.ts';
import type { LinkSecret, LinkSecrets } from './link-secrets.ts';
import { inSignedOrder, isSignedWith, type LinkParameter } from './link-signature.ts';
import type { UnknownKeys } from './unknown-keys.ts';

/** Maximum time until a link expires: a leap year. */
const maxAheadSeconds = 366 * 86_400;

export interface CaptureLinksDeps {
  readonly secrets: LinkSecrets;
  readonly authenticator: Authenticator;
  /** Limits the cost of links that name keys without a secret. If undefined, each key is looked up. */
  readonly unknownKeys?: UnknownKeys | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Links are refused if the look-up of the secret takes longer than this, so that revocations apply even without NATS. */
  readonly lookupTimeoutMs?: number | undefined;
}

/** A link whose signature has been verified. */
export interface VerifiedLink {
  /** The key that signed the link, and its account. */
  readonly caller: Caller;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /**
   * The signed parameters except `key` and `expires`: the options of the capture, in the signed order. The order
   * matters, for instance for clicks.
   */
  readonly options: readonly LinkParameter[];
}

/** The reason why a link is refused. `problem` is short enough for a picture. */
export class LinkError extends ServiceError<'UNAUTHORIZED'> {
  readonly problem: string;

  constructor(problem: string, message: string) {
    super('UNAUTHORIZED', message);
    this.problem = problem;
  }
}

/** Verifies the signatures of capture links and authenticates the keys that they name. */
export class CaptureLinks {
  readonly #deps: CaptureLinksDeps;
  readonly #lookupTimeoutMs: number;
  readonly #secrets = new ReadCache<LinkSecret | null>({ maxAgeMs: keyMaxAgeMs });

  constructor(deps: CaptureLinksDeps) {
    this.#deps = deps;
    this.#lookupTimeoutMs = deps.lookupTimeoutMs ?? callTimeoutMs;
  }

  /**
   * Verifies a link.
   *
   * @param query of the link, in any encoding
   * @param onGenuine called when the signature is valid, even if the link is refused for another reason
   * @throws ServiceError UNAUTHORIZED if the link is unsigned, not signed with a secret of its key, or expired; VALIDATION_ERROR for an
   *   invalid `expires`; the errors with which {@link Authenticator.authenticateKey} refuses the key
   */
  async verify(query: string, onGenuine: () => void = () => undefined): Promise<VerifiedLink> {
    const { authenticator, now } = this.#deps;
    const parameters = [...new URLSearchParams(query)];
    const id = onlyValue(parameters, 'key');
    const expires = onlyValue(parameters, 'expires');
    const signature = onlyValue(parameters, 'signature');

    const secret = await this.#secretOf(id);
    const secrets = secret === null ? [] : signingSecrets(secret, now());
    if (secret === null || !isSignedWith(secrets, parameters, signature)) throw notSigned();
    onGenuine();

    const expiresAt = 1000 * parseExpires(expires, now());
    if (expiresAt <= now()) throw expired(expiresAt);
    const caller = await authenticator.authenticateKey(secret.hash, 'capture', 'UNAUTHORIZED');
    const options = inSignedOrder(parameters.filter(([name]) => !linkFields.has(name)));
    return { caller, expiresAt, options };
  }

  /** Removes a secret that this front changed from the cache. */
  forget(id: string): void {
    this.#secrets.forget(id);
  }

  async #secretOf(id: string): Promise<LinkSecret | null> {
    // Invalid ids are not cached, because an id may be as long as a URL.
    if (!isKeyPart(id)) return null;
    const { secrets, unknownKeys } = this.#deps;
    const deadline = Date.now() + this.#lookupTimeoutMs;
    const read = async () => {
      if ((await unknownKeys?.mayExist(id)) === false) return null;
      const found = await secrets.get(id);
      unknownKeys?.found(id, found !== null);
      return found?.value ?? null;
    };
    const find = () => this.#secrets.get(id, () => retryTransient(read, { deadline }));
    return callNats(find, 'The link cannot be checked right now.', this.#lookupTimeoutMs);
  }
}

/** The parameters of a link that are not options of the capture. */
const linkFields: ReadonlySet<string> = new Set(['key', 'expires', 'signature']);

function onlyValue(parameters: readonly LinkParameter[], wanted: string): string {
  const [first, second] = parameters.filter(([name]) => name === wanted);
  if (first !== undefined && second === undefined) return first[1];
  throw new LinkError(
    'link not signed',
    `A capture link must contain key, expires and signature exactly once, but ${wanted} is ` +
      `${first === undefined ? 'missing' : 'repeated'}. To capture without a link, send POST /capture with an API key.`,
  );
}

/**
 * An unknown key, a key without a secret and a wrong signature cause the same error, so that the error does not reveal which keys exist.
 */
const notSigned = () =>
  new LinkError(
    'wrong signature',
    'The signature does not match the parameters of this link, or was not made with a signing secret of its key. Sign the link again ' +
      'with a secret of POST /keys/{id}/signing-secret.',
  );

const expired = (expiresAt: number) =>
  new LinkError('link expired', `This link expired at ${new Date(expiresAt).toISOString()}. Sign a new one.`);

/** Parses `expires`; returns Unix seconds. */
function parseExpires(text: string, now: number): number {
  const rule = 'expires must be Unix time in whole seconds';
  if (!/^\d{1,12}$/.test(text)) throw new ServiceError('VALIDATION_ERROR', `${rule}, like 1795348800`);
  const seconds = Number(text);
  if (seconds > now / 1000 + maxAheadSeconds) {
    throw new ServiceError('VALIDATION_ERROR', `${rule}, at most ${maxAheadSeconds / 86_400} days ahead, not ${text}`);
  }
  return seconds;
}
