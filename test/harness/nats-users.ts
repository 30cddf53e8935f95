import { readFile } from 'node:fs/promises';
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
const permissions = JSON.parse(await readFile(file, 'utf8')) as Permissions;

const passwordOf = (service: ServiceName) => `password-of-${service}`;

/** The variables by which a service signs in. */
export const userOf = (service: ServiceName) => ({
  WEBCAPTURE_NATS_USER: service,
  WEBCAPTURE_NATS_PASSWORD: passwordOf(service),
});

const users = Object.entries(permissions).map(([service, { publish, subscribe }]) => ({
  user: service,
  password: passwordOf(service as ServiceName),
  permissions: {
    publish: { allow: publish.flatMap(({ subjects }) => subjects) },
    subscribe: { allow: subscribe.flatMap(({ subjects }) => subjects) },
  },
}));

/** For a server's configuration: the services as the chart has them, and tests, which sign in as nobody, may do all. */
export const usersConfig = `
no_auth_user: "test"
authorization: ${JSON.stringify({ users: [...users, { user: 'test', password: 'test' }] }, null, 2)}
`;
