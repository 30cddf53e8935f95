import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { runChecks, type Check } from '../../check-runs.ts';

/** A Git repository with a check that fails while a file in `src` contains `bad`, and the number of its runs. */
async function repository() {
  const folder = await mkdtemp(join(inject('tempFolder'), 'check-'));
  const root = join(folder, 'root');
  const log = join(folder, 'runs');
  await writeFile(log, '');
  const write = async (path: string, content: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  await write('src/a.ts', 'good');
  await write('src/b.ts', 'good');
  await write('README.md', 'good');
  await write('.gitignore', 'ignored/\nnode_modules/\n');
  await write('node_modules/.package-lock.json', '{}');
  const git = (...args: string[]) => promisify(execFile)('git', args, { cwd: root });
  await git('init', '--quiet');
  await git('add', 'src/a.ts');
  const check = (script = '! grep -rl bad src'): Check => ({
    name: 'no bad word',
    command: ['sh', '-c', `echo run >> ${log}; ${script}`],
    dependsOn: (path) => !path.endsWith('.md'),
  });
  const run = async (which = check()) => {
    const [result] = await runChecks([which], { root, recordFolder: join(folder, 'records'), report: () => undefined });
    return result;
  };
  const runs = async () => (await readFile(log, 'utf8')).split('\n').length - 1;
  return { root, write, git, check, run, runs };
}

describe('a check of npm run check', () => {
  test('is not repeated if its inputs have not changed since it passed', async () => {
    const { write, git, run, runs } = await repository();
    expect(await run()).toMatchObject({ name: 'no bad word', outcome: 'passed', text: '' });
    expect(await run()).toMatchObject({ outcome: 'unchanged' });
    await write('README.md', 'bad');
    await write('ignored/c.ts', 'bad');
    await git('add', 'src/b.ts');
    expect(await run()).toMatchObject({ outcome: 'unchanged' });
    expect(await runs()).toBe(1);
  });

  test('fails again at each run until the error is fixed', async () => {
    const { write, run, runs } = await repository();
    await run();
    await write('src/a.ts', 'bad');
    for (const _ of [1, 2]) expect(await run()).toMatchObject({ outcome: 'failed', text: 'src/a.ts\n' });
    await write('src/a.ts', 'good');
    expect(await run()).toMatchObject({ outcome: 'unchanged' });
    await write('src/a.ts', 'better');
    expect(await run()).toMatchObject({ outcome: 'passed' });
    expect(await runs()).toBe(4);
  });

  test('detects an edit that keeps the size and the times of the file', async () => {
    const { root, write, run } = await repository();
    await write('src/a.ts', 'dab');
    await run();
    const { atime, mtime } = await stat(join(root, 'src/a.ts'));
    await write('src/a.ts', 'bad');
    await utimes(join(root, 'src/a.ts'), atime, mtime);
    expect(await run()).toMatchObject({ outcome: 'failed' });
  });

  test.each<[string, (write: (path: string, content: string) => Promise<void>, root: string) => Promise<void>]>([
    ['a tracked file', (write) => write('src/a.ts', 'new')],
    ['a file that Git does not track', (write) => write('src/b.ts', 'new')],
    ['a file that is added', (write) => write('src/c.ts', 'new')],
    ['a file that is removed', (_, root) => rm(join(root, 'src/a.ts'))],
    ['an installed package', (write) => write('node_modules/.package-lock.json', '{"packages": {}}')],
  ])('is repeated after a change of %s', async (_, change) => {
    const { root, write, run } = await repository();
    await run();
    await change(write, root);
    expect(await run()).toMatchObject({ outcome: 'passed' });
    expect(await run()).toMatchObject({ outcome: 'unchanged' });
  });

  test('is repeated when its own command changes', { tags: 'long' }, async () => {
    const { check, run } = await repository();
    await run();
    expect(await run(check('! grep -rl good src'))).toMatchObject({ outcome: 'failed' });
  });

  test('is repeated if a file was edited during the run that passed', async () => {
    const { root, write, check, run } = await repository();
    await write('ignored/edit', '');
    const edits = check('! grep -rl bad src && if test -e ignored/edit; then echo bad > src/a.ts; fi');
    expect(await run(edits)).toMatchObject({ outcome: 'passed' });
    // The file has its content from before the edit. Whether the check read it before or after is unknown.
    await write('src/a.ts', 'good');
    await rm(join(root, 'ignored/edit'));
    expect(await run(edits)).toMatchObject({ outcome: 'passed' });
    expect(await run(edits)).toMatchObject({ outcome: 'unchanged' });
  });

  test('is repeated each time without Git', async () => {
    const { root, run, runs } = await repository();
    await rm(join(root, '.git'), { recursive: true });
    for (const _ of [1, 2]) expect(await run()).toMatchObject({ outcome: 'passed' });
    expect(await runs()).toBe(2);
  });

  test('is repeated each time if it does not declare its inputs', async () => {
    const { run, check, runs } = await repository();
    const { name, command } = check();
    for (const _ of [1, 2]) expect(await run({ name, command })).toMatchObject({ outcome: 'passed' });
    expect(await runs()).toBe(2);
  });

  test('is skipped if it says so, and repeated at the next run', async () => {
    const { run, check, runs } = await repository();
    const skips = check('echo SKIPPED: no answer');
    for (const _ of [1, 2]) expect(await run(skips)).toMatchObject({ outcome: 'skipped', text: 'no answer' });
    expect(await runs()).toBe(2);
  });

  test('gets its variables, unless the environment sets them', async () => {
    const { run, check } = await repository();
    const env = { PATH: '/nowhere', GOGC_OF_TEST: 'off' };
    const prints = check('echo $GOGC_OF_TEST; [ "$PATH" = /nowhere ]');
    expect(await run({ ...prints, env })).toMatchObject({ outcome: 'failed', text: 'off\n' });
  });
});
