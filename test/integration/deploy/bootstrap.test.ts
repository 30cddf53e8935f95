// @module-tag long
import { execFile, spawn } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { once } from '../../harness/once.ts';
import { patient, processesNaming, tempDir } from './support.ts';

const localFolder = new URL('../../../deploy/local/', import.meta.url);

/** A repository with one package in a local folder, so that npm needs no registry. */
const repository = template(async (root) => {
  await mkdir(join(root, 'deploy', 'local'), { recursive: true });
  for (const name of (await readdir(localFolder)).filter((file) => file.endsWith('.mjs'))) {
    await cp(new URL(name, localFolder), join(root, 'deploy', 'local', name));
  }
  await mkdir(join(root, 'gadget'));
  await writePackage(join(root, 'gadget'), { name: 'gadget', version: '1.0.0' });
  await writePackage(root, {
    name: 'repository',
    private: true,
    type: 'module',
    dependencies: { gadget: 'file:gadget' },
  });
  await npm(root, 'install', '--package-lock-only');
  await writeFile(
    join(root, 'task.ts'),
    `const code: number = 7; console.log('ran', ...process.argv.slice(2)); process.exit(code);`,
  );
});

/** The same repository with its package installed. */
const installedRepository = template(async (root) => {
  await copy(await repository(), root);
  await bootstrap(root, 'task.ts');
});

/** Makes a folder once, because npm is slow, and gives each test a copy. */
function template(fill: (root: string) => Promise<void>): () => Promise<string> {
  const filled = once(async () => {
    const root = await mkdtemp(join(inject('tempFolder'), 'template-'));
    await fill(root);
    return root;
  });
  return async () => {
    const root = await tempDir();
    await copy(await filled(), root);
    return root;
  };
}

const copy = (from: string, to: string) => cp(from, to, { recursive: true, verbatimSymlinks: true });

const writePackage = (folder: string, content: object) =>
  writeFile(join(folder, 'package.json'), JSON.stringify(content));

const npm = (cwd: string, ...args: string[]) =>
  promisify(execFile)('npm', [...args, '--no-audit', '--no-fund', '--offline'], { cwd });

const bootstrap = (root: string, ...args: string[]) => told(start(root, ...args)).end;

/** Collects the output of a process. Returns a function for the output so far, and a promise for the exit code with the whole output. */
function told(child: { readonly stdout: Readable; readonly stderr: Readable } & EventEmitter) {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const end = new Promise<{ code: number | null; text: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, text })),
  );
  return { text: () => text, end };
}

