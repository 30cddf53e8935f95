import { randomBytes } from 'node:crypto';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { accountsOf, createNatsUsers, loginVariables, type NatsLogin } from '../../deploy/local/nats-users.ts';

/** One set for all servers of a process of tests: a server that comes back knows who was connected to it. */
const users = createNatsUsers();

/** Tests may do all. */
const tester: NatsLogin = { user: 'test', password: randomBytes(24).toString('base64url') };

/** The variables by which a service signs in; a renderer or satellite by its region. */
export function userOf(service: 'front' | 'controller' | 'renderer' | 'satellite', region?: Region) {
  const isOfRegion = service === 'renderer' || service === 'satellite';
  return loginVariables(users.login(service, isOfRegion ? (region ?? 'us-east') : undefined));
}

/** For a server's configuration: the services as the chart has them, and the user of tests in the main account. */
export const usersConfig = `accounts: ${JSON.stringify(accountsOf(users.users, { others: [tester] }), null, 2)}\n`;

/** The address of a server with what makes tests sign in. */
export const asTester = (url: string) => withLogin(url, tester);

function withLogin(address: string, { user, password }: NatsLogin): string {
  const url = new URL(address);
  url.username = user;
  url.password = password;
  return url.href;
}

/** Another address, by which the same server is reached, with what the first one signs in with. */
export function withLoginOf(address: string, from: string): string {
  const { username, password } = new URL(from);
  return withLogin(address, { user: username, password });
}
