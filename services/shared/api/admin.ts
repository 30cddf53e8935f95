import { type Static, Type } from 'typebox';
import { errorCodes } from '../runtime/errors.ts';
import { regions } from '../runtime/regions.ts';
import { oneOf } from './one-of.ts';
import { statusValues } from './status.ts';
import { usageCounts } from './usage-history.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const dateTime = (description: string) => Type.String({ format: 'date-time', description });

/** Maximum number of renderers of a region that are listed by name. All of them are counted. */
export const maxListedPods = 200;

const podSchema = Type.Object({
  pod: Type.String({ description: 'Name of the pod, or of the process where there is no cluster.' }),
  slots: count('Captures that it can render at the same time.'),
  busy: count('Slots in use.'),
  version: Type.String(),
  ageMs: count('Milliseconds since its last heartbeat.'),
});

const regionOverviewSchema = Type.Object({
  region: oneOf(regions),
  installed: Type.Boolean({
    description: 'False for a region of another cluster that has never worked; it is outside of GET /status.',
  }),
  renderers: count('Renderers that accept captures.'),
  slots: count('Slots of these renderers.'),
  busy: count('Slots in use.'),
  queued: Type.Object(
    { interactive: Type.Integer({ minimum: 0 }), background: Type.Integer({ minimum: 0 }) },
    { description: 'Captures that wait for a renderer, as of the last status of the controller.' },
  ),
  status: oneOf(statusValues),
  meanRenderMs: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Mean time that renderers spent on a capture within the last five minutes; null if there was none.',
  }),
  pods: Type.Array(podSchema, {
    description: `Renderers with a fresh heartbeat, by name; at most ${maxListedPods}.`,
  }),
});

const clusterOverviewSchema = Type.Object({
  name: Type.String({ description: 'Name of the cluster: `cluster.name` of the chart, or `WEBCAPTURE_CLUSTER_NAME`.' }),
  namespace: Type.String({ description: 'Namespace of the release.' }),
  version: Type.String({ description: 'Version of its controller.' }),
  regions: Type.Array(oneOf(regions), { description: 'Regions that have renderers in the cluster.' }),
  silentForMs: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Milliseconds since its last report; null while it reports every two seconds.',
  }),
  problems: Type.Array(Type.String(), { description: 'What keeps it from working with this fleet, and what to do.' }),
});

/** The `data` of GET /admin/overview, and of each event of GET /admin/events. */
export const overviewSchema = Type.Object({
  at: dateTime('Time of this overview.'),
  status: oneOf(statusValues, { description: 'Overall status of the service, as of GET /status.' }),
  regions: Type.Array(regionOverviewSchema),
  retired: Type.Object(
    {
      captures: count('Captures in all of these queues.'),
      regions: Type.Array(Type.Object({ region: oneOf(regions), captures: Type.Integer({ minimum: 0 }) })),
    },
    {
      description:
        'Queues of regions that are no longer part of the installation, as of the last status of the controller. The controller fails their captures with REGION_UNAVAILABLE, unless renderers of the region still accept captures.',
    },
  ),
  clusters: Type.Array(clusterOverviewSchema, {
    description:
      'Clusters that have reported within the last 15 minutes, by name, as of the last status of the controller.',
  }),
});
export type Overview = Static<typeof overviewSchema>;
/** Orders of GET /admin/captures. */
const adminCaptureSorts = ['slowest', 'failed'] as const;

/** Number of captures that are kept for every hour and each order. It is also the maximum length of the list. */
export const maxAdminCaptures = 50;

export const adminCapturesQuerySchema = Type.Object(
  {
    sort: oneOf(adminCaptureSorts, {
      default: 'slowest',
      description: 'slowest: completed captures by their duration. failed: failed captures, newest first.',
    }),
    limit: Type.Integer({
      minimum: 1,
      maximum: maxAdminCaptures,
      default: 20,
      description: 'Maximum number of captures to return.',
    }),
  },
  { additionalProperties: false },
);
export type AdminCapturesQuery = Static<typeof adminCapturesQuerySchema>;

const adminCaptureSchema = Type.Object({
  uuid: Type.String({ format: 'uuid' }),
  account: Type.String({ description: 'ID of the account.' }),
  host: Type.String({ description: 'Host of the page, or about:blank for supplied HTML.' }),
  region: oneOf(regions),
  code: Type.Union([oneOf(errorCodes), Type.Null()], { description: 'Error code of a failed capture.' }),
  message: Type.Union([Type.String(), Type.Null()], { description: 'Error message of a failed capture.' }),
  durationMs: count('Duration as in the latencies of GET /usage/history.'),
  endedAt: dateTime('Time at which the capture, or the refresh, ended.'),
});
export type AdminCapture = Static<typeof adminCaptureSchema>;

/** The `data` of GET /admin/captures. */
export const adminCapturesSchema = Type.Object({ captures: Type.Array(adminCaptureSchema) });

/** Maximum number of accounts of GET /admin/usage. */
const maxUsageAccounts = 100;
/** Maximum number of errors that GET /admin/usage returns for an account. */
export const maxAccountFailures = 5;

export const adminUsageQuerySchema = Type.Object(
  {
    days: Type.Integer({
      minimum: 1,
      maximum: 90,
      default: 7,
      description: 'Number of days (UTC), up to and including today.',
    }),
    limit: Type.Integer({
      minimum: 1,
      maximum: maxUsageAccounts,
      default: 10,
      description: 'Maximum number of accounts to return.',
    }),
  },
  { additionalProperties: false },
);
export type AdminUsageQuery = Static<typeof adminUsageQuerySchema>;

const accountUsageSchema = Type.Object({
  account: Type.String({ description: 'ID of the account.' }),
  name: Type.Union([Type.String(), Type.Null()], { description: 'Name of the account; null if it no longer exists.' }),
  ...usageCounts,
  failures: Type.Array(
    Type.Object({ code: oneOf(errorCodes), count: count('Captures and refreshes that failed with it.') }),
    { description: `The most frequent errors, at most ${maxAccountFailures}.` },
  ),
});

/** The `data` of GET /admin/usage. */
export const adminUsageSchema = Type.Object({
  accounts: Type.Array(accountUsageSchema, { description: 'Accounts with usage, those with the most tokens first.' }),
  totals: Type.Object({ accounts: count('Accounts with usage.'), ...usageCounts }),
});
export type AdminUsage = Static<typeof adminUsageSchema>;

/** Number of dead letters that are kept. */
export const maxDeadLetters = 100;

const deadLetterSchema = Type.Object({
  at: dateTime('Time at which the controller settled it.'),
  uuid: Type.String(),
  account: Type.String({ description: 'ID of the account.' }),
  region: oneOf(regions),
  reason: oneOf(['max_deliveries', 'terminated'], {
    description:
      'max_deliveries: the job was delivered three times and never acknowledged. terminated: a renderer rejected the job.',
  }),
  deliveries: count('Deliveries of the job.'),
});
export type DeadLetter = Static<typeof deadLetterSchema>;

/** The `data` of GET /admin/dead-letters. */
export const deadLettersSchema = Type.Object({
  deadLetters: Type.Array(deadLetterSchema, { description: `Newest first, at most ${maxDeadLetters}.` }),
});
