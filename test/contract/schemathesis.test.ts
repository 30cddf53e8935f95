// @module-tag long
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Webcapture } from '@webcapture/client';
import { regions } from '@webcapture/shared/runtime/regions.ts';
import { startTestFront } from '../integration/front/test-front.ts';
import { pythonTool, runLoudly } from './tools.ts';

const adminToken = 'the-admin-token-of-the-contract';

// Each part has its own front. A single front would take the client for one that guesses keys, and return 429 instead of 401.
test.each([
  ['captures', ['--include-path', '/capture']],
  ['operators', ['--include-tag', 'admin']],
  ['all other paths', ['--exclude-path', '/capture', '--exclude-tag', 'admin']],
])('responses to requests of Schemathesis about %s match the OpenAPI document', async (_, part) => {
  const bin = await pythonTool('schemathesis==4.32.5');
  await using folder = await mkdtempDisposable(join(tmpdir(), 'schemathesis-'));
  const installed = regions.map((region) => `${region}:1`).join();
  await using front = await startTestFront({ WEBCAPTURE_ADMIN_TOKEN: adminToken, WEBCAPTURE_REGIONS: installed });
  for (const region of regions.filter((each) => each !== 'us-east')) await (await front.addRenderer(region)).start();
  // The requests use a separate key, because they also revoke it.
  const key = await front.makeKey();
  const { fileUrl } = await new Webcapture({ url: front.url, apiKey: key }).capture({ url: 'https://example.com/' });
  const [fileName] = fileUrl.split('/').slice(-1);
  const env = { ...process.env, API_KEY: key, ADMIN_TOKEN: adminToken, FILE_NAME: fileName };
  const config = fileURLToPath(new URL('schemathesis.toml', import.meta.url));
  const more = (process.env['SCHEMATHESIS_ARGS'] ?? '').split(' ').filter((arg) => arg !== '');
  const args = [
    '--config-file',
    config,
    'run',
    `${front.url}/openapi.json`,
    '--url',
    front.url,
    '--exclude-checks',
    'use_after_free',
    ...part,
    ...more,
  ];
  expect(await runLoudly(join(bin, 'schemathesis'), args, { cwd: folder.path, env })).toBe(0);
});
