// @module-tag long
import { describe, expect, test } from 'vitest';
import { envOf, find, helmDeadlineMs, podOf, render } from '../../harness/helm.ts';

const own = { enabled: false, url: 'tls://connect.ngs.global' };
const satellite = { role: 'satellite', auth: { existingSecret: 'hub-auth' }, regions: [{ name: 'asia-east' }] };

/** Returns the parts of a Deployment that contain the login: variables and a volume, each with the path at which the container sees it. */
async function loginOf(values: object, name: string) {
  const deployment = find(await render(values), 'Deployment', `wc-webcapture-${name}`);
  const { volumes = [], containers = [] } = podOf(deployment) ?? {};
  const mounts = (containers[0] as unknown as { volumeMounts: readonly { name: string }[] }).volumeMounts;
  const ofLogin = ({ name: volume }: { name?: string }) => volume === 'nats-login';
  return {
    variables: Object.fromEntries(
      ['USER', 'PASSWORD', 'CREDS_FILE', 'NKEY_SEED_FILE'].flatMap((variable) => {
        const value = containers[0]?.env?.find((it) => it.name === `WEBCAPTURE_NATS_${variable}`);
        return value === undefined ? [] : [[variable, value.value]];
      }),
    ),
    volumes: volumes.filter(ofLogin),
    mounts: mounts.filter(ofLogin),
  };
}

const expected = (variable: string, file: string, secret: { readonly name: string; readonly key: string }) => ({
  variables: { [variable]: `/var/run/secrets/webcapture/nats-login/${file}` },
  volumes: [{ name: 'nats-login', secret: { secretName: secret.name, items: [{ key: secret.key, path: file }] } }],
  mounts: [{ name: 'nats-login', mountPath: '/var/run/secrets/webcapture/nats-login', readOnly: true }],
});

describe('pods log in to NATS', () => {
  const hub = { regions: [{ name: 'us-east' }], nats: { ...own, credsSecret: { name: 'creds' } } };
  const nkeys = { regions: [{ name: 'us-east' }], nats: { ...own, nkeySecret: { name: 'nkeys' } } };
  const edge = { ...satellite, nats: { ...own, credsSecret: { name: 'creds' } } };
  const shared = { ...hub, nats: { ...own, credsSecret: { name: 'creds', key: 'app.creds' } } };
  test.each<[string, object, ReturnType<typeof expected>]>([
    ['front', hub, expected('CREDS_FILE', 'user.creds', { name: 'creds', key: 'front.creds' })],
    ['controller', hub, expected('CREDS_FILE', 'user.creds', { name: 'creds', key: 'controller.creds' })],
    ['renderer-us-east', hub, expected('CREDS_FILE', 'user.creds', { name: 'creds', key: 'renderer-us-east.creds' })],
    ['controller', edge, expected('CREDS_FILE', 'user.creds', { name: 'creds', key: 'satellite-asia-east.creds' })],
    [
      'renderer-asia-east',
      edge,
      expected('CREDS_FILE', 'user.creds', { name: 'creds', key: 'renderer-asia-east.creds' }),
    ],
    ['renderer-us-east', shared, expected('CREDS_FILE', 'user.creds', { name: 'creds', key: 'app.creds' })],
    ['renderer-us-east', nkeys, expected('NKEY_SEED_FILE', 'user.nk', { name: 'nkeys', key: 'renderer-us-east.nk' })],
  ])(
    'by a file of an existing Secret: %s (%#)',
    async (name, values, login) => {
      expect(await loginOf(values, name)).toEqual(login);
    },
    helmDeadlineMs,
  );

  test(
    'by a password without such a Secret',
    async () => {
      const { variables, volumes, mounts } = await loginOf({ nats: { ...own, existingSecret: 'nats' } }, 'front');
      expect([variables, volumes, mounts]).toEqual([{ USER: 'front', PASSWORD: undefined }, [], []]);
      expect(envOf(find(await render(), 'Deployment', 'wc-webcapture-front'))).toHaveProperty('WEBCAPTURE_NATS_USER');
    },
    helmDeadlineMs,
  );
});

describe('an installation is refused', () => {
  const creds = { credsSecret: { name: 'creds' } };
  test.each<[string, object, RegExp]>([
    ['with two kinds of login', { ...own, ...creds, existingSecret: 'nats' }, /set only one of them/],
    ['with creds and NKeys', { ...own, ...creds, nkeySecret: { name: 'nkeys' } }, /set only one of them/],
    ['with creds for the embedded NATS', creds, /nats\.credsSecret: the users of the embedded NATS have passwords/],
    ['with NKeys for the embedded NATS', { nkeySecret: { name: 'a' } }, /nats\.nkeySecret: the users of the embedded/],
    [
      'with a key of no Secret',
      { ...own, existingSecret: 'nats', nkeySecret: { key: 'a.nk' } },
      /nats\.nkeySecret\.name: /,
    ],
    ['with a key that no Secret can have', { ...own, credsSecret: { name: 'a', key: 'a/b' } }, /credsSecret/],
    [
      'without a login',
      own,
      /nats\.existingSecret: your NATS needs users.*or set nats\.credsSecret or nats\.nkeySecret/,
    ],
  ])(
    '%s',
    async (_, nats, message) => {
      await expect(render({ nats })).rejects.toThrow(message);
    },
    helmDeadlineMs,
  );
});
