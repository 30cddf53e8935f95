import { mkdtempDisposable, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { documentScript } from '@webcapture/shared/documents/write-document.ts';
import { runConfined } from '@webcapture/shared/runtime/confined-process.ts';

/** Runs a script as the process that writes PDFs, and lets it read its own file. */
async function run(source: string, limits: { readonly maxOutputBytes?: number; readonly maxCpuSeconds?: number } = {}) {
  await using folder = await mkdtempDisposable(join(await realpath(tmpdir()), 'confined-'));
  const path = join(folder.path, 'script.mjs');
  await writeFile(path, source);
  const nodeOptions = [...documentScript.nodeOptions, `--allow-fs-read=${path}`];
  const end = await runConfined({ ...documentScript, nodeOptions, path, ...limits }, [], AbortSignal.timeout(60_000));
  return { ...end, output: end.output.toString() };
}

test('the process has no environment, and ends without a core dump', async () => {
  const { code, output } = await run(`
    console.log(Object.keys(process.env).filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name)).join());
    const { userLimits } = process.report.getReport();
    console.log(JSON.stringify([userLimits.core_file_size_blocks, userLimits.data_seg_size_bytes, userLimits.cpu_time_seconds]));
  `);
  expect({ code, output }).toEqual({
    code: 0,
    output: `\n${JSON.stringify([
      { soft: 0, hard: 0 },
      { soft: documentScript.maxDataKiB * 1024, hard: documentScript.maxDataKiB * 1024 },
      { soft: documentScript.maxCpuSeconds, hard: documentScript.maxCpuSeconds },
    ])}\n`,
  });
});

test.each([
  ['reads no other file', `(await import('node:fs')).readFileSync('/etc/passwd')`],
  ['writes no file', `(await import('node:fs')).writeFileSync('/tmp/written-by-a-confined-process', '')`],
  ['starts no process', `(await import('node:child_process')).spawnSync('true')`],
  ['starts no thread', `new (await import('node:worker_threads')).Worker('', { eval: true })`],
])('the process that writes PDFs %s', async (_name, statement) => {
  const { code, output } = await run(
    `try { ${statement}; console.log('done') } catch ({ code }) { console.log(code) }`,
  );
  expect({ code, output }).toEqual({ code: 0, output: 'ERR_ACCESS_DENIED\n' });
});

test('a process that writes too much output is killed', async () => {
  const endless = `const write = () => process.stdout.write('a'.repeat(65_536), write); write();`;
  const { code, output } = await run(endless, { maxOutputBytes: 1_000_000 });
  expect(code).toBeNull();
  expect(output.length).toBeGreaterThan(1_000_000);
});

test('a process that uses too much CPU time is killed', async () => {
  expect(await run('for (;;);', { maxCpuSeconds: 1 })).toMatchObject({ code: null });
});

test('the end of the error output of a process is kept as the reason', async () => {
  const { code, reason } = await run(`process.stderr.write('a'.repeat(1000) + 'end'); process.exitCode = 3;`);
  expect({ code, reason }).toEqual({ code: 3, reason: `${'a'.repeat(497)}end` });
});
