import { expect, test } from 'vitest';
import { readControllerConfig } from '../../../services/controller/config.ts';

test('the defaults are those of a laptop', () => {
  const config = readControllerConfig({});
  expect(config).toMatchObject({
    ops: { port: 9092 },
    canaryIntervalMs: 60_000,
    streams: {
      replicas: 1,
      maxBytes: { db: -1, live: -1, cache: 268_435_456, captures: -1, dead: 67_108_864, files: -1 },
    },
  });
  expect([config, config.streams, config.streams.maxBytes].every((part) => Object.isFrozen(part))).toBe(true);
});

test('every variable is read', () => {
  const config = readControllerConfig({
    WEBCAPTURE_NATS_REPLICAS: '3',
    WEBCAPTURE_FILES_MAX_BYTES: '1073741824',
    WEBCAPTURE_CACHE_MAX_BYTES: '2097152',
    WEBCAPTURE_CANARY_INTERVAL: '0',
    WEBCAPTURE_REGIONS: 'us-east:0',
  });
  expect(config.streams).toMatchObject({ replicas: 3, maxBytes: { files: 1_073_741_824, cache: 2_097_152 } });
  expect(config.canaryIntervalMs).toBe(0);
  expect(config.regions).toEqual([{ region: 'us-east', minRenderers: 0 }]);
});

test('every bad value is named at once', () => {
  const read = () =>
    readControllerConfig({
      WEBCAPTURE_NATS_REPLICAS: '2',
      WEBCAPTURE_FILES_MAX_BYTES: '0',
      WEBCAPTURE_DB_MAX_BYTES: '-2',
      WEBCAPTURE_CANARY_INTERVAL: 'often',
    });
  for (const name of ['NATS_REPLICAS', 'FILES_MAX_BYTES', 'DB_MAX_BYTES', 'CANARY_INTERVAL']) {
    expect(read).toThrow(`WEBCAPTURE_${name} must be`);
  }
});
