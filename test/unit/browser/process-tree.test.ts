import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { ProcessTable } from '../../../services/renderer/browser/process-tree.ts';

const spawned: ReturnType<typeof spawn>[] = [];

afterEach(() => {
  for (const { pid } of spawned.splice(0)) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
});

/** Starts a shell with a child process, and resolves when both run. */
async function spawnTree(): Promise<number> {
  // A separate process group, so that one signal ends both.
  const shell = spawn('/bin/sh', ['-c', 'sleep 60 & echo started; wait'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  spawned.push(shell);
  await once(shell.stdout, 'data');
  return shell.pid ?? 0;
}

test('a process tree starts with its root, followed by the descendants', async () => {
  const root = await spawnTree();
  const [tree = []] = new ProcessTable().read([root]) ?? [];
  expect(tree.map(({ parent }) => parent)).toEqual([process.pid, root]);
  expect(tree[0]?.pid).toBe(root);
});

test('a browser that runs before it becomes a root is read with all of its processes', async () => {
  const [first, second] = [await spawnTree(), await spawnTree()];
  const table = new ProcessTable();
  expect(table.read([first])?.[0]).toHaveLength(2);
  expect(table.read([first, second])?.map((tree) => tree.length)).toEqual([2, 2]);
});
