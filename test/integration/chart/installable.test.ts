// @module-tag long
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  chartFolder,
  find,
  helmDeadlineMs,
  imageArgs,
  objectsOf,
  podOf,
  render,
  template,
  type KubeObject,
} from '../../harness/helm.ts';

const read = (path: string) => readFile(join(chartFolder, path), 'utf8');

describe('each file in ci installs alone on an empty cluster, as chart-testing expects', async () => {
  const files = (await readdir(join(chartFolder, 'ci'))).toSorted();

  test('there are some, and chart-testing finds them by their names', () => {
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) expect(file).toMatch(/-values\.yaml$/);
  });

  test.each(files)(
    '%s',
    async (file) => {
      const objects = objectsOf(await template('wc', ['--values', join(chartFolder, 'ci', file)]));
      // Groups with a dot that are not Kubernetes' own belong to operators.
      const foreign = objects.filter(
        ({ apiVersion }) => /\.[^/]+\//.test(apiVersion) && !apiVersion.includes('.k8s.io/'),
      );
      expect(foreign.map(({ kind }) => kind)).toEqual([]);
      expect(objects.flatMap((object) => podOf(object)?.runtimeClassName ?? [])).toEqual([]);
      const values = JSON.stringify(parse(await read(`ci/${file}`)));
      expect(values).not.toMatch(/existingSecret|bucket|"role":"satellite"/);
    },
    helmDeadlineMs,
  );
});

test.each([
  ['my.app', 'my-app-webcapture'],
  ['2nd.try', 'webcapture-2nd-try'],
  ['4', 'webcapture-4'],
  ['webcapture', 'webcapture'],
])(
  'a release named %s has objects whose names Kubernetes accepts',
  async (release, prefix) => {
    const objects = objectsOf(await template(release, imageArgs));
    find(objects, 'Service', `${prefix}-front`);
    for (const { kind, metadata } of objects) {
      expect([kind, metadata.name]).toEqual([kind, expect.stringMatching(/^[a-z]([a-z0-9-]*[a-z0-9])?$/)]);
      expect(metadata.labels?.['app.kubernetes.io/instance']).toBe(release);
    }
    for (const { env = [] } of objects.flatMap((object) => podOf(object)?.containers ?? [])) {
      for (const { value = '' } of env) expect(value).toBeTypeOf('string');
    }
  },
  helmDeadlineMs,
);

test.each<[object, RegExp]>([
  [{ regions: null }, /missing property 'regions'/],
  [{ nats: null }, /missing property 'nats'/],
  [{ keda: { enabled: true, minReplicas: 11 } }, /keda\.minReplicas: must not be above .* us-east they are 11 and 10/],
  [
    { hpa: { enabled: true }, regions: [{ name: 'eu-west', keda: { minReplicas: 3, maxReplicas: 2 } }] },
    /keda\.minReplicas: must not be above .* eu-west they are 3 and 2/,
  ],
  [
    {
      keda: { enabled: true, schedules: [{ timezone: 'UTC', start: '0 8 * * *', end: '0 9 * * *', replicas: 11 }] },
    },
    /keda\.schedules: replicas must not be above .* 11 and 10/,
  ],
  [{ front: { autoscaling: { enabled: true, minReplicas: 11 } } }, /front\.autoscaling\.minReplicas: .* 11 and 10/],
  [
    { renderer: { resources: { limits: { memory: '400Mi' } } } },
    /renderer\.resources\.limits\.memory: must be at least 768Mi.*it is 400Mi for us-east/,
  ],
  [
    { nats: { image: { tag: '2.10.29-alpine' } } },
    /nats\.image\.tag: must be 2\.14 or newer.*2\.10\.29-alpine is older/,
  ],
  [
    { front: { service: { loadBalancerClass: 'x' } } },
    /front\.service: .* need the type LoadBalancer; it is ClusterIP/,
  ],
  [{ fullnameOverride: '2nd' }, /fullnameOverride/],
  [{ nameOverride: 'my.app' }, /nameOverride/],
])(
  'refuses %j with a message',
  async (values, message) => {
    await expect(render(values)).rejects.toThrow(message);
  },
  helmDeadlineMs,
);

