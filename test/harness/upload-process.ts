// A process that uploads one file and reports when it is done. Used by tests that kill it before that.
import process from 'node:process';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';

const [bucket = '', endpoint = '', name = '', size = '0'] = process.argv.slice(2);
const log = createLogger({ service: 'upload', pod: 'test', level: 'fatal' });
const store = await openBucket({ bucket, endpoint, prefix: '' }, { log });
await store.create({
  object: name,
  region: 'us-east',
  account: 'acme',
  bytes: Buffer.alloc(Number(size), 'x'),
  contentType: 'image/png',
  expiresAt: Date.now() + 3_600_000,
  width: 1,
  height: 1,
});
process.stdout.write('done\n');
store.close();
