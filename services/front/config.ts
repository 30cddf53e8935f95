import { defaultLimitVariables, readDefaultLimits } from '@webcapture/shared/accounts/accounts.ts';
import { allowIgnoreTlsErrorsVariable } from '@webcapture/shared/accounts/tls-errors.ts';
import { maxLifetimeSeconds } from '@webcapture/shared/api/option-schemas.ts';
import { secretsVariable } from '@webcapture/shared/captures/sealed-secrets.ts';
import { egressVariables, readEgressAllow, readEgressDeny } from '@webcapture/shared/egress/policy.ts';
import {
  addressVariables,
  commonVariables,
  isS3,
  readAddresses,
  readCommonConfig,
  readStorage,
  type StorageConfig,
  storageVariables,
} from '@webcapture/shared/runtime/config.ts';
import { type Environment, EnvReader } from '@webcapture/shared/runtime/env.ts';
import { anyAddress, anyAddressText } from '@webcapture/shared/runtime/listen-address.ts';
import { regions } from '@webcapture/shared/runtime/regions.ts';
import {
  choiceVariable,
  integerVariable,
  parsedVariable,
  secretVariable,
  textVariable,
  type Variable,
} from '@webcapture/shared/runtime/variables.ts';
import { parseOrigins } from './http/cors.ts';

const variables = {
  host: textVariable('WEBCAPTURE_HOST', {
    default: anyAddress,
    defaultText: anyAddressText,
    meaning: 'Address that the front listens on for clients.',
  }),
  presetKey: secretVariable('WEBCAPTURE_API_KEY', {
    minLength: 16,
    meaning:
      'An API key that works from the start, for trials. It belongs to the account `demo`, which is created with wide limits (1,000,000 tokens a month, 6,000 captures a minute, 100 in flight).',
  }),
  adminToken: secretVariable('WEBCAPTURE_ADMIN_TOKEN', {
    minLength: 16,
    meaning:
      'Bearer token of the `/admin` endpoints; use 32 random characters or more. Without it these endpoints answer 404.',
  }),
  signInCode: secretVariable('WEBCAPTURE_SIGN_IN_CODE', {
    minLength: 16,
    meaning:
      'A code that signs in to the dashboard with `WEBCAPTURE_API_KEY`: once, in the first ten minutes, and over a loopback connection only. `npm start` makes one and prints it in a link; leave it unset elsewhere.',
  }),
  homeRegion: choiceVariable('WEBCAPTURE_HOME_REGION', regions, {
    default: 'us-east',
    defaultText: 'the first of `WEBCAPTURE_REGIONS`',
    meaning: 'Region that captures with region `auto` go to while it has a free slot.',
  }),
  queueTimeout: integerVariable('WEBCAPTURE_QUEUE_TIMEOUT', {
    default: 60,
    min: 1,
    max: 300,
    unit: 'seconds',
    meaning:
      'How long a capture may wait for a renderer while its client waits. Background captures wait up to 24 hours.',
  }),
  minRefreshInterval: integerVariable('WEBCAPTURE_MIN_REFRESH_INTERVAL', {
    default: 3600,
    min: 1,
    max: maxLifetimeSeconds,
    unit: 'seconds',
    meaning: 'Minimum `persistence.refreshInterval` of a request.',
  }),
  persistenceDays: integerVariable('WEBCAPTURE_PERSISTENCE_DAYS', {
    default: 3650,
    min: 1,
    max: 36_500,
    unit: 'days',
    meaning: 'How long the files of captures with `persistence` are kept.',
  }),
  accountStoreShare: integerVariable('WEBCAPTURE_ACCOUNT_STORE_SHARE', {
    default: 25,
    min: 1,
    max: 100,
    unit: 'percent',
    meaning:
      'How much of `WEBCAPTURE_FILES_MAX_BYTES` one account may use: with its files and its HTML, or only with its HTML where files lie in a bucket. Without a maximum there is no share.',
  }),
  drainDelay: integerVariable('WEBCAPTURE_DRAIN_DELAY', {
    default: 0,
    min: 0,
    max: 60,
    unit: 'seconds',
    meaning:
      'How long a stopping front still accepts connections, each of which it closes after the response. The chart sets 5, so that load balancers have removed the front before.',
  }),
  trustProxy: choiceVariable('WEBCAPTURE_TRUST_PROXY', ['true', 'false'], {
    default: 'false',
    meaning:
      'Trust the headers `X-Forwarded-*` and `X-Request-Id` of all clients. Set it to `true` only behind a trusted proxy.',
  }),
  proxyHops: integerVariable('WEBCAPTURE_PROXY_HOPS', {
    default: 1,
    min: 1,
    max: 10,
    meaning:
      'With `WEBCAPTURE_TRUST_PROXY`: how many proxies add an address to `X-Forwarded-For`. Limits apply to the address that the first of them adds, which is the client. Set 2 behind a load balancer of Google Cloud, which adds its own address too.',
  }),
  maxConnectionsPerAddress: integerVariable('WEBCAPTURE_MAX_CONNECTIONS_PER_ADDRESS', {
    default: 256,
    min: 1,
    max: 100_000,
    meaning:
      'How many connections of one IPv4 address, or one /64 of IPv6, may be open without having carried a valid API key. Beyond that, the oldest that is idle or incomplete is closed. Not used with `WEBCAPTURE_TRUST_PROXY`.',
  }),
  corsOrigins: parsedVariable('WEBCAPTURE_CORS_ORIGINS', {
    type: 'origins, separated by commas, or `*`',
    default: '',
    parse: parseOrigins,
    meaning:
      'Origins, such as `https://app.example.com`, whose pages may call the API from a browser, with an API key. `*` allows every origin. See [calls from a browser](api.md#calls-from-a-browser).',
  }),
  gcsLinks: choiceVariable('WEBCAPTURE_GCS_LINKS', ['stream', 'signed'], {
    default: 'stream',
    meaning:
      '`stream`: the front sends the bytes of a file itself. `signed`: it redirects clients to a signed link of the bucket. See [storage](storage.md).',
  }),
  s3Links: choiceVariable('WEBCAPTURE_S3_LINKS', ['stream', 'signed'], {
    default: 'stream',
    meaning: 'As `WEBCAPTURE_GCS_LINKS`, for an S3 bucket.',
  }),
};

