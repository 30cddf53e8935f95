import { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { FrontConfig } from '../config.ts';
import { Authenticator } from './authenticator.ts';
import { CaptureLinks } from './capture-links.ts';
import { KeyIssuer } from './key-issuer.ts';
import { Keys } from './keys.ts';
import { linkSecretPrefix, LinkSecrets } from './link-secrets.ts';
import { UnknownKeys } from './unknown-keys.ts';

interface AuthOptions extends Pick<FrontConfig, 'defaultLimits'> {
  readonly now: () => number;
  readonly lookupTimeoutMs?: number | undefined;
}

/** Creates the objects that authenticate requests by API keys and by the secrets that sign capture links. */
export function createAuth(session: NatsSession, { defaultLimits, now, lookupTimeoutMs }: AuthOptions) {
  const accounts = new Accounts(session);
  const keys = new Keys(session);
  const linkSecrets = new LinkSecrets(session);
  const authenticator = new Authenticator({
    keys,
    accounts,
    unknownKeys: new UnknownKeys({ session, keys }),
    defaultLimits,
    now,
    lookupTimeoutMs,
  });
  const links = new CaptureLinks({
    secrets: linkSecrets,
    authenticator,
    unknownKeys: new UnknownKeys({ session, keys: linkSecrets, prefix: linkSecretPrefix }),
    now,
    lookupTimeoutMs,
  });
  const keyIssuer = new KeyIssuer({
    keys,
    linkSecrets,
    onChange: (hash) => authenticator.forgetKey(hash),
    onLinkSecret: (id) => links.forget(id),
    now,
  });
  return { accounts, keys, authenticator, links, keyIssuer };
}
