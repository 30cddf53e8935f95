import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { WebcaptureError } from '@webcapture/client';
import type { RenderFailure } from '@webcapture/shared/queue/outcomes.ts';
import { errorCodes, errorTable } from '@webcapture/shared/runtime/errors.ts';
import { exitCodes, kindOf, toCliError } from '../../../services/cli/errors.ts';
import { until } from '../../harness/until.ts';
import { type CliAccount, useCli } from './test-cli.ts';

const cli = useCli();
let account: CliAccount;
beforeAll(async () => {
  account = await cli().openAccount();
});

const page = 'https://example.com/';

test('docs/cli.md lists the exit code of each code of the service, and whether a retry can help', async () => {
  const rows = [...(await readFile('docs/cli.md', 'utf8')).matchAll(/^\| (\d+) .*$/gm)].map(([row, code]) => ({
    code: Number(code),
    names: [...row.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name),
    retry: row.split('|').at(-2)?.trim(),
  }));
  for (const code of errorCodes) {
    const row = rows.find(({ names }) => names.includes(code));
    const { status, retryable } = errorTable[code];
    expect(row?.code, code).toBe(exitCodes[kindOf(new WebcaptureError(code, '', { status }))]);
    expect(row?.retry, code).toMatch(retryable ? /^yes/ : /^no|except/);
  }
  expect(rows.map(({ code }) => code)).toEqual(
    Object.values(exitCodes).filter((code) => code !== exitCodes.terminated),
  );
});

describe('a failed capture', { tags: 'long' }, () => {
  test.each<[code: RenderFailure, exitCode: number]>([
    ['NAVIGATION_FAILED', 7],
    ['CAPTURE_TIMEOUT', 7],
    ['CAPTURE_FAILED', 7],
    ['PAGE_TOO_LARGE', 7],
    ['STORAGE_FAILED', 8],
    ['INTERNAL_ERROR', 8],
  ])('%s exits with %i', async (code, exitCode) => {
    cli().front.renderer.behavior = (job, renderer) => renderer.fail(job, code, 'It failed.');
    const result = await account.run(['capture', page, '-o', 'failed.png']);
    expect(result.stderr).toBe(
      `webcapture: It failed.${exitCode === 8 ? ' "webcapture status" shows the state of the service.' : ''}\n`,
    );
    expect(result.code).toBe(exitCode);
  });
});

test('a limit exits with 6, and says when to try again', { tags: 'long' }, async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const jobs = cli().front.renderer.jobs.length;
  cli().front.renderer.behavior = async (job, renderer) => {
    await promise;
    await renderer.complete(job);
  };
  const small = await cli().openAccount({ maxInFlight: 1 });
  const { result } = small.start(['capture', page]);
  await until('the first capture to be rendered', () => cli().front.renderer.jobs.length > jobs);
  const refused = await small.run(['capture', page]);
  resolve();
  expect(refused.stderr).toMatch(/at most 1 captures in progress\..* Try again in \d+ s\.\n$/);
  expect(refused.code).toBe(6);
  expect(await result).toMatchObject({ code: 0 });
});

test('a service that is not operational exits with 1', async () => {
  // No controller reports.
  const { code, stdout } = await account.run(['status']);
  expect(stdout.toString()).toContain('The service is degraded');
  expect(code).toBe(1);
});

test('SIGTERM exits with 143', { tags: 'long' }, async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const jobs = cli().front.renderer.jobs.length;
  cli().front.renderer.behavior = async (job, renderer) => {
    await promise;
    await renderer.complete(job);
  };
  const { child, result } = account.start(['capture', page]);
  await until('the capture to be rendered', () => cli().front.renderer.jobs.length > jobs);
  child.kill('SIGTERM');
  expect(await result).toMatchObject({ code: 143, stderr: 'webcapture: Terminated.\n' });
  resolve();
});

test('only errors that a retry can resolve advise a retry', () => {
  for (const code of errorCodes) {
    const { status, retryable } = errorTable[code];
    const { message } = toCliError(new WebcaptureError(code, 'It failed.', { status }));
    if (!retryable) expect(message, code).not.toMatch(/again/i);
  }
  const fromLaterVersion = { status: 500, retryable: false };
  const unknown = toCliError(new WebcaptureError('NEW_CODE' as 'INTERNAL_ERROR', 'It failed.', fromLaterVersion));
  expect(unknown).toMatchObject({ kind: 'unavailable', message: expect.not.stringMatching(/again/i) as string });
  expect(toCliError(new WebcaptureError('TIMEOUT', 'No response.')).message).toContain('Try again later.');
});

test('a batch advises another run only if it can succeed', { tags: 'long' }, async () => {
  const batch = async (code: RenderFailure) => {
    cli().front.renderer.behavior = (job, renderer) => renderer.fail(job, code, 'It failed.');
    const args = ['batch', '-', '-o', join(cli().folder, `batch-${code}`), '--retries', '0'];
    const { code: exitCode, stdout } = await account.run(args, { input: `${page}\n` });
    expect(exitCode).toBe(1);
    return stdout.toString();
  };
  expect(await batch('NAVIGATION_FAILED')).toContain('Run the same command again to retry these.');
  const final = await batch('PAGE_TOO_LARGE');
  expect(final).toContain('A retry cannot succeed. Change the addresses or options of these entries.');
  expect(final).not.toContain('again');
});
