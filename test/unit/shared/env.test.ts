import { expect, test } from 'vitest';
import { readCommonConfig } from '@webcapture/shared/runtime/config.ts';
import { ConfigError, EnvReader } from '@webcapture/shared/runtime/env.ts';
import { parseRegions } from '@webcapture/shared/runtime/regions.ts';

function read(environment: Record<string, string>) {
  const env = new EnvReader(environment);
  const config = readCommonConfig(env, { opsPort: 9090 });
  return env.finish(() => config);
}

test('the common configuration has a default for every variable, and is frozen', () => {
  const config = read({ WEBCAPTURE_POD: 'front-1' });
  expect(config).toMatchObject({
    nats: { url: 'nats://127.0.0.1:4222' },
    ops: { port: 9090 },
    regions: [
      { region: 'us-east', minRenderers: 1 },
      { region: 'eu-west', minRenderers: 1 },
    ],
  });
  expect(Object.isFrozen(config)).toBe(true);
});

test('a ConfigError names all invalid variables and their rules', () => {
  const wrong = () =>
    read({
      WEBCAPTURE_OPS_PORT: '70000',
      WEBCAPTURE_LOG_LEVEL: 'loud',
      WEBCAPTURE_NATS_USER: 'x',
      WEBCAPTURE_POD: 'a.b',
    });
  expect(wrong).toThrow(ConfigError);
  expect(wrong).toThrow(/WEBCAPTURE_OPS_PORT must be an integer from 0 to 65535, not "70000"/);
  expect(wrong).toThrow(/WEBCAPTURE_LOG_LEVEL must be one of trace, debug/);
  expect(wrong).toThrow(/WEBCAPTURE_NATS_USER and WEBCAPTURE_NATS_PASSWORD must be set together/);
  expect(wrong).toThrow(/WEBCAPTURE_POD must be/);
});

test('WEBCAPTURE_REGIONS is a list of regions with their minimum of renderers', () => {
  expect(parseRegions('us-east:2, eu-west:0,asia-east')).toEqual([
    { region: 'us-east', minRenderers: 2 },
    { region: 'eu-west', minRenderers: 0 },
    { region: 'asia-east', minRenderers: 1 },
  ]);
});

test.each([
  '',
  'mars:1',
  'us-east:x',
  'us-east:-1',
  'us-east:1x',
  'us-east:10000',
  'us-east:1:2',
  'us-east:1,,eu-west:1',
])('WEBCAPTURE_REGIONS cannot be "%s"', (value) => {
  expect(() => parseRegions(value)).toThrow(/must be a list like us-east:1,eu-west:1/);
});

test('the message about WEBCAPTURE_REGIONS lists all regions and the invalid entry', () => {
  expect(() => parseRegions('us-east:1, mars:1 ')).toThrow(
    'must be a list like us-east:1,eu-west:1 of the regions us-east, us-west, eu-west, eu-central, asia-east, asia-southeast; "mars:1" is not one',
  );
});

test('a ConfigError has one line for each problem', () => {
  const error = new ConfigError(['A must be set', 'B must be 1']);
  expect([error.name, error.message]).toEqual(['ConfigError', 'A must be set\nB must be 1']);
  const env = new EnvReader({ EMPTY: '' });
  expect([env.required('EMPTY', 'a text'), env.raw('EMPTY'), env.raw('NONE')]).toEqual(['', '', undefined]);
  expect(() => env.finish(() => ({}))).toThrow('EMPTY must be set: a text');
});

test('WEBCAPTURE_REGIONS cannot contain a region twice', () => {
  expect(() => parseRegions('us-east:1,us-east:2')).toThrow(/us-east twice/);
});
