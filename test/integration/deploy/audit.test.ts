// @module-tag long
import { createServer, type AddressInfo } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { audit } from '../../../deploy/audit/audit.ts';
import { tempDir } from './support.ts';

const ids = { id: 'GHSA-aaaa-bbbb-cccc', package: 'leaky' };

/** A project with one package, and npm's own settings, so that it asks that registry. */
async function project(registry: string) {
  const root = await tempDir();
  const own = { name: 'own', version: '1.0.0', dependencies: { leaky: '1.0.0' } };
  await writeFile(join(root, 'package.json'), JSON.stringify(own));
  const packages = { '': own, 'node_modules/leaky': { version: '1.0.0' } };
  await writeFile(join(root, 'package-lock.json'), JSON.stringify({ ...own, lockfileVersion: 3, packages }));
  const env = {
    PATH: process.env['PATH'],
    HOME: root,
    npm_config_registry: registry,
    npm_config_cache: join(root, '.npm'),
  };
  return { root, env };
}

test('npm audit finds what a registry knows, and is skipped aloud where none answers', async () => {
  const registry = createHttpServer((request, response) => {
    const advisory = {
      id: 1,
      url: `https://github.com/advisories/${ids.id}`,
      title: 'Leaks',
      severity: 'high',
      vulnerable_versions: '<2.0.0',
    };
    const answers: Record<string, object> = {
      '/-/npm/v1/security/advisories/bulk': {
        leaky: [{ ...advisory, cwe: [], cvss: { score: 0, vectorString: null } }],
      },
      '/leaky': {
        name: 'leaky',
        'dist-tags': { latest: '1.0.0' },
        versions: { '1.0.0': { name: 'leaky', version: '1.0.0' } },
      },
    };
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void registry.close());
  await once(registry, 'listening');
  const here = await project(`http://127.0.0.1:${(registry.address() as AddressInfo).port}/`);
  const today = '2026-11-22';
  const judged = [{ ...ids, reason: 'it does no harm', until: today }];
  const [found, accepted] = await Promise.all([
    audit({ ...here, judged: [], today }),
    audit({ ...here, judged, today }),
  ]);
  expect(found).toEqual({
    problems: [expect.stringContaining(`leaky <2.0.0: high: Leaks (https://github.com/advisories/${ids.id})`)],
  });
  expect(accepted).toEqual({ problems: [] });

  // A port where nobody listens any more.
  const gone = createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const alone = await project(`http://127.0.0.1:${port}/`);
  expect(await audit({ ...alone, judged, today })).toEqual({ skipped: expect.stringContaining('ECONNREFUSED') });
});
