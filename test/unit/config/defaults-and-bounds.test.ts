import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { describe, expect, test } from 'vitest';
import { readControllerConfig } from '../../../services/controller/config.ts';
import { readFrontConfig } from '../../../services/front/config.ts';
import { readRendererConfig } from '../../../services/renderer/config.ts';
import { streamConfigs } from '../../../services/controller/streams.ts';

type Environment = Readonly<Record<string, string>>;

/** What a number of the environment means: all figures are written out, none is the product's own. */
interface Setting {
  readonly variable: string;
  readonly read: (environment: Environment) => unknown;
  /** What the list of variables says it is unless it is set. */
  readonly told: string;
  readonly byDefault: number;
  /** The least and the most that may be set, each with what it means. */
  readonly least: readonly [text: string, value: number];
  readonly most: readonly [text: string, value: number];
  /** What is refused: beyond the bounds. */
  readonly refused: readonly string[];
}

const front = (environment: Environment) => readFrontConfig(environment);
const renderer = (environment: Environment) => readRendererConfig({ WEBCAPTURE_SLOTS: '2', ...environment });
const controller = (environment: Environment) => readControllerConfig(environment);

/** Fronts and controllers must read the same of these. */
const limitsOf = (environment: Environment) => {
  const { defaultLimits } = front(environment);
  expect(controller(environment).defaultLimits).toEqual(defaultLimits);
  return defaultLimits;
};

