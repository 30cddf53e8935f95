import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { diagnosticsExample } from '../../../services/front/api/capture-examples.ts';
import { plainReport } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { type CliAccount, useCli } from './test-cli.ts';
import { type CommandOptions, runCommand, startCommand } from './command.ts';

const cli = useCli();
let account: CliAccount;
beforeAll(async () => {
  account = await cli().openAccount();
});

const run = (args: readonly string[], options?: CommandOptions) => account.run(args, options);
const lastJob = () => cli().front.renderer.jobs.at(-1) ?? expect.fail('no job came');
const page = 'https://example.com/';

describe('capture', () => {
  test('writes the file in the format of its extension, with options from flags and a file', async () => {
    await writeFile(join(cli().folder, 'options.json'), '{"viewport":{"width":900,"height":500},"block":{"ads":true}}');
    const args = [
      'capture',
      page,
      '-o',
      'out.jpg',
      '--options',
      'options.json',
      '--viewport-width',
      '800',
      '--hide',
      '.a',
      '--hide',
      '.b',
    ];
    const { code, stderr, stdout } = await run(args);
    expect({ code, stdout: stdout.toString() }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^out\.jpg: jpeg, 800 × 500 px, /);
    const job = lastJob();
    expect(await readFile(join(cli().folder, 'out.jpg'))).toEqual(cli().front.renderer.fileOf(job));
    expect(job.options).toMatchObject({
      format: 'jpeg',
      viewport: { width: 800, height: 500 },
      block: { ads: true },
      hide: ['.a', '.b'],
    });
  });

  test('reads HTML from a file or stdin, and writes to stdout', async () => {
    await writeFile(join(cli().folder, 'page.html'), '<p>é</p>');
    expect((await run(['capture', 'page.html', '-o', '-'])).stdout).toEqual(cli().front.renderer.fileOf(lastJob()));
    expect(lastJob().source).toMatchObject({ html: '<p>é</p>' });
    const { stdout } = await run(['capture', '-', '--json', '--format', 'pdf'], { input: 'only text' });
    expect(JSON.parse(stdout.toString())).toMatchObject({ status: 'completed', metadata: { format: 'pdf' } });
    expect(lastJob().source).toMatchObject({ html: 'only text' });
  });

  test('prints the extracted parts: a single text unquoted, several parts as JSON', async () => {
    const { renderer } = cli().front;
    const text = 'Grüße\n\u001b[31m';
    renderer.extracted = { text };
    const one = await run(['capture', page, '--extract', 'text', '-o', 'text.png']);
    expect([one.code, one.stdout.toString()]).toEqual([0, `${text}\n`]);
    renderer.extracted = { text, links: [] };
    const two = await run(['capture', page, '--extract', 'text', '--extract', 'links']);
    expect(JSON.parse(two.stdout.toString())).toEqual(renderer.extracted);
    renderer.extracted = { fields: { title: 'h1' } };
    const fields = await run(['capture', page, '--extract-fields', 'title: h1']);
    expect(JSON.parse(fields.stdout.toString())).toEqual(renderer.extracted);
    expect(lastJob().options.extractFields).toEqual({ title: 'h1' });
    const only = await run(['capture', page, '--extract-fields', 'title: h1', '-o', 'data.json']);
    expect(only.stderr).toMatch(/^data\.json: json, \d+ B, /);
    expect(JSON.parse(await readFile(join(cli().folder, 'data.json'), 'utf8'))).toEqual(renderer.extracted);
    expect(lastJob().options.format).toBe('none');
    const both = await run(['capture', page, '--extract', 'text', '-o', '-']);
    expect([both.code, both.stdout.length]).toEqual([2, 0]);
    expect(both.stderr).toContain('--extract and -o - would both write to standard output');
  });

  test('waits for a background capture if its file is needed', async () => {
    expect(await run(['capture', page, '--background', '-o', 'later.png'])).toMatchObject({ code: 0 });
    expect(await readFile(join(cli().folder, 'later.png'))).toEqual(cli().front.renderer.fileOf(lastJob()));
  });

  test('leaves no partial file when interrupted', { tags: 'long' }, async () => {
    let release: () => void = () => undefined;
    cli().front.renderer.behavior = async (job, renderer) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      await renderer.complete(job);
    };
    const jobs = cli().front.renderer.jobs.length;
    const own = await cli().openAccount();
    const { child, result } = own.start(['capture', page, '-o', 'never.png']);
    await until('the job to be taken', () => cli().front.renderer.jobs.length > jobs);
    child.kill('SIGINT');
    expect(await result).toMatchObject({ code: 130, stderr: 'webcapture: Interrupted.\n' });
    release();
    expect((await readdir(cli().folder)).filter((name) => name.includes('never'))).toEqual([]);
  });
});

