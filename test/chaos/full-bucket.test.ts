// @module-tag long
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { bucketSetUpMs, startTestBucket } from '../harness/bucket.ts';
import { googleError, startFaultProxy, type Fault, type FaultProxy } from '../harness/fault-proxy.ts';
import { startFleet, type Fleet } from '../harness/fleet.ts';
import { uploads } from '../integration/shared/support/faulty-bucket.ts';
import { expectBalance } from './accounts-balance.ts';

let fleet: Fleet;
let proxy: FaultProxy;
const cleanUp = new AsyncDisposableStack();
beforeAll(async () => {
  const bucket = cleanUp.use(await startTestBucket());
  proxy = cleanUp.use(await startFaultProxy(bucket.endpoint));
  const env = { WEBCAPTURE_GCS_BUCKET: bucket.bucket, WEBCAPTURE_GCS_ENDPOINT: proxy.url };
  const ground = { tools: inject('tools'), tempFolder: inject('tempFolder') };
  fleet = cleanUp.use(await startFleet(ground, { store: 'embedded', env }));
}, bucketSetUpMs);
afterAll(() => cleanUp.disposeAsync());

test.each<[string, Fault]>([
  ['is full', { kind: 'answer', status: 507, body: 'Insufficient Storage' }],
  ['is over its quota', googleError(403, 'quotaExceeded', 'The quota of the project is used up.')],
])(
  'a bucket that %s refuses captures without a charge, and they work at once when it accepts files again',
  async (_, fault) => {
    const { api } = fleet;
    let page = 0;
    const capture = () => api.capture({ html: `<p>${performance.now()} ${page++}`, timeout: 5000 });
    expect((await capture()).status).toBe(200);
    const before = await fleet.usageCheck.usage();

    proxy.always(uploads, fault);
    const refused = await Promise.all([capture(), capture()]);
    expect(refused.map(({ status, body }) => [status, body?.error?.code])).toEqual(
      refused.map(() => [500, 'STORAGE_FAILED']),
    );
    expect((await fleet.usageCheck.usage()).tokens).toBe(before.tokens);

    proxy.heal();
    expect((await capture()).status).toBe(200);
    await expectBalance(fleet);
  },
);
