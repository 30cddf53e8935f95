import { describe, expect, test } from 'vitest';
import { readSettings } from '../../../deploy/local/settings.ts';

const read = (env: Record<string, string>) => readSettings(env, '/repo');

describe('readSettings', () => {
  test('returns the defaults for an empty environment', () => {
    expect(read({})).toEqual({
      port: 3000,
      host: '127.0.0.1',
      publicUrl: undefined,
      apiKey: undefined,
      dataDir: '/repo/.data',
      egressAllow: '127.0.0.0/8,::1/128',
      regions: [
        { region: 'us-east', minRenderers: 1 },
        { region: 'eu-west', minRenderers: 1 },
      ],
      natsUrl: undefined,
      natsPrefix: '',
      homeRegion: 'us-east',
      sandbox: undefined,
    });
    expect(Object.isFrozen(read({}))).toBe(true);
  });

  test('reads every variable', () => {
    expect(
      read({
        PORT: '0',
        WEBCAPTURE_HOST: '0.0.0.0',
        WEBCAPTURE_PUBLIC_URL: 'https://shots.example/',
        WEBCAPTURE_API_KEY: 'any sixteen char',
        WEBCAPTURE_DATA_DIR: '/data',
        WEBCAPTURE_EGRESS_ALLOW: '10.0.0.0/8, fd00::/8',
        WEBCAPTURE_REGIONS: 'asia-east:2,us-west',
        WEBCAPTURE_NATS_URL: 'nats://broker:4222',
        WEBCAPTURE_NATS_PREFIX: 'acme',
        WEBCAPTURE_HOME_REGION: 'us-west',
        WEBCAPTURE_CHROMIUM_SANDBOX: 'on',
      }),
    ).toEqual({
      port: 0,
      host: '0.0.0.0',
      publicUrl: 'https://shots.example',
      apiKey: 'any sixteen char',
      dataDir: '/data',
      egressAllow: '10.0.0.0/8, fd00::/8',
      regions: [
        { region: 'asia-east', minRenderers: 2 },
        { region: 'us-west', minRenderers: 1 },
      ],
      natsUrl: 'nats://broker:4222',
      natsPrefix: 'acme',
      homeRegion: 'us-west',
      sandbox: 'on',
    });
  });

  test('allows no range for an empty WEBCAPTURE_EGRESS_ALLOW', () => {
    expect(read({ WEBCAPTURE_EGRESS_ALLOW: '' }).egressAllow).toBe('');
  });

  test.each([
    ['PORT', 'abc', 'PORT must be an integer from 0 to 65535, not "abc"'],
    ['PORT', '65536', 'PORT must be an integer from 0 to 65535, not "65536"'],
    ['WEBCAPTURE_API_KEY', '15 characters..', 'WEBCAPTURE_API_KEY must have at least 16 characters'],
    ['WEBCAPTURE_API_KEY', 'ключ-ключ-ключ-ключ', 'WEBCAPTURE_API_KEY must have only printable ASCII'],
    ['WEBCAPTURE_EGRESS_ALLOW', '10.0.0.0', '"10.0.0.0" is no CIDR range'],
    ['WEBCAPTURE_EGRESS_ALLOW', '10.0.0.0/33', '"10.0.0.0/33" is no CIDR range'],
    ['WEBCAPTURE_EGRESS_ALLOW', 'localhost/8', '"localhost/8" is no CIDR range'],
    ['WEBCAPTURE_EGRESS_ALLOW', '10.0.0.0/8,', '"" is no CIDR range'],
    ['WEBCAPTURE_REGIONS', 'mars:1', 'WEBCAPTURE_REGIONS must be a list like'],
    ['WEBCAPTURE_REGIONS', 'us-east:17', 'WEBCAPTURE_REGIONS may ask for 16 renderers per region here, not 17'],
    ['WEBCAPTURE_HOME_REGION', 'us-west', 'WEBCAPTURE_HOME_REGION must be one of us-east, eu-west, not "us-west"'],
    ['WEBCAPTURE_CHROMIUM_SANDBOX', 'yes', 'WEBCAPTURE_CHROMIUM_SANDBOX must be one of on, off, not "yes"'],
    ['WEBCAPTURE_LOG_LEVEL', 'loud', 'WEBCAPTURE_LOG_LEVEL must be one of'],
    ['WEBCAPTURE_PUBLIC_URL', 'shots', 'WEBCAPTURE_PUBLIC_URL must be an absolute http or https address'],
  ])('refuses %s=%s with a message of one line', (name, value, message) => {
    expect(() => read({ [name]: value })).toThrow(message);
    expect(() => read({ [name]: value })).not.toThrow(/\n/);
  });
});
