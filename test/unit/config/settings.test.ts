import { describe, expect, test } from 'vitest';
import { readControllerConfig } from '../../../services/controller/config.ts';
import { readFrontConfig } from '../../../services/front/config.ts';
import { readRendererConfig } from '../../../services/renderer/config.ts';
import { streamConfigs } from '../../../services/controller/streams.ts';

type Environment = Readonly<Record<string, string>>;

const front = (environment: Environment) => readFrontConfig(environment);
const renderer = (environment: Environment) => readRendererConfig({ WEBCAPTURE_SLOTS: '2', ...environment });
const controller = (environment: Environment) => readControllerConfig(environment);

/** Fronts and controllers must read the same limits from these variables. */
const limitsOf = (environment: Environment) => {
  const { defaultLimits } = front(environment);
  expect(controller(environment).defaultLimits).toEqual(defaultLimits);
  return defaultLimits;
};

test('the burst of an account defaults to its rate', () => {
  expect(limitsOf({ WEBCAPTURE_DEFAULT_RATE_PER_MINUTE: '7' })).toMatchObject({ ratePerMinute: 7, burst: 7 });
});

test('the memory limit of a browser grows linearly with the number of slots', () => {
  const bytes = (slots: number) => renderer({ WEBCAPTURE_SLOTS: `${slots}` }).browserMemoryBytes;
  expect(bytes(2)).toBeGreaterThan(bytes(1));
  expect(bytes(10) - bytes(1)).toBe(9 * (bytes(2) - bytes(1)));
});

test.each([
  ['WEBCAPTURE_QUEUE_TIMEOUT', front, '0'],
  ['WEBCAPTURE_NATS_REPLICAS', controller, '2'],
  ['WEBCAPTURE_SLOTS', renderer, 'many'],
] as const)('%s outside its range stops the start', (variable, read, text) => {
  expect(() => read({ [variable]: text })).toThrow(`${variable} must be`);
});

describe('links of a private bucket', () => {
  const bucket = { WEBCAPTURE_GCS_BUCKET: 'my-captures' };

  test('are served by the front unless it is configured to sign them', () => {
    expect(front({}).signedLinks).toBe(false);
    expect(front(bucket).signedLinks).toBe(false);
    expect(front({ ...bucket, WEBCAPTURE_GCS_LINKS: 'stream' }).signedLinks).toBe(false);
    expect(front({ ...bucket, WEBCAPTURE_GCS_LINKS: 'signed' }).signedLinks).toBe(true);
  });

  test.each([
    [{ ...bucket, WEBCAPTURE_GCS_LINKS: 'public' }, 'WEBCAPTURE_GCS_LINKS must be one of stream, signed'],
    [{ WEBCAPTURE_GCS_LINKS: 'signed' }, 'WEBCAPTURE_GCS_LINKS needs WEBCAPTURE_GCS_BUCKET'],
    [
      { ...bucket, WEBCAPTURE_GCS_LINKS: 'signed', WEBCAPTURE_GCS_ENDPOINT: 'http://127.0.0.1:4443' },
      'WEBCAPTURE_GCS_LINKS cannot be used with WEBCAPTURE_GCS_ENDPOINT',
    ],
  ])('%j stops the start', (environment, message) => {
    expect(() => front(environment)).toThrow(message);
  });
});

describe('the size limits of streams', () => {
  const streams = {
    WEBCAPTURE_DB_MAX_BYTES: 'KV_db',
    WEBCAPTURE_LIVE_MAX_BYTES: 'KV_live',
    WEBCAPTURE_CACHE_MAX_BYTES: 'KV_cache',
    WEBCAPTURE_CAPTURES_MAX_BYTES: 'CAPTURES',
    WEBCAPTURE_RESULTS_MAX_BYTES: 'RESULTS',
    WEBCAPTURE_TASKS_MAX_BYTES: 'TASKS',
    WEBCAPTURE_EXPIRY_MAX_BYTES: 'EXPIRY',
    WEBCAPTURE_DEAD_MAX_BYTES: 'DEAD',
    WEBCAPTURE_FILES_MAX_BYTES: 'FILES',
  };
  const bytesOf = (environment: Environment) =>
    Object.fromEntries(
      streamConfigs(controller(environment).streams).map(({ name, max_bytes: bytes }) => [name, bytes]),
    );

  test.each(Object.entries(streams))('%s sets the limit of one stream', (variable, stream) => {
    const others = bytesOf({});
    expect(bytesOf({ [variable]: '1048576' })).toEqual({ ...others, [stream]: 1_048_576 });
    expect(bytesOf({ [variable]: '-1' })).toEqual({ ...others, [stream]: -1 });
    for (const text of ['0', '1048575', '-2'])
      expect(() => bytesOf({ [variable]: text })).toThrow(`${variable} must be`);
  });
});