const settings: readonly Setting[] = [
  {
    variable: 'WEBCAPTURE_PERSISTENCE_DAYS',
    read: (environment) => front(environment).persistenceSeconds,
    told: '`3650`',
    byDefault: 315_360_000,
    least: ['1', 86_400],
    most: ['36500', 3_153_600_000],
    refused: ['0', '36501', '1.5', 'ever'],
  },
  {
    variable: 'WEBCAPTURE_QUEUE_TIMEOUT',
    read: (environment) => front(environment).queueTimeoutMs,
    told: '`60`',
    byDefault: 60_000,
    least: ['1', 1000],
    most: ['300', 300_000],
    refused: ['0', '301'],
  },
  {
    variable: 'WEBCAPTURE_DRAIN_DELAY',
    read: (environment) => front(environment).drainDelayMs,
    told: '`0`',
    byDefault: 0,
    least: ['0', 0],
    most: ['60', 60_000],
    refused: ['-1', '61'],
  },
  {
    variable: 'WEBCAPTURE_PROXY_HOPS',
    read: (environment) => front(environment).proxyHops,
    told: '`1`',
    byDefault: 1,
    least: ['1', 1],
    most: ['10', 10],
    refused: ['0', '11'],
  },
  {
    variable: 'WEBCAPTURE_MAX_CONNECTIONS_PER_ADDRESS',
    read: (environment) => front(environment).maxConnectionsPerAddress,
    told: '`256`',
    byDefault: 256,
    least: ['1', 1],
    most: ['100000', 100_000],
    refused: ['0', '100001'],
  },
  {
    variable: 'WEBCAPTURE_MIN_REFRESH_INTERVAL',
    read: (environment) => front(environment).minRefreshSeconds,
    told: '`3600`',
    byDefault: 3600,
    least: ['1', 1],
    most: ['2592000', 2_592_000],
    refused: ['0', '2592001'],
  },
  {
    variable: 'WEBCAPTURE_DEFAULT_TOKEN_QUOTA',
    read: (environment) => limitsOf(environment).tokenQuota,
    told: '`100000`',
    byDefault: 100_000,
    least: ['0', 0],
    most: ['1000000000000', 1_000_000_000_000],
    refused: ['-1', '1000000000001'],
  },
  {
    variable: 'WEBCAPTURE_DEFAULT_RATE_PER_MINUTE',
    read: (environment) => limitsOf(environment).ratePerMinute,
    told: '`120`',
    byDefault: 120,
    least: ['1', 1],
    most: ['1000000', 1_000_000],
    refused: ['0', '1000001'],
  },
  {
    variable: 'WEBCAPTURE_DEFAULT_BURST',
    read: (environment) => limitsOf(environment).burst,
    told: '`WEBCAPTURE_DEFAULT_RATE_PER_MINUTE`',
    byDefault: 120,
    least: ['1', 1],
    most: ['1000000', 1_000_000],
    refused: ['0', '1000001'],
  },
  {
    variable: 'WEBCAPTURE_DEFAULT_MAX_IN_FLIGHT',
    read: (environment) => limitsOf(environment).maxInFlight,
    told: '`20`',
    byDefault: 20,
    least: ['1', 1],
    most: ['1000000', 1_000_000],
    refused: ['0', '1000001'],
  },
  {
    variable: 'WEBCAPTURE_DEFAULT_MAX_QUEUED',
    read: (environment) => limitsOf(environment).maxQueued,
    told: '`10000`',
    byDefault: 10_000,
    least: ['0', 0],
    most: ['10000000', 10_000_000],
    refused: ['-1', '10000001'],
  },
  {
    variable: 'WEBCAPTURE_SLOTS',
    read: (environment) => readRendererConfig(environment).slots,
    told: 'the number of CPU cores',
    byDefault: availableParallelism(),
    least: ['1', 1],
    most: ['64', 64],
    refused: ['0', '65'],
  },
  {
    variable: 'WEBCAPTURE_CAPTURES_PER_BROWSER',
    read: (environment) => renderer(environment).capturesPerBrowser,
    told: '`200`',
    byDefault: 200,
    least: ['1', 1],
    most: ['100000', 100_000],
    refused: ['0', '100001'],
  },
  {
    variable: 'WEBCAPTURE_BROWSER_MEMORY_MB',
    read: (environment) => renderer(environment).browserMemoryBytes,
    told: '1024 + 400 × `WEBCAPTURE_SLOTS`',
    // Of two slots: 1,824 MiB.
    byDefault: 1_912_602_624,
    least: ['256', 268_435_456],
    most: ['1048576', 1_099_511_627_776],
    refused: ['255', '1048577'],
  },
  {
    variable: 'WEBCAPTURE_PAGE_MEMORY_MB',
    read: (environment) => renderer(environment).captureLimits.pageBytes,
    told: '`768`',
    byDefault: 805_306_368,
    least: ['64', 67_108_864],
    most: ['1048576', 1_099_511_627_776],
    refused: ['63', '1048577'],
  },
  {
    variable: 'WEBCAPTURE_CAPTURE_MEMORY_MB',
    read: (environment) => renderer(environment).captureLimits.memoryBytes,
    told: '`1024`',
    byDefault: 1_073_741_824,
    least: ['256', 268_435_456],
    most: ['1048576', 1_099_511_627_776],
    refused: ['255', '1048577'],
  },
  {
    variable: 'WEBCAPTURE_CAPTURE_CPU_SECONDS',
    read: (environment) => renderer(environment).captureLimits.cpuMs,
    told: '`60`',
    byDefault: 60_000,
    least: ['5', 5000],
    most: ['3600', 3_600_000],
    refused: ['4', '3601'],
  },
  {
    variable: 'WEBCAPTURE_CAPTURE_DISK_MB',
    read: (environment) => renderer(environment).captureLimits.diskBytes,
    told: '`256`',
    byDefault: 268_435_456,
    least: ['16', 16_777_216],
    most: ['1048576', 1_099_511_627_776],
    refused: ['15', '1048577'],
  },
  {
    variable: 'WEBCAPTURE_CAPTURE_PROCESSES',
    read: (environment) => renderer(environment).captureLimits.processes,
    told: '`1000`',
    byDefault: 1000,
    least: ['200', 200],
    most: ['1000000', 1_000_000],
    refused: ['199', '1000001'],
  },
  {
    variable: 'WEBCAPTURE_CAPTURE_DESCRIPTORS',
    read: (environment) => renderer(environment).captureLimits.descriptors,
    told: '`5000`',
    byDefault: 5000,
    least: ['500', 500],
    most: ['1000000', 1_000_000],
    refused: ['499', '1000001'],
  },
  {
    variable: 'WEBCAPTURE_CAPTURE_MESSAGES',
    read: (environment) => renderer(environment).captureLimits.messages,
    told: '`100000`',
    byDefault: 100_000,
    least: ['1000', 1000],
    most: ['1000000000', 1_000_000_000],
    refused: ['999', '1000000001'],
  },
  {
    variable: 'WEBCAPTURE_CAPTURE_DOWNLOAD_MB',
    read: (environment) => renderer(environment).downloadBytes,
    told: '`512`',
    byDefault: 536_870_912,
    least: ['1', 1_048_576],
    most: ['1048576', 1_099_511_627_776],
    refused: ['0', '1048577'],
  },
  {
    variable: 'WEBCAPTURE_NATS_REPLICAS',
    read: (environment) => controller(environment).streams.replicas,
    told: '`1`',
    byDefault: 1,
    least: ['1', 1],
    most: ['3', 3],
    refused: ['0', '2', '5'],
  },
  {
    variable: 'WEBCAPTURE_CANARY_INTERVAL',
    read: (environment) => controller(environment).canaryIntervalMs,
    told: '`60`',
    byDefault: 60_000,
    least: ['0', 0],
    most: ['86400', 86_400_000],
    refused: ['-1', '86401'],
  },
  {
    variable: 'WEBCAPTURE_RECONCILE_INTERVAL',
    read: (environment) => controller(environment).reconcileIntervalMs,
    told: '`86400`',
    byDefault: 86_400_000,
    least: ['3600', 3_600_000],
    most: ['2592000', 2_592_000_000],
    refused: ['1', '3599', '2592001', '-1'],
  },
];

