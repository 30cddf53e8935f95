import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { beforeNames } from '@webcapture/shared/nats/streams.ts';
import { regions, type Region } from '@webcapture/shared/runtime/regions.ts';

export type Service = 'front' | 'controller' | 'renderer' | 'satellite' | 'backup' | 'operator';

/** A permission of a user of the server, with its reason; the chart creates its users from the same file. */
interface Permission {
  readonly for: string;
  readonly subjects: readonly string[];
  /** A request to these subjects may have several responses. */
  readonly responses?: 'stream';
  /** The service whose accounts publish these subjects; undefined for the main account. */
  readonly from?: Service;
}
type Permissions = Readonly<
  Record<Service, { readonly publish: readonly Permission[]; readonly subscribe: readonly Permission[] }>
>;

const file = new URL('../../charts/webcapture/files/nats-permissions.json', import.meta.url);
export const permissions = JSON.parse(await readFile(file, 'utf8')) as Permissions;

/** The account with JetStream. Fronts, controllers, operators and backups are its users. */
export const mainAccount = 'webcapture';

/**
 * Services that have a separate account for each region. A NATS server sends the response to a request to the reply subject that the
 * request names. It does so with its own rights, and the permissions of a user cannot restrict reply subjects. Separate accounts are needed
 * because responses do not leave an account.
 */
const isolated: readonly Service[] = ['renderer', 'satellite'];

export interface NatsLogin {
  readonly user: string;
  readonly password: string;
}

/** A user of a service; users of renderers and of the controllers of satellites have a region. */
export interface NatsUser extends NatsLogin {
  readonly service: Service;
  readonly region?: Region;
  /** Prefix of the names of the fleet, as in WEBCAPTURE_NATS_PREFIX. */
  readonly prefix?: string;
}

/** The users of a server: one for each service, one for operators, and for each region one for renderers and one for the controller of a satellite. */
export interface NatsUsers {
  readonly users: readonly NatsUser[];
  /** Returns the login of a service. A renderer logs in with its region, and a satellite with its first region. */
  login(service: Service, region?: Region): NatsLogin;
}

/** Creates the users of a fleet with this prefix, each with a random password. */
export function createNatsUsers(prefix = ''): NatsUsers {
  const entry = (service: Service, region?: Region): NatsUser => ({
    service,
    ...(region === undefined ? {} : { region }),
    prefix,
    user: nameOf(service, region, prefix),
    password: randomBytes(24).toString('base64url'),
  });
  const users = [
    entry('front'),
    entry('controller'),
    entry('operator'),
    ...regions.flatMap((region) => [entry('renderer', region), entry('satellite', region)]),
  ];
  return {
    users,
    login: (service, region) => {
      const name = nameOf(service, region, prefix);
      const found = users.find(({ user }) => user === name);
      if (found === undefined) throw new RangeError(`the server has no user ${name}`);
      return { user: found.user, password: found.password };
    },
  };
}

/** Returns the variables with which a service logs in. */
export const loginVariables = ({ user, password }: NatsLogin) => ({
  WEBCAPTURE_NATS_USER: user,
  WEBCAPTURE_NATS_PASSWORD: password,
});

/** Returns the name of a user, and of its account if it has a separate one. */
export const nameOf = (service: string, region?: Region, prefix = '') =>
  beforeNames(prefix) + (region === undefined ? service : `${service}-${region}`);

interface User extends NatsLogin {
  /** If undefined, the user may use all subjects of the account. */
  readonly permissions?: Readonly<Record<'publish' | 'subscribe', { readonly allow: readonly string[] }>>;
}

interface Export {
  readonly service?: string;
  readonly stream?: string;
  readonly response_type?: 'stream';
  readonly accounts: string[];
}

interface Account {
  jetstream?: 'enabled';
  readonly users: User[];
  readonly exports: Export[];
  readonly imports: Import[];
}

type Import = Readonly<Partial<Record<'service' | 'stream', { readonly account: string; readonly subject: string }>>>;

