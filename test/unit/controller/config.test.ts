import { describe, expect, test } from 'vitest';
import { readControllerConfig } from '../../../services/controller/config.ts';

test('the defaults suit a single machine', () => {
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

test('every variable sets its field', () => {
  const config = readControllerConfig({
    WEBCAPTURE_NATS_REPLICAS: '3',
    WEBCAPTURE_FILES_MAX_BYTES: '1073741824',
    WEBCAPTURE_CACHE_MAX_BYTES: '2097152',
    WEBCAPTURE_CANARY_INTERVAL: '0',
    WEBCAPTURE_REGIONS: 'us-east:0',
    WEBCAPTURE_BACKGROUND_SLOTS: 'us-east:6, eu-west:7.5',
  });
  expect(config.streams).toMatchObject({ replicas: 3, maxBytes: { files: 1_073_741_824, cache: 2_097_152 } });
  expect(config.canaryIntervalMs).toBe(0);
  expect(config.regions).toEqual([{ region: 'us-east', minRenderers: 0 }]);
  expect([...config.backgroundSlots]).toEqual([
    ['us-east', 6],
    ['eu-west', 7.5],
  ]);
});

test('one error names all invalid values', () => {
  const read = () =>
    readControllerConfig({
      WEBCAPTURE_NATS_REPLICAS: '2',
      WEBCAPTURE_FILES_MAX_BYTES: '0',
      WEBCAPTURE_DB_MAX_BYTES: '-2',
      WEBCAPTURE_BACKGROUND_SLOTS: 'mars:1',
      WEBCAPTURE_CANARY_INTERVAL: 'often',
    });
  for (const name of ['NATS_REPLICAS', 'FILES_MAX_BYTES', 'DB_MAX_BYTES', 'BACKGROUND_SLOTS', 'CANARY_INTERVAL']) {
    expect(read).toThrow(`WEBCAPTURE_${name} must be`);
  }
});

describe('access to Kubernetes', () => {
  const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '6443', WEBCAPTURE_RELEASE: 'prod' };
  const inPod = {
    access: { host: '10.0.0.1', port: '6443', accountDir: '/var/run/secrets/kubernetes.io/serviceaccount' },
    namespace: undefined,
    release: 'prod',
    lease: 'webcapture-controller',
    deletionCosts: true,
  };
  const file = { KUBECONFIG: '/a:/b', WEBCAPTURE_RELEASE: 'prod' };

  test.each([
    ['is off outside Kubernetes', {}, null],
    ['is on in a pod of a release', pod, inPod],
    ['is off in another pod, as when `npm start` runs there', { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, null],
    ['is off in a pod with WEBCAPTURE_KUBERNETES=off', { ...pod, WEBCAPTURE_KUBERNETES: 'off' }, null],
    ['is off with a kubeconfig that is not requested', file, null],
    [
      'is on with a kubeconfig that is requested',
      { ...file, WEBCAPTURE_KUBERNETES: 'on', WEBCAPTURE_NAMESPACE: 'shots', WEBCAPTURE_LEASE: 'prod-controller' },
      {
        access: { kubeconfig: ['/a', '/b'] },
        namespace: 'shots',
        release: 'prod',
        lease: 'prod-controller',
        deletionCosts: true,
      },
    ],
  ] as const)('%s', (_, env, settings) => {
    expect(readControllerConfig(env).kubernetes).toEqual(settings);
  });

  test.each([
    [{ WEBCAPTURE_KUBERNETES: 'on', WEBCAPTURE_RELEASE: 'x' }, 'WEBCAPTURE_KUBERNETES is on, but this is no pod'],
    [{ KUBECONFIG: '/a', WEBCAPTURE_KUBERNETES: 'on' }, 'WEBCAPTURE_RELEASE must be set'],
    [{ WEBCAPTURE_KUBERNETES: 'maybe' }, 'WEBCAPTURE_KUBERNETES must be one of auto, on, off'],
    [{ ...pod, WEBCAPTURE_LEASE: 'A b' }, 'WEBCAPTURE_LEASE must be a valid Kubernetes name, not "A b"'],
    [{ ...pod, WEBCAPTURE_NAMESPACE: '-x' }, 'WEBCAPTURE_NAMESPACE must be a valid Kubernetes name'],
  ] as const)('is refused with %j', (env, message) => {
    expect(() => readControllerConfig(env)).toThrow(message);
  });
});
