import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const secret = 's3cret-value';

/** Runs the logger in another process, because it writes to stdout. */
const script = `
  import { createLogger } from '@webcapture/shared/runtime/logger.ts';
  const log = createLogger({ service: 'front', pod: 'p', level: 'info' });
  const secret = '${secret}';
  log.info({ url: 'https://u:' + secret + '@example.com/path?token=' + secret }, 'opened https://example.com/?x=' + secret);
  log.info({ html: '<p>' + secret, job: { html: secret, options: { list: ['https://a.example/?' + secret] } } }, 'job');
  log.info({ headers: { authorization: 'Bearer ' + secret }, note: 'Bearer ' + secret, webhook: { url: secret } }, 'request');
  log.info({ recreated: { webhook: 3 } }, 'counts');
  const cause = new Error('GET https://b.example/?k=' + secret);
  log.error({ err: new Error('failed for https://c.example/?k=' + secret, { cause }) }, 'broke');
`;

test('no secret is logged, in any field or message', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: new URL('../../../', import.meta.url),
  });
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toHaveLength(5);
  expect(stdout).not.toContain(secret);
  expect(lines[0]).toMatchObject({ level: 'info', service: 'front', url: 'https://example.com/path' });
  expect(lines[3]).toMatchObject({ recreated: { webhook: 3 } });
  expect(lines[4]).toMatchObject({ err: { message: 'failed for https://c.example/', cause: { type: 'Error' } } });
});
