import { expect, test } from 'vitest';
import { anyAddress } from '@webcapture/shared/runtime/listen-address.ts';
import { readFrontConfig } from '../../../services/front/config.ts';

test('the front has a default for every variable', () => {
  expect(readFrontConfig({})).toMatchObject({
    host: anyAddress,
    port: 3000,
    publicUrl: 'http://localhost:3000',
    cdnUrl: 'http://localhost:3000/files',
    presetKey: undefined,
    adminToken: undefined,
    defaultLimits: { tokenQuota: 100_000, ratePerMinute: 120, burst: 120, maxInFlight: 20, maxQueued: 10_000 },
    homeRegion: 'us-east',
    egressAllow: [],
    egressDeny: [],
    queueTimeoutMs: 60_000,
    minRefreshSeconds: 3600,
    trustProxy: false,
    ops: { host: anyAddress, port: 9090 },
  });
});

test('the front reads every variable', () => {
  expect(
    readFrontConfig({
      PORT: '8080',
      WEBCAPTURE_PUBLIC_URL: 'https://capture.example/api/',
      WEBCAPTURE_REGIONS: 'eu-west:2,us-east:0',
      WEBCAPTURE_EGRESS_ALLOW: ' 127.0.0.0/8, ::1 ',
      WEBCAPTURE_EGRESS_DENY: '127.0.0.7,93.184.0.0/16',
      WEBCAPTURE_QUEUE_TIMEOUT: '300',
      WEBCAPTURE_API_KEY: '0123456789abcdef',
      WEBCAPTURE_TRUST_PROXY: 'true',
      WEBCAPTURE_ADMIN_TOKEN: 'the-admin-token-',
      WEBCAPTURE_DEFAULT_RATE_PER_MINUTE: '7',
      WEBCAPTURE_DEFAULT_TOKEN_QUOTA: '0',
    }),
  ).toMatchObject({
    port: 8080,
    publicUrl: 'https://capture.example/api',
    cdnUrl: 'https://capture.example/api/files',
    homeRegion: 'eu-west',
    egressAllow: ['127.0.0.0/8', '::1'],
    egressDeny: ['127.0.0.7', '93.184.0.0/16'],
    queueTimeoutMs: 300_000,
    presetKey: '0123456789abcdef',
    trustProxy: true,
    adminToken: 'the-admin-token-',
    defaultLimits: { tokenQuota: 0, ratePerMinute: 7, burst: 7 },
  });
});

test.each([
  [{ WEBCAPTURE_QUEUE_TIMEOUT: '0' }, 'WEBCAPTURE_QUEUE_TIMEOUT must be an integer from 1 to 300'],
  [{ WEBCAPTURE_QUEUE_TIMEOUT: '301' }, 'WEBCAPTURE_QUEUE_TIMEOUT'],
  [{ WEBCAPTURE_API_KEY: 'tooshort' }, 'WEBCAPTURE_API_KEY must have at least 16 characters'],
  [{ WEBCAPTURE_ADMIN_TOKEN: 'fifteen-letters' }, 'WEBCAPTURE_ADMIN_TOKEN must have at least 16 characters'],
  [{ WEBCAPTURE_HOME_REGION: 'asia-east' }, 'WEBCAPTURE_HOME_REGION must be one of WEBCAPTURE_REGIONS, not asia-east'],
  [{ WEBCAPTURE_HOME_REGION: 'mars' }, 'WEBCAPTURE_HOME_REGION'],
  [{ WEBCAPTURE_EGRESS_ALLOW: '10.0.0.0/33' }, 'WEBCAPTURE_EGRESS_ALLOW'],
  [
    { WEBCAPTURE_EGRESS_DENY: '10.1.2.3/8' },
    'WEBCAPTURE_EGRESS_DENY "10.1.2.3/8" has bits set beyond its prefix: write 10.0.0.0/8 or 10.1.2.3/32',
  ],
  [{ WEBCAPTURE_PUBLIC_URL: 'example.com' }, 'WEBCAPTURE_PUBLIC_URL must be an absolute http or https address'],
  [{ WEBCAPTURE_CDN_URL: 'ftp://x' }, 'WEBCAPTURE_CDN_URL'],
  [{ WEBCAPTURE_TRUST_PROXY: 'yes' }, 'WEBCAPTURE_TRUST_PROXY must be one of true, false'],
  [{ WEBCAPTURE_DEFAULT_RATE_PER_MINUTE: '0' }, 'WEBCAPTURE_DEFAULT_RATE_PER_MINUTE must be an integer from 1'],
  [{ WEBCAPTURE_DEFAULT_TOKEN_QUOTA: '-1' }, 'WEBCAPTURE_DEFAULT_TOKEN_QUOTA'],
  [{ WEBCAPTURE_DEFAULT_BURST: '1.5' }, 'WEBCAPTURE_DEFAULT_BURST'],
  [{ WEBCAPTURE_DEFAULT_MAX_IN_FLIGHT: '0' }, 'WEBCAPTURE_DEFAULT_MAX_IN_FLIGHT'],
  [{ WEBCAPTURE_DEFAULT_MAX_QUEUED: 'many' }, 'WEBCAPTURE_DEFAULT_MAX_QUEUED'],
  [{ PORT: 'eighty' }, 'PORT'],
])('%j stops the start', (environment, message) => {
  expect(() => readFrontConfig(environment)).toThrow(message);
});

test('an error message never contains a key', () => {
  expect(() => readFrontConfig({ WEBCAPTURE_API_KEY: 'secret', PORT: 'x' })).toThrow(/^(?!.*secret)/s);
});
