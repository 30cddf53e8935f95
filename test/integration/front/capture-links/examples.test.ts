// @module-tag long
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { canonicalLink, type LinkParameter } from '../../../../services/front/auth/link-signature.ts';
import { ensureTool } from '../../../../deploy/tools/ensure-tool.ts';

const folder = fileURLToPath(new URL('../../../../examples/capture-link/', import.meta.url));
const secret = 'wcs_a-secret_of-the-tests';
const base = 'https://capture.test/api';

/** Values that languages may encode or sort differently; a program argument cannot contain a zero byte. */
const value = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'ab-._~!\'()*+ %&=/?#[]@:"\\$`ü€😀\n'), maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 6 }).filter((each) => !each.includes('\0')),
);
const name = fc.constantFrom('url', 'hide', 'waitFor.text', 'a', 'a.b', 'a-b', 'A', 'ü', 'a b', "o'k");
const options: readonly LinkParameter[] = fc.sample(fc.tuple(name, value), { numRuns: 150, seed: 17 });

/** Runs an example, and returns the parameters of the link that it prints. */
async function linkOf(program: string, file: string, pairs: readonly LinkParameter[]): Promise<URLSearchParams> {
  const args = [folder + file, base, 'the-key', ...pairs.map((pair) => pair.join('='))];
  const env = { PATH: process.env['PATH'], SECRET: secret };
  const { stdout } = await promisify(execFile)(program, args, { env, timeout: 60_000 });
  expect(stdout.startsWith(`${base}/capture?`)).toBe(true);
  expect(stdout.endsWith('\n')).toBe(true);
  return new URL(stdout.trimEnd()).searchParams;
}

describe.each([
  ['node', 'link.mjs'],
  ['python3', 'link.py'],
  ['php', 'link.php'],
])('the example in %s', (language, file) => {
  let program: string;
  beforeAll(async () => {
    program = language === 'node' ? process.execPath : (await ensureTool(language)).path;
  });

  test('signs like the service, for any parameters', async () => {
    const given = [...options, ['expires', '1795348800'] as const];
    const link = await linkOf(program, file, given);
    const parameters = [...link];
    const inOrder = (list: readonly LinkParameter[]) => list.map((pair) => JSON.stringify(pair)).toSorted();
    expect(inOrder(parameters.filter(([each]) => each !== 'signature'))).toEqual(
      inOrder([...given, ['key', 'the-key']]),
    );
    const signature = createHmac('sha256', secret).update(canonicalLink(parameters)).digest('hex');
    expect(link.get('signature')).toBe(signature);
  });

  test.each([
    ['arguments', [], { SECRET: secret }],
    ['the secret', [base, 'the-key', 'url=https://example.com'], {}],
  ])('without %s, says how to use it', async (_, args, env) => {
    const running = promisify(execFile)(program, [folder + file, ...args], {
      env: { PATH: process.env['PATH'], ...env },
      timeout: 60_000,
    });
    await expect(running).rejects.toMatchObject({ stdout: '', stderr: expect.stringMatching(/^Usage: SECRET=/) });
  });

  test('makes a link expire after a week by default', async () => {
    const link = await linkOf(program, file, [['url', 'https://example.com/?a=b']]);
    expect(link.get('url')).toBe('https://example.com/?a=b');
    const seconds = Number(link.get('expires')) - Date.now() / 1000;
    expect(Math.abs(seconds - 7 * 86_400)).toBeLessThan(60);
  });
});
