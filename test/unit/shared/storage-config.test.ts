import { expect, test } from 'vitest';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';
import { readStorage } from '@webcapture/shared/runtime/config.ts';

function read(environment: Record<string, string>) {
  const env = new EnvReader(environment);
  return env.finish(() => readStorage(env));
}

test('files are stored in NATS if no bucket is configured', () => {
  expect(read({})).toEqual({ bucket: undefined });
  expect(read({ WEBCAPTURE_GCS_BUCKET: '' })).toEqual({ bucket: undefined });
});

test('a bucket is in Google Cloud Storage unless WEBCAPTURE_GCS_ENDPOINT names another server', () => {
  expect(read({ WEBCAPTURE_GCS_BUCKET: 'my-captures' })).toEqual({ bucket: { bucket: 'my-captures', prefix: '' } });
  const all = {
    WEBCAPTURE_GCS_BUCKET: 'my.captures_1',
    WEBCAPTURE_GCS_PREFIX: 'a/captures/',
    WEBCAPTURE_GCS_ENDPOINT: 'http://127.0.0.1:4443/',
    WEBCAPTURE_GCS_PROJECT: 'my-project',
  };
  expect(read(all)).toEqual({
    bucket: {
      bucket: 'my.captures_1',
      prefix: 'a/captures/',
      endpoint: 'http://127.0.0.1:4443',
      project: 'my-project',
    },
  });
});

test('a bucket of S3 has a region, and may be on another server', () => {
  expect(read({ WEBCAPTURE_S3_BUCKET: 'my-captures' })).toEqual({
    bucket: { bucket: 'my-captures', prefix: '', region: 'us-east-1' },
  });
  const all = {
    WEBCAPTURE_S3_BUCKET: 'my-captures',
    WEBCAPTURE_S3_PREFIX: 'captures/',
    WEBCAPTURE_S3_REGION: 'eu-west-1',
    WEBCAPTURE_S3_ENDPOINT: 'http://127.0.0.1:7070/',
  };
  expect(read(all)).toEqual({
    bucket: { bucket: 'my-captures', prefix: 'captures/', region: 'eu-west-1', endpoint: 'http://127.0.0.1:7070' },
  });
});

test.each([
  [
    { WEBCAPTURE_GCS_BUCKET: 'bbb', WEBCAPTURE_S3_BUCKET: 'ccc' },
    'WEBCAPTURE_S3_BUCKET must not be set together with WEBCAPTURE_GCS_BUCKET',
  ],
  [{ WEBCAPTURE_S3_PREFIX: 'captures/' }, 'WEBCAPTURE_S3_PREFIX needs WEBCAPTURE_S3_BUCKET'],
  [{ WEBCAPTURE_S3_ENDPOINT: 'http://x' }, 'WEBCAPTURE_S3_ENDPOINT needs WEBCAPTURE_S3_BUCKET'],
  [{ WEBCAPTURE_S3_BUCKET: 's3://b' }, 'WEBCAPTURE_S3_BUCKET must be the name of a bucket'],
  [{ WEBCAPTURE_GCS_PREFIX: 'captures/' }, 'WEBCAPTURE_GCS_PREFIX needs WEBCAPTURE_GCS_BUCKET'],
  [{ WEBCAPTURE_GCS_ENDPOINT: 'http://x' }, 'WEBCAPTURE_GCS_ENDPOINT needs WEBCAPTURE_GCS_BUCKET'],
  [{ WEBCAPTURE_GCS_PROJECT: 'p' }, 'WEBCAPTURE_GCS_PROJECT needs WEBCAPTURE_GCS_BUCKET'],
  [{ WEBCAPTURE_GCS_BUCKET: 'gs://b' }, 'WEBCAPTURE_GCS_BUCKET must be the name of a bucket'],
  [{ WEBCAPTURE_GCS_BUCKET: 'bbb', WEBCAPTURE_GCS_PREFIX: 'captures' }, 'WEBCAPTURE_GCS_PREFIX must be like captures/'],
  [
    { WEBCAPTURE_GCS_BUCKET: 'bbb', WEBCAPTURE_GCS_PREFIX: '/captures/' },
    'WEBCAPTURE_GCS_PREFIX must be like captures/',
  ],
  [{ WEBCAPTURE_GCS_BUCKET: 'bbb', WEBCAPTURE_GCS_PREFIX: '../' }, 'WEBCAPTURE_GCS_PREFIX must be like captures/'],
  [{ WEBCAPTURE_GCS_BUCKET: 'bbb', WEBCAPTURE_GCS_ENDPOINT: 'x' }, 'WEBCAPTURE_GCS_ENDPOINT must be an absolute http'],
])('%j stops the start', (environment, message) => {
  expect(() => read(environment)).toThrow(message);
});
