import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { regions, type Region } from '@webcapture/shared/runtime/regions.ts';

export type Service = 'front' | 'controller' | 'renderer' | 'satellite' | 'backup';

/** What a user of the server may do, and why; the chart makes its users of the same file. */
interface Permission {
  readonly for: string;
  readonly subjects: readonly string[];
}
type Permissions = Readonly<
  Record<Service, { readonly publish: readonly Permission[]; readonly subscribe: readonly Permission[] }>
>;

const file = new URL('../../charts/webcapture/files/nats-permissions.json', import.meta.url);
export const permissions = JSON.parse(await readFile(file, 'utf8')) as Permissions;

export interface NatsLogin {
  readonly user: string;
  readonly password: string;
}

/** The users of a server: one for each service, and for each region one for renderers and one for the controller of a satellite. */
export interface NatsUsers {
  /** Their entries in `authorization.users` of the server's configuration. */
  readonly entries: readonly object[];
  /** A renderer signs in by its region, and a satellite by its first one. */
  login(service: Service, region?: Region): NatsLogin;
}

/** Makes the users, each with a password of its own and with the permissions that the chart gives it. */
export function createNatsUsers(): NatsUsers {
  const secret = () => randomBytes(24).toString('base64url');
  const passwords = new Map<string, string>();
  const entry = (service: Service, region?: Region) => {
    const user = nameOf(service, region);
    const password = secret();
    passwords.set(user, password);
    return { user, password, permissions: permissionsOf(service, region) };
  };
  const entries = [
    entry('front'),
    entry('controller'),
    ...regions.flatMap((region) => [entry('renderer', region), entry('satellite', region)]),
  ];
  return {
    entries,
    login: (service, region) => {
      const user = nameOf(service, region);
      const password = passwords.get(user);
      if (password === undefined) throw new RangeError(`the server has no user ${user}`);
      return { user, password };
    },
  };
}

/** What makes a service sign in. */
export const loginVariables = ({ user, password }: NatsLogin) => ({
  WEBCAPTURE_NATS_USER: user,
  WEBCAPTURE_NATS_PASSWORD: password,
});

const nameOf = (service: Service, region?: Region) => (region === undefined ? service : `${service}-${region}`);

/**
 * As an entry of `authorization.users` has them.
 *
 * @param domain the JetStream domain of the fleet, for users of a leaf node that has another one
 */
export function permissionsOf(service: Service, region: Region | undefined, domain?: string): object {
  const inDomain = (subject: string) => {
    if (domain === undefined) return subject;
    return subject.replace(/^\$JS\.API\.|^(?=\$KV\.)/, () => `$JS.${domain}.API.`);
  };
  const subjects = (direction: 'publish' | 'subscribe') =>
    permissions[service][direction].flatMap((permission) =>
      permission.subjects.map((subject) => inDomain(subject.replaceAll('{region}', region ?? ''))),
    );
  return { publish: { allow: subjects('publish') }, subscribe: { allow: subjects('subscribe') } };
}
