import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Journal } from '../../../services/cli/batch/journal.ts';
import { serve } from '../../harness/static-site.ts';
import { journalOf } from './batch-output.ts';
import { useCli } from './test-cli.ts';

const cli = useCli();

describe('a folder is locked', () => {
  const openLocked = async (name: string, lock: string) => {
    const folder = join(cli().folder, name);
    await mkdir(folder);
    await writeFile(join(folder, '.webcapture-batch.lock'), lock);
    await using _journal = await Journal.open(folder, 'https://example.com');
    return await readFile(join(folder, '.webcapture-batch.lock'), 'utf8');
  };

  test('by a process of another host with any id, and by one of this host', async () => {
    await expect(openLocked('other-host', `${process.pid} elsewhere`)).rejects.toThrow(
      /Process \d+ of elsewhere is using .*; if it is no longer running, remove .*\.lock\./,
    );
    await expect(openLocked('running', `${process.ppid} ${hostname()}`)).rejects.toThrow('is using');
    // The lock belongs to a process that is about to write its process id.
    await expect(openLocked('begun', '')).rejects.toThrow('Another process is using');
  });

  test('until its process has ended', async () => {
    const gone = spawnSync('true').pid;
    expect(await openLocked('gone', `${gone} ${hostname()}`)).toBe(`${process.pid} ${hostname()}`);
    expect(await openLocked('restarted', `${process.pid} ${hostname()}`)).toBe(`${process.pid} ${hostname()}`);
    expect(await readdir(join(cli().folder, 'gone'))).toEqual(['.webcapture-batch.jsonl']);
  });
});

describe('an untrusted output folder', () => {
  const uuid = '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77';
  const first = (service: string) => ({ type: 'batch', version: 1, service, at: '2026-01-01T00:00:00.000Z' });
  const begun = (file: string) => ({ type: 'begun', id: 'a', key: 'k', file, url: 'https://example.com/' });
  const linesOf = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

  test('is refused and left unchanged if its file is not the journal of a batch', async () => {
    const service = 'https://capture.example.com';
    const page = { title: '', format: 'png', width: 1, height: 1, httpStatus: 200, remarks: [] };
    const captured = { type: 'captured', id: 'a', uuid, fileUrl: 'http://evil.test/', ...page };
    const journals = [
      'SECRET=1\n',
      'a line that has no end',
      linesOf([begun('a.png'), captured]),
      linesOf([first(service), { type: 'unknown' }]),
      linesOf([first(service), begun('a.png'), { ...captured, uuid: '..' }]),
      ...['../.git-like/config', '/etc/x.png', 'a/../../x.png', 'C:\\x.png', '.git/x.png', 'index.html', ''].map(
        (file) => linesOf([first(service), begun(file), captured]),
      ),
    ];
    const folder = await mkdtemp(join(cli().folder, 'foreign-'));
    const path = join(folder, '.webcapture-batch.jsonl');
    for (const journal of journals) {
      await writeFile(path, journal);
      await expect(Journal.open(folder, service), journal).rejects.toMatchObject({
        kind: 'usage',
        message: expect.stringContaining('is not the journal of a batch') as string,
      });
      expect(await readFile(path, 'utf8')).toBe(journal);
    }
    // Complete lines are kept, even if the process was killed immediately.
    for (const [journal, states] of [
      [linesOf([first(service)]).slice(0, 30), 0],
      [`${linesOf([first(service), begun(`${'a'.repeat(120)}-100000.webp`)])}{"type":"sav`, 1],
    ] as const) {
      await writeFile(path, journal);
      await using opened = await Journal.open(folder, service);
      expect(opened.states.size).toBe(states);
    }
  });

  test('is refused if its journal is a link', async () => {
    const folder = await mkdtemp(join(cli().folder, 'linked-'));
    const target = join(cli().folder, 'of-the-user');
    await writeFile(target, '');
    await symlink(target, join(folder, '.webcapture-batch.jsonl'));
    await expect(Journal.open(folder, 'https://capture.example.com')).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('is not a regular file') as string,
    });
    expect(await readFile(target, 'utf8')).toBe('');
  });

  test('cannot change the source of files, or their target through links', async () => {
    const account = await cli().openAccount();
    const asked: (string | undefined)[] = [];
    await using evil = await serve((request, response) => {
      asked.push(request.url);
      response.end('payload');
    });
    const out = join(cli().folder, 'steered');
    const picture = join(out, 'home.png');
    const input = '{"url": "https://example.com/steered", "file": "home"}\n';
    const batch = (env = {}, more = '') => account.run(['batch', '-', '-o', out], { input: input + more, env });
    expect(await batch()).toMatchObject({ code: 0 });
    const whole = await readFile(picture);

    /** Changes the journal as if the picture had not been saved and its file had another address. */
    const steer = async (changes: object) => {
      const path = join(out, '.webcapture-batch.jsonl');
      const lines = (await journalOf(out)).filter(({ type }) => type !== 'saved');
      await writeFile(path, linesOf(lines.map((line) => (line.type === 'captured' ? { ...line, ...changes } : line))));
      await rm(picture);
    };
    await steer({ fileUrl: `${evil.url}/payload` });
    expect(await batch()).toMatchObject({ code: 0 });
    expect(await readFile(picture)).toEqual(whole);

    const created = await account.run(['keys', 'create', 'may not read', '--scopes', 'capture']);
    await steer({ fileUrl: `${evil.url}/payload` });
    expect(await batch({ WEBCAPTURE_API_KEY: created.stdout.toString().trim() })).toMatchObject({ code: 0 });
    expect(await readFile(picture)).toEqual(whole);
    expect((await account.usage()).tokensUsed).toBe(1);

    await steer({ fileUrl: `${evil.url}/payload`, uuid });
    const outside = await mkdtemp(join(cli().folder, 'outside-'));
    await writeFile(join(outside, '.webcapture-0123456789ab.tmp'), 'of another program');
    await symlink(outside, join(out, 'sub'));
    const { code, stderr } = await batch({}, '{"url": "https://example.com/linked", "file": "sub/x"}');
    expect({ code, stderr }).toMatchObject({ code: 10, stderr: expect.stringContaining('sub is a link') as string });
    expect(await readdir(outside)).toEqual(['.webcapture-0123456789ab.tmp']);
    expect(asked).toEqual([]);
  });

  test('has no file that is written through a link, to a device or another file', { tags: 'long' }, async () => {
    const account = await cli().openAccount();
    const out = join(cli().folder, 'through-links');
    const batch = (file: string) =>
      account.run(['batch', '-', '-o', out], { input: `{"url": "https://example.com/${file}", "file": "${file}"}\n` });
    expect(await batch('first')).toMatchObject({ code: 0 });
    const { tokensUsed } = await account.usage();

    const target = join(cli().folder, 'of-another');
    await writeFile(target, 'unchanged');
    for (const [file, to] of [
      ['device', '/dev/null'],
      ['linked', target],
    ] as const) {
      const path = join(out, `${file}.png`);
      await symlink(to, path);
      const { code, stderr } = await batch(file);
      expect({ code, stderr }).toMatchObject({
        code: 10,
        stderr: expect.stringContaining(`${path} is not a regular file`) as string,
      });
    }
    await rm(join(out, 'index.html'));
    await symlink('/dev/null', join(out, 'index.html'));
    const { code, stderr } = await batch('second');
    expect({ code, stderr }).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('index.html is not a regular file') as string,
    });
    expect(await readFile(target, 'utf8')).toBe('unchanged');
    // Each link is detected before a capture is charged.
    expect((await account.usage()).tokensUsed).toBe(tokensUsed);
  });
});