/** All variables that the front reads. */
export const frontVariables: readonly Variable[] = [
  ...Object.values(commonVariables),
  ...Object.values(addressVariables),
  ...Object.values(egressVariables),
  ...Object.values(storageVariables),
  ...Object.values(defaultLimitVariables),
  allowIgnoreTlsErrorsVariable,
  secretsVariable,
  ...Object.values(variables),
];

export type FrontConfig = Readonly<ReturnType<typeof readFrontConfig>>;

/** Throws a ConfigError that names all invalid variables. */
export function readFrontConfig(environment: Environment) {
  const env = new EnvReader(environment);
  const common = readCommonConfig(env, { opsPort: 9090 });
  const installed = common.regions.map(({ region }) => region);
  const port = addressVariables.port.read(env);
  const { publicUrl, cdnUrl } = readAddresses(env, port);
  const homeRegion = variables.homeRegion.read(env, installed[0]);
  if (installed.length > 0 && !installed.includes(homeRegion)) {
    env.problem('WEBCAPTURE_HOME_REGION', `must be one of WEBCAPTURE_REGIONS, not ${homeRegion}`);
  }
  return env.finish(() => {
    const storage = readStorage(env);
    return {
      ...common,
      storage,
      signedLinks: readSignedLinks(env, storage),
      host: variables.host.read(env),
      port,
      /** Address of the front for clients, without a slash at its end. */
      publicUrl,
      /** Files are at `<cdnUrl>/<name>`. */
      cdnUrl,
      /** API key of the account `demo`. */
      presetKey: variables.presetKey.read(env),
      /** One-time code for the preset key. */
      signInCode: variables.signInCode.read(env),
      /** If undefined, the admin endpoints are disabled. */
      adminToken: variables.adminToken.read(env),
      /** Default limits of accounts. */
      defaultLimits: readDefaultLimits(env),
      /** Whether the captures of accounts with the permission may ignore TLS errors. */
      allowIgnoreTlsErrors: allowIgnoreTlsErrorsVariable.read(env) === 'true',
      homeRegion,
      /** CIDR ranges that captures may access in addition; the denied ranges override all other rules. */
      egressAllow: readEgressAllow(env),
      egressDeny: readEgressDeny(env),
      queueTimeoutMs: 1000 * variables.queueTimeout.read(env),
      /** Keys that seal the secrets of captures; the first one is used for new secrets. If undefined, secrets cannot be stored. */
      secretsKeys: secretsVariable.read(env),
      minRefreshSeconds: variables.minRefreshInterval.read(env),
      persistenceSeconds: 86_400 * variables.persistenceDays.read(env),
      /** Percent of the store in NATS that one account may use. */
      accountStoreShare: variables.accountStoreShare.read(env),
      drainDelayMs: 1000 * variables.drainDelay.read(env),
      trustProxy: variables.trustProxy.read(env) === 'true',
      /** Number of trusted proxies that append the client's address. */
      proxyHops: variables.proxyHops.read(env),
      maxConnectionsPerAddress: variables.maxConnectionsPerAddress.read(env),
      /** Origins whose pages may call the API; `*` for every origin. */
      corsOrigins: variables.corsOrigins.read(env),
    };
  });
}

/**
 * Maximum time that a front takes to stop, in milliseconds. Captures with waiting clients are completed: the last one is accepted at the
 * end of the delay, waits for a renderer, and may then take as long as the longest capture.
 */
export function drainMsOf({ drainDelayMs, queueTimeoutMs }: FrontConfig): number {
  return drainDelayMs + queueTimeoutMs + 210_000;
}

function readSignedLinks(env: EnvReader, { bucket }: StorageConfig): boolean {
  const [gcs, s3] = [variables.gcsLinks, variables.s3Links].map((variable) => variable.read(env) === 'signed');
  const isOfS3 = bucket !== undefined && isS3(bucket);
  if (gcs === true && (bucket === undefined || isOfS3))
    env.problem('WEBCAPTURE_GCS_LINKS', 'needs WEBCAPTURE_GCS_BUCKET');
  if (s3 === true && !isOfS3) env.problem('WEBCAPTURE_S3_LINKS', 'needs WEBCAPTURE_S3_BUCKET');
  if (gcs === true && bucket?.endpoint !== undefined) {
    env.problem(
      'WEBCAPTURE_GCS_LINKS',
      'cannot be used with WEBCAPTURE_GCS_ENDPOINT: an emulator supports no signatures',
    );
  }
  return gcs === true || s3 === true;
}