describe('an error has an exit code for its kind, and a message', () => {
  test.each<[name: string, args: string[], code: number, message: RegExp]>([
    ['unknown flag', ['capture', page, '--qualty', '1'], 2, /unknown option '--qualty' \(Did you mean --quality\?\)/],
    [
      'short flag',
      ['capture', page, '--width=800'],
      2,
      /unknown option '--width=800' \(Did you mean .*--viewport-width\?\)/,
    ],
    [
      'wrong values',
      ['capture', page, '--quality', '0', '--delay', 'x'],
      2,
      /--quality must be .* from 1 to 100.*; --delay must be|--delay must be .*; --quality must be/,
    ],
    ['extension', ['capture', page, '-o', 'x.gif'], 2, /extension \.gif .* Use \.png, \.jpg, \.webp, \.pdf or \.json/],
    ['contradiction', ['capture', page, '-o', 'x.png', '--format', 'pdf'], 2, /--format pdf does not match/],
    [
      'no file',
      ['capture', 'example.com'],
      2,
      /There is no file example\.com\. For a web page, .*: https:\/\/example\.com/,
    ],
    ['scheme', ['capture', 'file:///etc/passwd'], 2, /file addresses cannot be captured/],
    ['refused by the service', ['capture', page, '--pdf-paper', 'A5'], 3, /pdf/],
    [
      'wrong key',
      ['usage', '--api-key', 'unknown-key-0123'],
      4,
      /This API key does not exist\. Set WEBCAPTURE_API_KEY/,
    ],
    ['capture not there', ['captures', 'get', '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77'], 9, /no capture of that uuid/],
    ['no folder', ['capture', page, '-o', 'nowhere/x.png'], 10, /^webcapture: nowhere does not exist\.$/m],
    ['folder in the way', ['capture', page, '-o', '.'], 10, /\. is a folder, not a file/],
    [
      'no service',
      ['usage', '--server', 'http://127.0.0.1:1'],
      8,
      /ECONNREFUSED|bad port.*Check --server or WEBCAPTURE_URL/,
    ],
    ['no address', ['usage', '--server', 'ftp://x'], 2, /must be an http or https URL/],
  ])('%s', async (_name, args, code, message) => {
    const { tokensUsed } = await account.usage();
    const result = await run(args);
    expect(result.stderr).toMatch(message);
    expect(result).toMatchObject({ code, stdout: Buffer.alloc(0) });
    expect((await account.usage()).tokensUsed).toBe(tokensUsed);
  });

  test('for a failed capture and a used-up quota', async () => {
    cli().front.renderer.behavior = (job, renderer) =>
      renderer.fail(job, 'PAGE_TOO_LARGE', 'The page is \u001b[31mtoo large.');
    expect(await run(['capture', page])).toMatchObject({
      code: 7,
      stderr: 'webcapture: The page is \\u{1b}[31mtoo large.\n',
    });
    const poor = await cli().openAccount({ tokenQuota: 0 });
    const { code, stderr } = await poor.run(['capture', page]);
    expect(stderr).toContain('quota');
    expect(code).toBe(5);
  });

  test('never shows the key', { tags: 'long' }, async () => {
    const secret = 'wc_live_sécret\nkey';
    for (const args of [['usage'], ['capture', page], ['login', '--api-key-stdin']]) {
      const { code, stderr } = await run(args, { env: { WEBCAPTURE_API_KEY: secret }, input: secret });
      expect(stderr).not.toContain('cret');
      expect(code).toBe(2);
    }
  });
});

