// @module-tag long
import { beforeAll, describe, expect, test } from 'vitest';
import { find, helmDeadlineMs, render, type KubeObject } from '../../harness/helm.ts';

const name = (component: string) => `wc-webcapture-${component}`;
const deployments = ['front', 'controller', 'renderer-us-east', 'renderer-eu-west', 'renderer-asia-east'];

interface Container {
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly volumeMounts: readonly object[];
}

function podOf(objects: readonly KubeObject[], component: string) {
  return find(objects, 'Deployment', name(component))['spec'].template.spec as {
    readonly containers: readonly [Container];
    readonly volumes: readonly object[];
  };
}

/** Returns those environment variables of a pod whose names match `pattern`. */
function variablesOf(
  objects: readonly KubeObject[],
  component: string,
  pattern = /^WEBCAPTURE_(UPSTREAM_PROXY|NO_PROXY|CA_BUNDLE)/,
) {
  const { env } = podOf(objects, component).containers[0];
  const ours = env.filter((each) => pattern.test(each.name));
  return Object.fromEntries(ours.map((each) => [each.name, each.value ?? each.valueFrom]));
}

const egressOf = (objects: readonly KubeObject[], component: string): readonly object[] =>
  find(objects, 'NetworkPolicy', name(component))['spec'].egress;

const proxy = { ipBlock: { cidr: '10.1.2.3/32' } };
const custom = {
  upstreamProxy: {
    url: 'http://proxy.corp.example:3128',
    existingSecret: 'proxy-user',
    noProxy: ['corp.example', '10.0.0.0/8'],
    to: [proxy],
  },
  regions: [
    { name: 'us-east' },
    { name: 'eu-west', upstreamProxy: { url: 'socks5h://socks.corp.example' } },
    { name: 'asia-east', upstreamProxy: {} },
  ],
  caBundle: { configMap: 'corp-ca' },
  allowIgnoreTlsErrors: true,
};

let defaults: readonly KubeObject[];
let objects: readonly KubeObject[];
beforeAll(async () => {
  [defaults, objects] = await Promise.all([render(), render(custom)]);
}, helmDeadlineMs);

describe('the upstream proxy', () => {
  test('is not set by default', () => {
    for (const component of deployments.slice(0, 4)) expect(variablesOf(defaults, component)).toEqual({});
  });

  test('is that of the region for captures, and the common one for webhooks', () => {
    const bundle = { WEBCAPTURE_CA_BUNDLE: '/var/run/secrets/webcapture/ca/ca.crt' };
    const common = {
      ...bundle,
      WEBCAPTURE_UPSTREAM_PROXY: 'http://proxy.corp.example:3128',
      WEBCAPTURE_UPSTREAM_PROXY_RESOLVE: 'renderer',
      WEBCAPTURE_UPSTREAM_PROXY_USER: { secretKeyRef: { name: 'proxy-user', key: 'user' } },
      WEBCAPTURE_UPSTREAM_PROXY_PASSWORD: { secretKeyRef: { name: 'proxy-user', key: 'password' } },
      WEBCAPTURE_NO_PROXY: 'corp.example,10.0.0.0/8',
    };
    expect(variablesOf(objects, 'controller')).toEqual(common);
    expect(variablesOf(objects, 'renderer-us-east')).toEqual(common);
    // The proxy of a region does not get the credentials of the common one.
    expect(variablesOf(objects, 'renderer-eu-west')).toEqual({
      ...bundle,
      WEBCAPTURE_UPSTREAM_PROXY: 'socks5h://socks.corp.example',
      WEBCAPTURE_UPSTREAM_PROXY_RESOLVE: 'proxy',
    });
    expect(variablesOf(objects, 'renderer-asia-east')).toEqual(bundle);
    expect(variablesOf(objects, 'front')).toEqual(bundle);
  });

  test('is allowed by the NetworkPolicies of the pods that use it', () => {
    const commonRule = { ports: [{ protocol: 'TCP', port: 3128 }], to: [proxy] };
    const regionRule = { ports: [{ protocol: 'TCP', port: 1080 }] };
    expect(egressOf(objects, 'renderer')).toEqual(expect.arrayContaining([commonRule, regionRule]));
    expect(egressOf(objects, 'controller')).toEqual([...egressOf(defaults, 'controller'), commonRule]);
    expect(egressOf(objects, 'front')).toEqual(egressOf(defaults, 'front'));
  });

  test(
    'that cannot work is refused',
    async () => {
      const refusals: readonly (readonly [object, RegExp])[] = [
        [{ upstreamProxy: { url: 'http://wc:secret@proxy' } }, /upstreamProxy\.url: must not contain credentials/],
        [{ upstreamProxy: { url: 'proxy:3128' } }, /upstreamProxy\.url: must be http:\/\/host:port/],
        [{ upstreamProxy: { noProxy: ['corp.example'] } }, /upstreamProxy\.url: name the proxy, or leave/],
        [
          { upstreamProxy: { url: 'socks5://proxy', resolve: 'proxy' } },
          /upstreamProxy\.resolve: must be renderer with socks5/,
        ],
        [
          { regions: [{ name: 'us-east', upstreamProxy: { url: 'socks5h://proxy', resolve: 'renderer' } }] },
          /regions\.us-east\.upstreamProxy\.resolve: must be proxy with socks5h/,
        ],
        [
          { upstreamProxy: { url: 'http://proxy', noProxy: ['*.corp.example'] } },
          /upstreamProxy\.noProxy: must be names/,
        ],
        [{ caBundle: { configMap: 'a', secret: 'b' } }, /caBundle: name either a ConfigMap or a Secret/],
      ];
      for (const [values, message] of refusals) await expect(render(values)).rejects.toThrow(message);
    },
    helmDeadlineMs,
  );
});

describe('the CA bundle', () => {
  const mount = { name: 'ca-bundle', mountPath: '/var/run/secrets/webcapture/ca', readOnly: true };

  test('is mounted in all pods', () => {
    for (const component of deployments) {
      const { containers, volumes } = podOf(objects, component);
      expect(containers[0].volumeMounts).toContainEqual(mount);
      const items = [{ key: 'ca.crt', path: 'ca.crt' }];
      expect(volumes).toContainEqual({ name: 'ca-bundle', configMap: { name: 'corp-ca', items } });
    }
    expect(JSON.stringify(defaults)).not.toContain('ca-bundle');
  });

  test(
    'can be a Secret with another key',
    async () => {
      const own = await render({ caBundle: { secret: 'corp-ca', key: 'bundle.pem' } });
      const items = [{ key: 'bundle.pem', path: 'ca.crt' }];
      expect(podOf(own, 'front').volumes).toContainEqual({
        name: 'ca-bundle',
        secret: { secretName: 'corp-ca', items },
      });
    },
    helmDeadlineMs,
  );
});

test('TLS errors can be ignored only where the values allow it, which fronts and controllers check', () => {
  const permissions = (of: readonly KubeObject[]) =>
    deployments.slice(0, 3).map((component) => variablesOf(of, component, /IGNORE_TLS_ERRORS$/));
  const both = (value: string) => Array(2).fill({ WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS: value });
  expect(permissions(defaults)).toEqual([...both('false'), {}]);
  expect(permissions(objects)).toEqual([...both('true'), {}]);
});