/**
 * Returns the block `accounts` of a server's configuration, with the minimal permissions of these users. A renderer or satellite imports
 * from the main account each subject that it may publish, as a service, and each that it may subscribe to, as a stream; no other account
 * may import them.
 *
 * @param options.domain the JetStream domain of the fleet, for users of a leaf node, whose main account has no streams
 * @param options.others further users of the main account, without restrictions
 */
export function accountsOf(
  users: readonly NatsUser[],
  { domain, others = [] }: { readonly domain?: string | undefined; readonly others?: readonly NatsLogin[] } = {},
): Readonly<Record<string, Account>> {
  const accounts: Record<string, Account> = {};
  const account = (name: string) => (accounts[name] ??= { users: [], exports: [], imports: [] });
  const share = (
    kind: 'service' | 'stream',
    subject: string,
    from: string,
    to: string,
    rest: Pick<Export, 'response_type'> = {},
  ) => {
    const { exports } = account(from);
    const known = exports.find((it) => it[kind] === subject);
    if (known === undefined) exports.push({ [kind]: subject, ...rest, accounts: [to] });
    else known.accounts.push(to);
    account(to).imports.push({ [kind]: { account: from, subject } });
  };
  const main = account(mainAccount);
  if (domain === undefined) main.jetstream = 'enabled';
  main.users.push(...others);

  for (const { user, password, ...of } of users) {
    const { service, region, prefix } = of;
    const own = isolated.includes(service) ? nameOf(service, region, prefix) : mainAccount;
    const grants = (direction: 'publish' | 'subscribe') => granted(of, direction, domain);
    account(own).users.push({
      user,
      password,
      permissions: {
        publish: { allow: grants('publish').map(({ subject }) => subject) },
        subscribe: { allow: grants('subscribe').map(({ subject }) => subject) },
      },
    });
    if (own === mainAccount) continue;
    for (const { subject, responses } of grants('publish')) {
      share('service', subject, mainAccount, own, responses === undefined ? {} : { response_type: responses });
    }
    for (const { subject, from } of grants('subscribe')) {
      if (subject.startsWith('_INBOX.')) continue;
      if (from === undefined) share('stream', subject, mainAccount, own);
      // Messages that a service import brought to the main account cannot be imported from there, so they are imported from the account
      // that publishes them.
      for (const source of users.filter((it) => it.service === from && it.prefix === prefix)) {
        const published = granted(source, 'publish', domain).filter((it) => covers(subject, it.subject));
        const account = nameOf(source.service, source.region, prefix);
        for (const part of published) share('stream', part.subject, account, own);
      }
    }
  }
  return accounts;
}

/** Returns the subjects of a user, in the JetStream domain of the fleet. */
function granted(
  { service, ...names }: Pick<NatsUser, 'service' | 'region' | 'prefix'>,
  direction: 'publish' | 'subscribe',
  domain?: string,
) {
  return permissions[service][direction].flatMap(({ subjects, responses, from }) =>
    subjects.map((subject) => ({
      subject: inDomain(subjectFor(subject, names), domain),
      responses,
      from,
    })),
  );
}

/** Fills in the names in a subject of the list of permissions. */
export function subjectFor(
  subject: string,
  { region = '', prefix = '' }: { region?: string; prefix?: string },
): string {
  return subject.replaceAll('{region}', region).replaceAll('{prefix}', beforeNames(prefix));
}

function inDomain(subject: string, domain: string | undefined): string {
  if (domain === undefined) return subject;
  return subject.replace(/^\$JS\.API\.|^(?=\$KV\.)/, () => `$JS.${domain}.API.`);
}

/** Whether a pattern without `>` matches all subjects of another pattern. */
function covers(pattern: string, subject: string): boolean {
  const tokens = subject.split('.');
  const wanted = pattern.split('.');
  return wanted.length === tokens.length && wanted.every((token, index) => token === '*' || token === tokens[index]);
}