const start = (root: string, ...args: string[]) =>
  spawn(process.execPath, [join(root, 'deploy/local/bootstrap.mjs'), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** Starts a command in its own terminal, whose keyboard is the standard input of the child. */
function startInTerminal(cwd: string, command: readonly string[]) {
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command.join(' '), '/dev/null'], {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

// Timeout that is long enough for npm.
describe('bootstrap', { timeout: 180_000 }, () => {
  test('installs only if the installed packages are outdated', async () => {
    const root = await repository();
    const first = await bootstrap(root, 'task.ts', 'a', 'b');
    expect(first.text).toMatch(/^Installing the packages .*\nInstalled the packages in \d+ s\.\nran a b\n$/);
    expect(first.code).toBe(7);
    expect(await bootstrap(root, 'task.ts', 'c')).toEqual({ code: 7, text: 'ran c\n' });

    await rm(join(root, 'node_modules'), { recursive: true });
    expect((await bootstrap(root, 'task.ts')).text).toMatch(/^Installing/);

    await npm(root, 'uninstall', 'gadget', '--no-save');
    expect((await bootstrap(root, 'task.ts')).text).toMatch(/^Installing/);
  });

  test('runs the installation once if started twice concurrently', async () => {
    const root = await repository();
    // npm waits here until both processes have come to this point.
    await writePackage(root, {
      name: 'repository',
      private: true,
      type: 'module',
      dependencies: { gadget: 'file:gadget' },
      scripts: { preinstall: 'until test -e go; do sleep 0.1; done' },
    });
    const children = [start(root, 'task.ts'), start(root, 'task.ts')];
    onTestFinished(() => children.forEach((child) => child.kill('SIGKILL')));
    const ends = children.map((child) => told(child));
    await expect
      .poll(() => ends.map(({ text }) => text()).join(''), patient)
      .toContain('Another process is installing');
    await writeFile(join(root, 'go'), '');
    const both = await Promise.all(ends.map(({ end }) => end));
    expect(both.map(({ code }) => code)).toEqual([7, 7]);
    expect(both.filter(({ text }) => text.includes('Installed the packages'))).toHaveLength(1);
    expect(both.filter(({ text }) => text.startsWith('Another process is installing'))).toHaveLength(1);
  });

  test('takes over the lock of a process that ended', async () => {
    const root = await repository();
    await mkdir(join(root, '.cache'));
    const dead = spawn('true');
    await new Promise((resolve) => dead.once('exit', resolve));
    await writeFile(join(root, '.cache', 'npm-ci.lock'), String(dead.pid));
    expect((await bootstrap(root, 'task.ts')).text).toMatch(/^Installing/);
  });

  test('shows the error of npm and the command to run when it fails', async () => {
    const root = await repository();
    await writePackage(root, { name: 'repository', dependencies: { gadget: 'file:gadget', other: 'file:other' } });
    const lock = join(root, 'package-lock.json');
    await writeFile(lock, (await readFile(lock, 'utf8')).replaceAll('"gadget"', '"gizmo"'));
    const { code, text } = await bootstrap(root, 'task.ts');
    expect(code).toBe(1);
    expect(text).toMatch(
      /npm error [^]*\nThe packages could not be installed\. Run this line to see more:\n {2}npm ci\n$/,
    );
    expect(text).not.toContain('    at ');
  });

  test('forwards signals, and ends its child when it is killed', async () => {
    const root = await installedRepository();
    await writeFile(
      join(root, 'patient.ts'),
      `for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => { console.log(signal); });
       process.on('disconnect', () => process.exit(0));
       setInterval(() => {}, 1000);
       console.log('up');`,
    );
    const child = start(root, 'patient.ts');
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await expect.poll(() => text, patient).toBe('up\n');
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      child.kill(signal);
      await expect.poll(() => text, patient).toMatch(new RegExp(`${signal}\n$`));
    }
    child.kill('SIGKILL');
    await expect.poll(() => processesNaming(root), patient).toEqual([]);
  });

  test('in a terminal, stops its child after a signal to itself, and once after Ctrl-C', async () => {
    const root = await installedRepository();
    const stopSignals = new URL('stop-signals.ts', localFolder).href;
    await writeFile(
      join(root, 'orderly.ts'),
      `import { onStopSignals } from '${stopSignals}';
       onStopSignals((why) => { console.log('stop ' + why); setTimeout(() => process.exit(0), 600); }, () => console.log('at once'));
       setInterval(() => {}, 1000);
       console.log('up ' + process.ppid);`,
    );
    const command = [process.execPath, join(root, 'deploy/local/bootstrap.mjs'), 'orderly.ts'];
    for (const stop of ['a signal', 'Ctrl-C']) {
      const terminal = startInTerminal(root, command);
      const { text, end } = told(terminal);
      await expect.poll(text, patient).toMatch(/^up \d+\s*$/);
      if (stop === 'Ctrl-C') terminal.stdin.write('\u0003');
      else process.kill(Number(/\d+/.exec(text())?.[0]), 'SIGINT');
      expect((await end).text.replaceAll('^C', '').trim().split(/\s*\n/).slice(1), stop).toEqual(['stop SIGINT']);
    }
    expect(await processesNaming(root)).toEqual([]);
  });
});
