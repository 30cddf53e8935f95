import { readFile } from 'node:fs/promises';
import { regions, type Region } from '@webcapture/shared/runtime/regions.ts';
import type { ServiceName } from './part.ts';

/** What a user of the server may do, and why; the chart makes its users of the same file. */
interface Permission {
  readonly for: string;
  readonly subjects: readonly string[];
}
type Permissions = Readonly<
  Record<ServiceName, { readonly publish: readonly Permission[]; readonly subscribe: readonly Permission[] }>
>;

const file = new URL('../../charts/webcapture/files/nats-permissions.json', import.meta.url);
export const permissions = JSON.parse(await readFile(file, 'utf8')) as Permissions;

/** The renderers of each region have a user of their own. */
const nameOf = (service: ServiceName, region?: Region) => (region === undefined ? service : `${service}-${region}`);
const passwordOf = (user: string) => `password-of-${user}`;

/** The variables by which a service signs in; a renderer by its region. */
export function userOf(service: 'front' | 'controller' | 'renderer', region?: Region) {
  const user = nameOf(service, service === 'renderer' ? (region ?? 'us-east') : undefined);
  return { WEBCAPTURE_NATS_USER: user, WEBCAPTURE_NATS_PASSWORD: passwordOf(user) };
}

function entryOf(service: ServiceName, region?: Region) {
  const user = nameOf(service, region);
  const subjects = (direction: 'publish' | 'subscribe') =>
    permissions[service][direction].flatMap((permission) =>
      permission.subjects.map((subject) => subject.replaceAll('{region}', region ?? '')),
    );
  const allowed = { publish: { allow: subjects('publish') }, subscribe: { allow: subjects('subscribe') } };
  return { user, password: passwordOf(user), permissions: allowed };
}

const users = [entryOf('front'), entryOf('controller'), ...regions.map((region) => entryOf('renderer', region))];

/** For a server's configuration: the services as the chart has them, and tests, which sign in as nobody, may do all. */
export const usersConfig = `
no_auth_user: "test"
authorization: ${JSON.stringify({ users: [...users, { user: 'test', password: 'test' }] }, null, 2)}
`;
