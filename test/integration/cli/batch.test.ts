// @module-tag long
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { until } from '../../harness/until.ts';
import { addresses, journalOf, pictures } from './batch-output.ts';
import { type CommandOptions, fromSources } from './command.ts';
import { useCli } from './test-cli.ts';

const cli = useCli();

/** Completes the first jobs at once, and holds the others until the returned function is called. */
function completeFirst(count: number): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  let jobs = 0;
  cli().front.renderer.behavior = async (job, renderer) => {
    if (++jobs > count) await promise;
    await renderer.complete(job);
  };
  return resolve;
}

describe('a batch captures each entry once', () => {
  test('if the rate limit refuses most requests at first', async () => {
    // A batch starts with four concurrent requests, of which one is accepted.
    const account = await cli().openAccount({ ratePerMinute: 60, burst: 1 });
    const out = join(cli().folder, 'rate');
    const { code, stderr, stdout } = await account.run(['batch', '-', '-o', out, '--concurrency', '30'], {
      input: addresses(6, 'rate'),
      program: fromSources,
    });
    expect({ code, stdout: stdout.toString() }).toEqual({
      code: 0,
      stdout: `6 of 6 captured; ${join(out, 'index.html')} shows them.\n`,
    });
    expect(stderr).toContain('for the rate limit');
    expect(await pictures(out)).toHaveLength(6);
    expect((await account.usage()).tokensUsed).toBe(6);
  });

  test('if it is killed and restarted', async () => {
    const account = await cli().openAccount();
    const out = join(cli().folder, 'killed');
    const completeOthers = completeFirst(15);
    const args = ['batch', '-', '-o', out, '--concurrency', '6'];
    const input = addresses(60, 'killed');
    const { child, result } = account.start(args, { input });
    await until('a part of the batch to be done', async () => (await pictures(out)).length >= 15);
    child.kill('SIGKILL');
    await result;
    completeOthers();
    const before = await journalOf(out);
    expect(before.length).toBeLessThan(180);

    const again = await account.run(args, { input });
    expect(again.stderr).toMatch(/^Continuing: \d+ of 60 captured\./);
    expect(again.code).toBe(0);
    expect(await pictures(out)).toHaveLength(60);
    const keys = (await journalOf(out)).flatMap(({ key }) => key ?? []);
    expect(keys).toHaveLength(60);
    await until('the captures of the killed process to be settled', async () => (await account.usage()).inFlight === 0);
    expect((await account.usage()).tokensUsed).toBe(60);
  });

  test('if it is interrupted, and then writes an index page of the finished captures', async () => {
    const account = await cli().openAccount();
    const out = join(cli().folder, 'interrupted');
    const completeOthers = completeFirst(5);
    const input = addresses(40, 'interrupted');
    const { child, result } = account.start(['batch', '-', '-o', out], { input });
    await until('a part of the batch to be done', async () => (await pictures(out)).length >= 5);
    child.kill('SIGINT');
    const { code, stderr } = await result;
    completeOthers();
    expect(code).toBe(130);
    expect(stderr).toMatch(/webcapture: Interrupted\. \d+ of 40 captured\. Run the same command again to continue/);
    expect(await readFile(join(out, 'index.html'), 'utf8')).toMatch(/\d+ of 40 captured, \d+ not captured yet/);
    expect((await account.run(['batch', '-', '-o', out], { input })).code).toBe(0);
    await until('all captures to be settled', async () => (await account.usage()).inFlight === 0);
    expect((await account.usage()).tokensUsed).toBe(40);
  });

  test('if the disk is full, after space is available again', async () => {
    const account = await cli().openAccount();
    const out = join(cli().folder, 'full');
    const args = ['batch', '-', '-o', out, '--concurrency', '2'];
    const input = addresses(30, 'full');
    await mkdir(out);
    await using disk = await smallDisk(out, 200);
    const { program } = disk;
    cli().front.renderer.bytes = Buffer.alloc(20_000);
    const { code, stderr } = await account.run(args, { input, program });
    expect(stderr).toMatch(
      /(The disk is full: .* could not be written|is larger than the file system allows)\. .* of 30 captured\. Run the same command again/,
    );
    expect(code).toBe(10);
    expect((await readdir(out)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await disk.grow();
    expect((await account.run(args, { input })).code).toBe(0);
    expect(await pictures(out)).toHaveLength(30);
    await until('all captures to be settled', async () => (await account.usage()).inFlight === 0);
    expect((await account.usage()).tokensUsed).toBe(30);
  });

  test('if under a rate limit the disk is full and then its process is killed', async () => {
    const account = await cli().openAccount({ ratePerMinute: 240, burst: 2 });
    const out = join(cli().folder, 'all');
    const args = ['batch', '-', '-o', out, '--concurrency', '4'];
    const input = addresses(16, 'all');
    await mkdir(out);
    await using disk = await smallDisk(out, 150);
    cli().front.renderer.bytes = Buffer.alloc(20_000);
    const full = await account.run(args, { input, program: disk.program });
    expect(full.code).toBe(10);
    await disk.grow();

    const { child, result } = account.start(args, { input });
    await until('more of the batch to be done', async () => (await pictures(out)).length >= 9);
    child.kill('SIGKILL');
    expect((await result).signal).toBe('SIGKILL');
    const again = await account.run(args, { input });
    expect(again.stderr).toMatch(/^Continuing: \d+ of 16 captured\./);
    expect(again.code).toBe(0);
    expect(full.stderr + again.stderr).toContain('for the rate limit');
    expect(await pictures(out)).toHaveLength(16);
    await until('all captures to be settled', async () => (await account.usage()).inFlight === 0);
    expect((await account.usage()).tokensUsed).toBe(16);
  });
});

test('a picture that was removed is reported as missing', async () => {
  const account = await cli().openAccount();
  const out = join(cli().folder, 'missing');
  const args = ['batch', '-', '-o', out, '--concurrency', '1'];
  const input = addresses(2, 'missing');
  let jobs = 0;
  cli().front.renderer.behavior = async (job, renderer) => {
    if (++jobs === 2) await rm(join(out, 'example.com-missing-0.png'));
    await renderer.complete(job);
  };
  const { code, stdout } = await account.run(args, { input });
  expect(stdout.toString()).toMatch(/^1 of 2 captured.*\n1 missing: .*\nRun the same command again/);
  expect(code).toBe(1);
  expect(await account.run(args, { input })).toMatchObject({ code: 0 });
  expect(await pictures(out)).toHaveLength(2);
});

interface SmallDisk extends AsyncDisposable {
  /** Runs the command line with the limited space. */
  readonly program: CommandOptions['program'];
  /** Removes the limit of the space. */
  grow(): Promise<void>;
}

/** Returns a folder with limited space. If mounting a file system is not possible, the size of each file is limited instead. */
async function smallDisk(folder: string, kibibytes: number): Promise<SmallDisk> {
  const run = promisify(execFile);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', folder]);
  } catch {
    const limit = `ulimit -f 4; exec "$0" "$@"`;
    return {
      program: ['bash', '-c', limit, ...cli().program],
      grow: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  return {
    program: cli().program,
    grow: async () => void (await run('mount', ['-o', 'remount,size=10m', folder])),
    async [Symbol.asyncDispose]() {
      await run('umount', [folder]);
    },
  };
}
