import { execFile } from 'node:child_process';
import { copyFile, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { buildClient } from '../../../services/client/tools/build.ts';
import { presetKey, startTestFront } from '../front/test-front.ts';

const run = promisify(execFile);
const tsc = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url));

test(
  'the packed client can be installed in an empty project, type-checked and run against a front',
  { tags: 'long' },
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'client-'));
    await using front = await startTestFront();
    const cwd = folder.path;
    const built = join(cwd, 'built');
    await buildClient(pathToFileURL(`${built}/`));
    const { stdout: archive } = await run('npm', ['pack', '--silent', built], { cwd });

    await writeFile(join(cwd, 'package.json'), JSON.stringify({ type: 'module', private: true }));
    // The npm cache has its dependencies, as this repository uses them, too.
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${archive.trim()}`], { cwd });
    await copyFile(new URL('consumer.ts', import.meta.url), join(cwd, 'consumer.ts'));
    const strict = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--noEmit'];
    await run(tsc, [...strict, 'consumer.ts'], { cwd });
    const { stdout } = await run(process.execPath, ['consumer.ts', front.url, presetKey], { cwd });
    expect(JSON.parse(stdout)).toEqual(['completed webp', true]);
  },
);
