import { randomBytes } from 'node:crypto';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import {
  accountsOf,
  createNatsUsers,
  loginVariables,
  type NatsLogin,
  type Service,
} from '../../deploy/local/nats-users.ts';

/** One set for all servers of a test process: a restarted server knows the same users. */
const users = createNatsUsers();

/** Login of the tests, with all permissions. */
const tester: NatsLogin = { user: 'test', password: randomBytes(24).toString('base64url') };

/** Returns the variables with which a service signs in; for a renderer or satellite, by its region. */
export function userOf(service: 'front' | 'controller' | 'operator' | 'renderer' | 'satellite', region?: Region) {
  const isOfRegion = service === 'renderer' || service === 'satellite';
  return loginVariables(users.login(service, isOfRegion ? (region ?? 'us-east') : undefined));
}

/** Server configuration: the services as in the chart, and the user of the tests in the main account. */
export const usersConfig = `accounts: ${JSON.stringify(accountsOf(users.users, { others: [tester] }), null, 2)}\n`;

/** Returns the users of fleets with these prefixes in one account, and the server configuration with them. */
export function usersOfPrefixes(prefixes: readonly string[]) {
  const fleets = new Map(prefixes.map((prefix) => [prefix, createNatsUsers(prefix)]));
  const all = [...fleets.values()].flatMap((fleet) => fleet.users);
  return {
    config: `accounts: ${JSON.stringify(accountsOf(all, { others: [tester] }), null, 2)}\n`,
    /** Like {@link userOf}, for the fleet with this prefix. */
    userOf: (prefix: string, service: Service, region?: Region) => {
      const fleet = fleets.get(prefix);
      if (fleet === undefined) throw new RangeError(`there is no fleet with the prefix ${prefix}`);
      return loginVariables(fleet.login(service, region));
    },
  };
}

/** Returns the address of a server with the credentials of the tests. */
export const asTester = (url: string) => withLogin(url, tester);

function withLogin(address: string, { user, password }: NatsLogin): string {
  const url = new URL(address);
  url.username = user;
  url.password = password;
  return url.href;
}

/** Returns another address of the same server, with the credentials of the first one. */
export function withLoginOf(address: string, from: string): string {
  const { username, password } = new URL(from);
  return withLogin(address, { user: username, password });
}