describe('profiles', () => {
  const home = (name: string) => join(cli().folder, name);
  const bare = (args: readonly string[], env: Record<string, string>, input = '') =>
    runCommand(args, { env, input, cwd: cli().folder, program: cli().program });

  test('are checked, readable only by their owner, and used by name', async () => {
    const env = { XDG_CONFIG_HOME: home('xdg') };
    const path = join(home('xdg'), 'webcapture', 'config.json');
    const wrong = await bare(['login', '--server', cli().front.url, '--api-key-stdin'], env, 'not-a-key');
    expect(wrong).toMatchObject({ code: 4 });
    await expect(stat(path)).rejects.toThrow();
    const login = await bare(['login', '--server', cli().front.url, '--api-key-stdin'], env, `${account.key}\n`);
    expect(login).toMatchObject({ code: 0 });
    expect(login.stderr).not.toContain(account.key);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const other = await cli().openAccount({ ratePerMinute: 77 });
    await bare(['login', '--server', cli().front.url, '--profile', 'other', '--api-key-stdin'], env, other.key);
    expect((await bare(['usage'], env)).stdout.toString()).toContain('77 per minute');
    expect((await bare(['usage', '--profile', 'default'], env)).stdout.toString()).toContain('1000000 per minute');
    expect(await bare(['usage', '--profile', 'nobody'], env)).toMatchObject({ code: 2 });
    // A key is sent only to its own service.
    expect(await bare(['usage', '--server', 'http://127.0.0.1:1'], env)).toMatchObject({ code: 4 });
  });

  test('show the reason of the service for a key that it refuses', async () => {
    const env = { XDG_CONFIG_HOME: home('narrow') };
    const login = (key: string) => bare(['login', '--server', cli().front.url, '--api-key-stdin'], env, key);
    const narrow = (await run(['keys', 'create', 'only captures', '--scopes', 'capture'])).stdout.toString();
    expect((await login(narrow)).stderr).toMatch(/lacks the scope "read".*Saved as profile/);
    const other = await cli().openAccount();
    await other.suspend();
    const { code, stderr } = await login(other.key);
    expect(stderr).toMatch(/account of this API key is suspended.*Saved as profile/);
    expect(stderr).not.toContain('works');
    expect(code).toBe(0);
    const capture = await bare(['capture', page], env);
    expect(capture.stderr).toContain('account of this API key is suspended');
    expect(capture.code).toBe(4);
  });

  test('are refused if other users can read them', async () => {
    const folder = join(home('open'), '.config', 'webcapture');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'config.json'), '{"current":"default","profiles":{}}');
    await chmod(join(folder, 'config.json'), 0o640);
    const { code, stderr } = await bare(['usage'], { HOME: home('open') });
    expect(stderr).toContain(`Run: chmod 600 ${join(folder, 'config.json')}`);
    expect(code).toBe(2);
  });
});