const page = await readFile(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');

/** What the list of variables says that a variable is by default. */
function toldOf(variable: string): string | undefined {
  const row = page.split('\n').find((line) => line.startsWith(`| \`${variable}\` |`));
  return row?.split('|')[3]?.trim();
}

describe.each(settings)('$variable', ({ variable, read, told, byDefault, least, most, refused }) => {
  test('is by default what the list of variables says', () => {
    expect(read({})).toBe(byDefault);
    expect(read({ [variable]: '  ' })).toBe(byDefault);
    expect(toldOf(variable)).toBe(told);
  });

  test.each([least, most])('%s means %d', (text, value) => {
    expect(read({ [variable]: text })).toBe(value);
  });

  test.each(refused)('%s stops the start', (text) => {
    expect(() => read({ [variable]: text })).toThrow(`${variable} must be`);
  });
});

test('0 turns the comparison of files and records off', () => {
  expect(controller({ WEBCAPTURE_RECONCILE_INTERVAL: '0' }).reconcileIntervalMs).toBe(0);
});

test('the burst of an account follows its rate', () => {
  expect(limitsOf({ WEBCAPTURE_DEFAULT_RATE_PER_MINUTE: '7' })).toMatchObject({ ratePerMinute: 7, burst: 7 });
});

test('what a browser may hold grows by 400 MiB a slot', () => {
  expect(renderer({ WEBCAPTURE_SLOTS: '1' }).browserMemoryBytes).toBe(1_493_172_224);
  expect(renderer({ WEBCAPTURE_SLOTS: '10' }).browserMemoryBytes).toBe(5_268_045_824);
});

describe('links of a private bucket', () => {
  const bucket = { WEBCAPTURE_GCS_BUCKET: 'my-captures' };

  test('are streamed by the front unless it is told to sign them', () => {
    expect(front({}).signedLinks).toBe(false);
    expect(front(bucket).signedLinks).toBe(false);
    expect(front({ ...bucket, WEBCAPTURE_GCS_LINKS: 'stream' }).signedLinks).toBe(false);
    expect(front({ ...bucket, WEBCAPTURE_GCS_LINKS: 'signed' }).signedLinks).toBe(true);
    expect(toldOf('WEBCAPTURE_GCS_LINKS')).toBe('`stream`');
  });

  test.each([
    [{ ...bucket, WEBCAPTURE_GCS_LINKS: 'public' }, 'WEBCAPTURE_GCS_LINKS must be one of stream, signed'],
    [{ WEBCAPTURE_GCS_LINKS: 'signed' }, 'WEBCAPTURE_GCS_LINKS needs WEBCAPTURE_GCS_BUCKET beside it'],
    [
      { ...bucket, WEBCAPTURE_GCS_LINKS: 'signed', WEBCAPTURE_GCS_ENDPOINT: 'http://127.0.0.1:4443' },
      'WEBCAPTURE_GCS_LINKS cannot be signed beside WEBCAPTURE_GCS_ENDPOINT',
    ],
  ])('%j stops the start', (environment, message) => {
    expect(() => front(environment)).toThrow(message);
  });
});

describe('the most that a stream may hold', () => {
  const streams: Readonly<Record<string, readonly [stream: string, byDefault: number]>> = {
    WEBCAPTURE_DB_MAX_BYTES: ['KV_db', -1],
    WEBCAPTURE_LIVE_MAX_BYTES: ['KV_live', -1],
    WEBCAPTURE_CACHE_MAX_BYTES: ['KV_cache', 268_435_456],
    WEBCAPTURE_CAPTURES_MAX_BYTES: ['CAPTURES', -1],
    WEBCAPTURE_RESULTS_MAX_BYTES: ['RESULTS', -1],
    WEBCAPTURE_TASKS_MAX_BYTES: ['TASKS', -1],
    WEBCAPTURE_EXPIRY_MAX_BYTES: ['EXPIRY', -1],
    WEBCAPTURE_DEAD_MAX_BYTES: ['DEAD', 67_108_864],
    WEBCAPTURE_FILES_MAX_BYTES: ['FILES', -1],
  };
  const bytesOf = (environment: Environment) =>
    Object.fromEntries(
      streamConfigs(controller(environment).streams).map(({ name, max_bytes: bytes }) => [name, bytes]),
    );

  test('has the defaults that the list of variables names', () => {
    expect(bytesOf({})).toEqual(Object.fromEntries(Object.values(streams)));
    const texts = { [-1]: 'no limit', 268_435_456: '256 MiB', 67_108_864: '64 MiB' };
    for (const [variable, [, bytes]] of Object.entries(streams)) {
      expect([variable, toldOf(variable)]).toEqual([variable, texts[bytes as keyof typeof texts]]);
    }
  });

  test.each(Object.entries(streams))('%s is that of its stream alone', (variable, [stream]) => {
    const others = Object.fromEntries(Object.values(streams));
    expect(bytesOf({ [variable]: '1048576' })).toEqual({ ...others, [stream]: 1_048_576 });
    expect(bytesOf({ [variable]: '-1' })).toEqual({ ...others, [stream]: -1 });
    for (const text of ['0', '1048575', '-2'])
      expect(() => bytesOf({ [variable]: text })).toThrow(`${variable} must be`);
  });
});
