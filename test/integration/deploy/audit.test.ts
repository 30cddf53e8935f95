// @module-tag long
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { audit } from '../../../deploy/audit/audit.ts';
import { tempDir } from './support.ts';

const ids = { id: 'GHSA-aaaa-bbbb-cccc', package: 'leaky' };
const today = '2026-11-22';
const exceptions = [{ ...ids, reason: 'it does no harm', until: today }];
/** A signal that never aborts. */
const { signal } = new AbortController();

/** Starts a registry and returns its address. */
async function startRegistry(listener: RequestListener): Promise<string> {
  const registry = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => {
    registry.close();
    registry.closeAllConnections();
  });
  await once(registry, 'listening');
  return `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
}

/** The environment of an npm that uses only this registry, without the npm configuration of this machine. */
const npmEnv = (registry: string, home: string) => ({
  PATH: process.env['PATH'],
  HOME: home,
  npm_config_registry: registry,
  npm_config_cache: join(home, '.npm'),
});

/** A project with one package. */
async function project(registry: string) {
  const root = await tempDir();
  const own = { name: 'own', version: '1.0.0', dependencies: { leaky: '1.0.0' } };
  await writeFile(join(root, 'package.json'), JSON.stringify(own));
  const packages = { '': own, 'node_modules/leaky': { version: '1.0.0' } };
  await writeFile(join(root, 'package-lock.json'), JSON.stringify({ ...own, lockfileVersion: 3, packages }));
  return { root, env: npmEnv(registry, root) };
}

test('npm audit reports advisories of the registry', async () => {
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
  const registry = await startRegistry((request, response) => {
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  });
  const here = { ...(await project(registry)), today, signal };
  const [found, accepted] = await Promise.all([audit({ ...here, exceptions: [] }), audit({ ...here, exceptions })]);
  expect(found).toEqual({
    problems: [expect.stringContaining(`leaky <2.0.0: high: Leaks (https://github.com/advisories/${ids.id})`)],
  });
  expect(accepted).toEqual({ problems: [] });
});

test('the audit is skipped if the registry refuses connections', async () => {
  const gone = createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const here = await project(`http://127.0.0.1:${port}/`);
  expect(await audit({ ...here, exceptions, today, signal })).toEqual({
    skipped: 'the registry cannot be reached (ECONNREFUSED)',
  });
});

test('the audit is skipped when it times out, and npm ends', async () => {
  const timeUp = new AbortController();
  const closed = Promise.withResolvers<void>();
  const registry = await startRegistry((request) => {
    request.socket.once('close', () => closed.resolve());
    timeUp.abort();
  });
  const here = await project(registry);
  expect(await audit({ ...here, exceptions, today, signal: timeUp.signal })).toEqual({
    skipped: 'the registry did not answer in time',
  });
  await closed.promise;
});

test('a registry without advisories fails only a required audit', async () => {
  const registry = await startRegistry((_, response) => void response.writeHead(405).end());
  const home = await tempDir();
  const main = fileURLToPath(new URL('../../../deploy/audit/main.ts', import.meta.url));
  const run = (required?: string) =>
    new Promise((resolve) => {
      const env = { ...npmEnv(registry, home), REQUIRE_AUDIT: required };
      execFile(process.execPath, [main], { env }, (error, output) => resolve({ code: error?.code ?? 0, output }));
    });
  const reason = 'the registry does not offer advisories (405)';
  // The tests are sequential, because an optional audit times out after some seconds.
  for (const optional of [undefined, '', 'false']) {
    expect(await run(optional), optional).toEqual({ code: 0, output: `SKIPPED: ${reason}\n` });
  }
  expect(await run('true')).toEqual({
    code: 1,
    output: `No package was audited: ${reason}. REQUIRE_AUDIT requires an audit.\n`,
  });
  expect(await run('yes')).toEqual({ code: 1, output: 'REQUIRE_AUDIT must be true or false, not "yes"\n' });
});