describe('an account can', () => {
  test('list, show, refresh and delete its captures', async () => {
    const { key: _key, ...mine } = await cli().openAccount();
    const own = (...args: string[]) => mine.run(args);
    const title = 'a\u009b2J\u007f\u2028\u202egnp.exe\u2066 \u{e0041} é\u200d';
    cli().front.renderer.behavior = async (job, renderer) => {
      const upload = await renderer.upload(job);
      await renderer.publish(job, { kind: 'completed', upload, report: { ...plainReport, title }, ageMs: 1 });
    };
    const { stdout } = await own('capture', `${page}?\u202eevil`, '--json');
    const { uuid, report } = JSON.parse(stdout.toString()) as { uuid: string; report: { title: string } };
    expect(report.title).toBe(title);
    expect(stdout.toString()).toContain(
      String.raw`"a\u009b2J\u007f\u2028\u202egnp.exe\u2066 \udb40\udc41 é${'\u200d'}"`,
    );
    const list = await own('captures', 'list');
    expect(list.stdout.toString()).toMatch(new RegExp(`^UUID .*\n${uuid}  completed  png .*\n$`));
    expect(JSON.parse((await own('captures', 'list', '--json')).stdout.toString())).toMatchObject([{ uuid }]);
    expect(await own('captures', 'get', uuid, '-o', 'again.png')).toMatchObject({ code: 0 });
    expect(await readFile(join(cli().folder, 'again.png'))).toEqual(cli().front.renderer.fileOf(lastJob()));
    expect(await own('captures', 'refresh', uuid)).toMatchObject({ code: 0 });
    await until('the refresh to end', async () => {
      const { stdout: text } = await own('captures', 'get', uuid, '--json');
      return (JSON.parse(text.toString()) as { refresh: { state: string } }).refresh.state === 'completed';
    });
    const refreshes = (await own('captures', 'history', uuid)).stdout.toString();
    expect(refreshes).toMatch(/^REFRESH +STATE +ACCEPTED +CHANGED +DIFFERENCE OR ERROR\n1 +completed +\S+Z +- +-\n/);
    expect(JSON.parse((await own('captures', 'history', uuid, '--json')).stdout.toString())).toMatchObject({
      refreshes: [{ number: 1 }],
      files: [],
    });
    expect(await own('captures', 'delete', uuid)).toMatchObject({ code: 0 });
    expect((await own('captures', 'list', '--status', 'deleted')).stdout.toString()).toContain(uuid);
  });

  test('show why captures failed: as text, as JSON, as HAR and in a last picture', async () => {
    const { renderer } = cli().front;
    const { uuid: _uuid, refresh: _refresh, expiresAt: _expiresAt, ...diagnostics } = diagnosticsExample;
    const message = {
      ...diagnostics.console[0],
      level: 'error',
      text: '\u001B[2Jboom',
      url: null,
      line: null,
      atMs: 610,
    };
    const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0]);
    renderer.diagnostics = { diagnostics: { ...diagnostics, console: [message] }, picture: jpeg.toString('base64') };
    renderer.behavior = (job) => renderer.fail(job, 'CAPTURE_FAILED', 'it fails');
    expect(await run(['capture', page, '--json'])).toMatchObject({ code: expect.any(Number) });
    const { uuid } = lastJob();
    const shown = await run(['captures', 'show', uuid, '--diagnostics', '--har', 'a.har', '--last-picture', 'a.jpg']);
    const text = shown.stdout.toString();
    expect(text).toMatch(/^0\.66 s +5\.65 s +settle \(failed\)$/m);
    expect(text).toMatch(/^0\.48 s +0\.10 s +500 +41 +fetch +GET +https:\/\/example\.com\/data\.json$/m);
    // Control characters of a page are escaped for the terminal.
    expect(text).toMatch(/^0\.61 s +error +- +\\u\{1b\}\[2Jboom$/m);
    expect(JSON.parse(await readFile(join(cli().folder, 'a.har'), 'utf8'))).toMatchObject({ log: { version: '1.2' } });
    expect(await readFile(join(cli().folder, 'a.jpg'))).toEqual(jpeg);
    const asked = await run(['captures', 'get', uuid, '--diagnostics', '--json']);
    expect(JSON.parse(asked.stdout.toString())).toMatchObject({ uuid, requestCount: 7 });
    renderer.diagnostics = null;
    await run(['capture', page, '--json']);
    const { code, stderr } = await run(['captures', 'show', lastJob().uuid, '--diagnostics']);
    expect([code, stderr]).toEqual([9, expect.stringContaining('has no diagnostics')]);
  });

  test('create, use, rotate and revoke its keys', async () => {
    const created = await run(['keys', 'create', 'for CI', '--scopes', 'read']);
    const key = created.stdout.toString().trim();
    const id = created.stderr.split(':', 1)[0] ?? '';
    expect(key).toMatch(/^wc_live_/);
    expect(await run(['usage'], { env: { WEBCAPTURE_API_KEY: key } })).toMatchObject({ code: 0 });
    expect(await run(['keys', 'list'], { env: { WEBCAPTURE_API_KEY: key } })).toMatchObject({ code: 4 });
    const rotated = await run(['keys', 'rotate', id, '--grace-seconds', '0', '--json']);
    const next = JSON.parse(rotated.stdout.toString()) as { id: string; key: string };
    expect(next.key).not.toBe(key);
    expect((await run(['keys', 'revoke', next.id])).stdout.toString()).toBe(`Revoked ${next.id}.\n`);
    expect((await run(['keys', 'list'])).stdout.toString()).toMatch(new RegExp(`${next.id} +revoked +read .*for CI`));
  });
});