test.each(['2.14.0-alpine', 'v2.15.1-alpine3.22', 'alpine'])(
  'accepts NATS with the tag %s',
  async (tag) => {
    await expect(render({ nats: { image: { tag } } })).resolves.toBeDefined();
  },
  helmDeadlineMs,
);

describe('the examples', () => {
  test(
    'the Gateway of the example accepts the route for production',
    async () => {
      const gateway = parse(await read('examples/gateway/gateway.yaml')) as KubeObject;
      const route = find(
        await render(parse(await read('examples/production.yaml')) as object),
        'HTTPRoute',
        'wc-webcapture',
      );
      const [listener] = gateway['spec'].listeners as { name: string; hostname: string }[];
      expect(route['spec']).toMatchObject({
        parentRefs: [{ name: gateway.metadata.name, namespace: 'gateways', sectionName: listener?.name }],
        hostnames: [listener?.hostname],
      });
    },
    helmDeadlineMs,
  );

  test('the NATS servers run in a namespace with Pod Security restricted', async () => {
    interface Part {
      readonly enabled?: boolean;
      readonly merge?: { readonly securityContext?: object };
    }
    const values = parse(await read('examples/nats/nats.yaml')) as Record<string, Part> & {
      podTemplate: { merge: { spec: { securityContext: object } } };
    };
    expect(values.podTemplate.merge.spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    // Each container that the official chart adds to the pod.
    for (const container of ['container', 'reloader', 'promExporter']) {
      expect([container, values[container]?.merge?.securityContext]).toEqual([
        container,
        { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      ]);
    }
    expect(values['natsBox']?.enabled).toBe(false);
  });

  test('each command that installs the NATS chart names the same version of it', async () => {
    const texts = await Promise.all([read('examples/nats/nats.yaml'), read('../../docs/regions.md')]);
    const commands = texts.flatMap((text) => text.match(/helm (install|upgrade) nats nats\/nats.*/g) ?? []);
    expect(commands).toHaveLength(4);
    const versions = commands.map((command) => / --version (\S+) /.exec(command)?.[1]);
    expect([...new Set(versions)]).toEqual(['2.14.2']);
  });
});

/** The pages with commands for operators, relative to the folder of the chart. */
async function operatorPages(): Promise<string[]> {
  const docs = await readdir(join(chartFolder, '../../docs'), { recursive: true });
  return [
    'README.md',
    'templates/NOTES.txt',
    ...docs.filter((it) => it.endsWith('.md')).map((it) => `../../docs/${it}`),
  ];
}

test('commands use the chart by a variable that their page explains, because only a checkout has its folder', async () => {
  const fromFolder: string[] = [];
  const unexplained: string[] = [];
  for (const page of await operatorPages()) {
    const text = await read(page);
    if (/^ *helm (install|upgrade) .* charts\/webcapture /m.test(text)) fromFolder.push(page);
    const isExplained = /^ *chart=|README\.md#install\)/m.test(text) || page.includes('/runbooks/');
    if (/^ *helm .*\$chart /m.test(text) && !isExplained) unexplained.push(page);
  }
  // The page of GKE begins with a checkout, and the README also has the commands for a checkout.
  expect(fromFolder.toSorted()).toEqual(['../../docs/gke.md', 'README.md']);
  expect(unexplained).toEqual([]);
});

test('no page starts a port-forward in the background, whose port a following command would use before it is open', async () => {
  const pages = await operatorPages();
  const racing = await Promise.all(
    pages.map(async (page) =>
      ((await read(page)).match(/^.*port-forward[^\n]*&.*$/gm) ?? []).map((line) => `${page}: ${line}`),
    ),
  );
  expect(racing.flat()).toEqual([]);
});
