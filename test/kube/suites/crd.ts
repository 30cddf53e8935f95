import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedPlane } from '../support/shared-plane.ts';
import { TestNamespace } from '../support/test-namespace.ts';

describe('RenderRegion', () => {
  let namespace: TestNamespace;
  beforeAll(async () => {
    namespace = await TestNamespace.create(await sharedPlane());
  });

  const api = { apiVersion: 'webcapture.dev/v1alpha1', kind: 'RenderRegion' };
  const condition = {
    type: 'Operational',
    status: 'True',
    reason: 'Operational',
    message: 'ok',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };

  describe('the API server refuses', () => {
    test.each([
      ['an unknown region', { region: 'mars', deployment: 'a' }, 'spec.region: Unsupported value: "mars"'],
      ['no region', { deployment: 'a' }, 'spec.region: Required value'],
      ['no deployment', { region: 'us-east' }, 'spec.deployment: Required value'],
      ['an empty deployment', { region: 'us-east', deployment: '' }, 'spec.deployment'],
      [
        'a deployment that is not a valid name',
        { region: 'us-east', deployment: 'A_b' },
        'spec.deployment: Invalid value: "A_b"',
      ],
      ['a number as deployment', { region: 'us-east', deployment: 3 }, 'spec.deployment'],
    ])('a spec with %s', async (_, spec, message) => {
      const answer = await namespace.api.raw<{ message: string }>('POST', namespace.path('renderregions'), {
        ...api,
        metadata: { name: 'x' },
        spec,
      });
      expect(answer.status).toBe(422);
      expect(answer.body.message).toContain(message);
    });

    test('a change of the region of a resource', async () => {
      await namespace.addRegion('eu-west');
      const path = `${namespace.path('renderregions')}/eu-west`;
      const answer = await namespace.api.raw<{ message: string }>('PATCH', path, { spec: { region: 'us-west' } });
      expect(answer.status).toBe(422);
      expect(answer.body.message).toContain('the region of a RenderRegion cannot be changed');
    });

    test.each([
      ['an unknown status', { status: 'fine' }, 'status.status: Unsupported value: "fine"'],
      ['a negative number of renderers', { ready: -1 }, 'status.ready'],
      ['half a renderer as a number', { wanted: 1.5 }, 'status.wanted'],
      ['an invalid time', { lastCheckedAt: 'now' }, 'status.lastCheckedAt'],
      ['a condition without a reason', { conditions: [{ ...condition, reason: undefined }] }, 'reason: Required value'],
      [
        'a condition with the status Maybe',
        { conditions: [{ ...condition, status: 'Maybe' }] },
        'status: Unsupported value',
      ],
      ['a duplicate condition', { conditions: [condition, condition] }, 'Duplicate value'],
    ])('a status with %s', async (_, status, message) => {
      const path = `${namespace.path('renderregions')}/eu-west/status`;
      const answer = await namespace.api.raw<{ message: string }>('PATCH', path, { status });
      expect(answer.status).toBe(422);
      expect(answer.body.message).toContain(message);
    });
  });

  test('status can be written only through the subresource, and spec only without it', async () => {
    await namespace.addRegion('us-east');
    const path = `${namespace.path('renderregions')}/us-east`;
    await namespace.api.do('PATCH', path, { status: { status: 'major_outage' } });
    expect((await namespace.region('us-east')).status).toBeUndefined();
    await namespace.api.do('PATCH', `${path}/status`, { status: { ready: 1 }, spec: { deployment: 'other' } });
    const { spec, status } = await namespace.region('us-east');
    expect([spec.deployment, status]).toEqual(['test-renderer-us-east', { ready: 1 }]);
  });

  test.each(['charts/webcapture/README.md', 'docs/gke.md'])(
    'the command of %s upgrades a CRD that Helm has created',
    async (page) => {
      const read = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), 'utf8');
      const commands = (await read(page)).match(/^.*kubectl apply --server-side.*$/gm) ?? [];
      expect(commands).toHaveLength(1);
      const force = commands[0]?.includes('--force-conflicts') === true;
      const crd = await read('charts/webcapture/crds/renderregions.yaml');
      // Another manager than kubectl has created the CRD, as Helm does.
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/renderregions.webcapture.dev';
      const headers = { 'content-type': 'application/apply-patch+yaml' };
      const manager = encodeURIComponent(`kubectl of ${page}`);
      const apply = (text: string) =>
        namespace.api.do('PATCH', `${path}?fieldManager=${manager}&force=${force}`, text, headers);
      await apply(crd.replace('shortNames: [rr]', 'shortNames: [rr, region]'));
      await apply(crd);
    },
  );
});