test('devices lists what --device accepts', async () => {
  const list = (await run(['devices'])).stdout.toString();
  expect(list).toMatch(/^DEVICE +VIEWPORT +SCALE +KIND\n/);
  expect(list).toMatch(/^iPhone 15 +393 × 659 +3 +mobile$/m);
  const devices = JSON.parse((await run(['devices', '--json'])).stdout.toString()) as unknown[];
  expect(devices).toContainEqual(expect.objectContaining({ name: 'iPhone 15' }));
});

test('status --watch repeats until Ctrl-C', { tags: 'long' }, async () => {
  const { child, result } = startCommand(
    ['status', '--watch', '--json', '--interval', '1', '--server', cli().front.url],
    { program: cli().program },
  );
  let lines = 0;
  child.stdout?.on('data', (chunk: Buffer) => (lines += chunk.toString().split('\n').length - 1));
  await until('two requests', () => lines >= 2);
  child.kill('SIGINT');
  expect(await result).toMatchObject({ code: 130 });
});

test('diff exits with 1 and draws the differences if they exceed the threshold', async () => {
  const picture = (name: string, height: number, red: number) => {
    const pixels = Array.from({ length: 20 * height }, (_, pixel) => [pixel < red ? 255 : 0, 0, 0]);
    return sharp(Buffer.from(pixels.flat()), { raw: { width: 20, height, channels: 3 } }).toFile(
      join(cli().folder, name),
    );
  };
  await Promise.all([picture('a.png', 10, 0), picture('b.png', 10, 40), picture('c.png', 12, 0)]);
  expect(await run(['diff', 'a.png', 'a.png'])).toMatchObject({ code: 0 });
  expect(await run(['diff', 'a.png', 'b.png', '--max-diff', '20%'])).toMatchObject({ code: 0 });
  const { code, stdout } = await run(['diff', 'a.png', 'b.png', '-o', 'd.png', '--json']);
  expect(code).toBe(1);
  expect(JSON.parse(stdout.toString())).toMatchObject({
    differs: true,
    differentPixels: 40,
    totalPixels: 200,
    share: 0.2,
  });
  const drawn = await sharp(join(cli().folder, 'd.png')).raw().toBuffer();
  expect([...drawn.subarray(0, 4)]).toEqual([255, 0, 0, 255]);
  const sizes = await run(['diff', 'a.png', 'c.png']);
  expect(sizes.stdout.toString()).toBe(
    'The sizes differ: 20 × 10 and 20 × 12 pixels.\n16.7% differ: 40 of 240 pixels.\n',
  );
  expect(await run(['diff', 'a.png', 'page.html'])).toMatchObject({ code: 2 });
});
