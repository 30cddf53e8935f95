// Prints the users of NATS servers of your own, as values of the official NATS chart, from the chart's list of permissions:
//   npm run --silent nats-users -- us-east --satellite asia-southeast > nats-users.yaml
// With --domain <name>, those of a leaf node: its own JetStream has another domain than the fleet, which is in that one.
// Without --satellite: regions whose renderers run in the cluster of the hub. Passwords are read from the Secret `webcapture-nats` in the
// namespace of NATS, under the keys that the README of the chart lists.
import { parseArgs } from 'node:util';
import { isRegion, type Region, regions as allRegions } from '@webcapture/shared/runtime/regions.ts';
import { permissionsOf, type Service } from '../local/nats-users.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    satellite: { type: 'string', multiple: true, default: [] },
    secret: { type: 'string', default: 'webcapture-nats' },
    domain: { type: 'string' },
  },
});
const regions = [...positionals, ...values.satellite];
const unknown = regions.find((region) => !isRegion(region));
if (regions.length === 0 || unknown !== undefined) {
  const problem = unknown === undefined ? 'Name the regions of the fleet.' : `There is no region ${unknown}.`;
  process.stderr.write(`${problem} Regions: ${allRegions.join(', ')}\n`);
  process.exit(2);
}

interface User {
  readonly service: Service;
  readonly region?: Region;
}

const users: readonly User[] = [
  { service: 'backup' },
  { service: 'controller' },
  { service: 'front' },
  ...regions.filter(isRegion).map((region) => ({ service: 'renderer', region }) as const),
  ...values.satellite.filter(isRegion).map((region) => ({ service: 'satellite', region }) as const),
];

const idOf = ({ service, region }: User) => (region === undefined ? service : `${service}-${region}`);
const variableOf = (user: User) => `${idOf(user).toUpperCase().replaceAll('-', '_')}_PASSWORD`;

process.stdout.write(
  `# Made by deploy/chart/nats-users.ts; run it again when regions come or go, or after an upgrade of webcapture.\n`,
);
// JSON is YAML.
const text = JSON.stringify(
  {
    config: {
      merge: {
        authorization: {
          users: users.map((user) => ({
            user: idOf(user),
            // The official chart takes the quotes off, so that the server reads a variable.
            password: `<< $${variableOf(user)} >>`,
            permissions: permissionsOf(user.service, user.region, values.domain),
          })),
        },
      },
    },
    container: {
      env: Object.fromEntries(
        users.map((user) => [
          variableOf(user),
          { valueFrom: { secretKeyRef: { name: values.secret, key: `${idOf(user)}-password` } } },
        ]),
      ),
    },
  },
  null,
  2,
);
process.stdout.write(`${text}\n`);
