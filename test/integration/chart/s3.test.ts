// @module-tag long
import { expect, test } from 'vitest';
import { envOf, find, helmDeadlineMs, podOf, render } from '../../harness/helm.ts';

test(
  'services get the S3 bucket, and renderers their own key',
  async () => {
    const s3 = {
      bucket: 'my-captures',
      prefix: 'captures/',
      region: 'eu-west-1',
      endpoint: 'https://s3.example',
      links: 'signed',
      existingSecret: 'files',
      renderer: { existingSecret: 'files-of-renderers' },
    };
    const renderer = { sandbox: { acceptUnsandboxedBrowser: true } };
    const objects = await render({ regions: [{ name: 'us-east' }], storage: { type: 's3', s3 }, renderer });
    for (const name of ['front', 'controller', 'renderer-us-east']) {
      const deployment = find(objects, 'Deployment', `wc-webcapture-${name}`);
      expect(envOf(deployment)).toMatchObject({
        WEBCAPTURE_S3_BUCKET: 'my-captures',
        WEBCAPTURE_S3_PREFIX: 'captures/',
        WEBCAPTURE_S3_REGION: 'eu-west-1',
        WEBCAPTURE_S3_ENDPOINT: 'https://s3.example',
        ...(name === 'front' ? { WEBCAPTURE_S3_LINKS: 'signed' } : {}),
      });
      const secret = name === 'renderer-us-east' ? 'files-of-renderers' : 'files';
      const env = JSON.stringify(podOf(deployment)?.containers[0]);
      for (const key of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) {
        expect(env).toContain(JSON.stringify({ name: key, valueFrom: { secretKeyRef: { name: secret, key } } }));
      }
    }
  },
  helmDeadlineMs,
);

test(
  'a bucket without a name is refused',
  async () => {
    const renderer = { sandbox: { acceptUnsandboxedBrowser: true } };
    await expect(render({ storage: { type: 's3' }, renderer })).rejects.toThrow('storage.s3.bucket: name the bucket');
  },
  helmDeadlineMs,
);
