// Prints the accounts and users of your own NATS servers, from the chart's list of permissions.
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { isNamePrefix, namePrefixRule } from '@webcapture/shared/nats/streams.ts';
import { isRegion, regions as allRegions } from '@webcapture/shared/runtime/regions.ts';
import { accountsOf, mainAccount, nameOf, type NatsUser } from '../local/nats-users.ts';

const usage = `Usage: npm run --silent nats-users -- REGION... [--satellite REGION]... > nats-users.yaml

Prints the accounts and users of your own NATS servers, with the permissions that webcapture needs.

  REGION                   a region whose renderers run in the cluster of the hub
  --satellite REGION       a region whose renderers run in another cluster than the hub
  --format chart           values of the official NATS chart (default)
  --format conf            a part of the configuration file of a server, which reads the passwords from variables
  --format nsc             commands for servers in operator mode (JWT)
  --prefix NAME            the prefix of the fleet (nats.prefix), which names of users and of their accounts also have
  --domain NAME            the accounts of a leaf node; NAME is the JetStream domain of the fleet
  --second SERVICE=NAME    second users of a service, for a rotation: renderer=renderer2
  --secret NAME            the Secret with the passwords, in the namespace of NATS (default webcapture-nats); its keys are
                           in the README of the chart

Regions: ${allRegions.join(', ')}
`;

const { values, positionals } = parsed({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    satellite: { type: 'string', multiple: true, default: [] },
    second: { type: 'string', multiple: true, default: [] },
    secret: { type: 'string', default: 'webcapture-nats' },
    domain: { type: 'string' },
    prefix: { type: 'string', default: '' },
    format: { type: 'string', default: 'chart' },
  },
});
if (values.help) {
  process.stdout.write(usage);
  process.exit();
}
const regions = [...positionals, ...values.satellite];
const unknown = regions.find((region) => !isRegion(region));
if (regions.length === 0 || unknown !== undefined) {
  const problem = unknown === undefined ? 'Name the regions of the fleet.' : `There is no region ${unknown}.`;
  fail(`${problem} Regions: ${allRegions.join(', ')}`);
}
if (!isNamePrefix(values.prefix)) fail(`--prefix must be ${namePrefixRule}.`);
if (!['chart', 'conf', 'nsc'].includes(values.format)) fail('--format must be chart, conf or nsc.');

const seconds = values.second.map((option) => {
  const [, service, name] = /^(renderer|satellite|front|controller)=([a-z][a-z0-9-]*)$/.exec(option) ?? [];
  if (service === undefined || name === undefined || service === name) {
    fail(`--second must be a service and another name, such as renderer=renderer2, not ${option}.`);
  }
  return { service, name };
});

const ofFleet = (['backup', 'controller', 'front', 'operator'] as const).map((service) => ({ service }));
const users = [
  // The users of the main account connect to the hub; a leaf node only forwards the messages of its renderers and
  // satellites.
  ...(values.domain === undefined ? ofFleet : []),
  ...regions.filter(isRegion).map((region) => ({ service: 'renderer', region }) as const),
  ...values.satellite.filter(isRegion).map((region) => ({ service: 'satellite', region }) as const),
].map((user): NatsUser => {
  const { prefix } = values;
  return { ...user, prefix, ...loginOf(nameOf(user.service, 'region' in user ? user.region : undefined, prefix)) };
});
const accounts = accountsOf(users, { domain: values.domain });
// A second user has the same permissions as the first one, in the same account.
const added = users.flatMap(({ service, region, user }) =>
  seconds
    .filter((second) => second.service === service)
    .map(({ name }) => {
      const login = loginOf(nameOf(name, region, values.prefix));
      for (const account of Object.values(accounts)) {
        const first = account.users.find((each) => each.user === user);
        if (first !== undefined) account.users.push({ ...first, ...login });
      }
      return login;
    }),
);

process.stdout.write(
  `# Made by deploy/chart/nats-users.ts; run it again when regions come or go, or after an upgrade of webcapture.\n`,
);
if (values.format === 'conf') {
  const text = JSON.stringify(accounts, null, 2).replaceAll(/"<< (\$\w+) >>"/g, '$1');
  process.stdout.write(`accounts: ${text}\n`);
} else if (values.format === 'nsc') {
  process.stdout.write(`${nscCommands().join('\n')}\n`);
} else {
  const env = [...users, ...added].map(({ user }) => [
    variableOf(user),
    { valueFrom: { secretKeyRef: { name: values.secret, key: `${user}-password` } } },
  ]);
  // The output is JSON, which is valid YAML.
  const chart = { config: { merge: { accounts } }, container: { env: Object.fromEntries(env) as object } };
  process.stdout.write(`${JSON.stringify(chart, null, 2)}\n`);
}

function parsed<const Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    return fail(`${(error as Error).message}\n\n${usage}`);
  }
}

/** The official chart removes the quotes, so that the server reads a variable. */
function loginOf(user: string): { readonly user: string; readonly password: string } {
  return { user, password: `<< $${variableOf(user)} >>` };
}

function variableOf(user: string): string {
  return `${user.toUpperCase().replaceAll('-', '_')}_PASSWORD`;
}

/** Exports are private, so that no other account of the operator can import them. */
function nscCommands(): readonly string[] {
  const names = Object.keys(accounts);
  const shares = Object.entries(accounts).flatMap(([from, { exports }]) =>
    exports.flatMap((it) => {
      const kind = it.service === undefined ? '' : '--service';
      const subject = quoted(it.service ?? it.stream ?? '');
      const responses = it.response_type === undefined ? '' : '--response-type Stream';
      return [
        `nsc add export --account ${from} --private ${kind} --name ${subject} --subject ${subject} ${responses}`.trimEnd(),
        ...it.accounts.flatMap((to) => [
          `nsc generate activation --account ${from} --target-account ${to} --subject ${subject} --output-file "$activation"`,
          `nsc add import --account ${to} ${kind} --token "$activation" --name ${subject} --local-subject ${subject}`,
        ]),
      ];
    }),
  );
  return [
    'set -e',
    'activation=$(mktemp)',
    ...names.map((name) => `nsc add account --name ${name}`),
    ...(values.domain === undefined
      ? [
          `nsc edit account --name ${mainAccount} --js-mem-storage -1 --js-disk-storage -1 --js-streams -1 --js-consumer -1`,
        ]
      : []),
    ...shares,
    ...Object.entries(accounts).flatMap(([name, it]) =>
      it.users.map(({ user, permissions }) => {
        const lists = (['publish', 'subscribe'] as const).map(
          (direction) => permissions?.[direction].allow.join(',') ?? '',
        );
        const [publish = '', subscribe = ''] = lists.map(quoted);
        return `nsc add user --account ${name} --name ${user} --allow-pub ${publish} --allow-sub ${subscribe}`;
      }),
    ),
    'rm "$activation"',
  ];
}

/** Quotes text for a shell. Subjects contain `$`, `*` and `>`, but no quotes. */
function quoted(text: string): string {
  return `'${text}'`;
}

function fail(problem: string): never {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}
