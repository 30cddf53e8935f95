// Runs a TypeScript file of this repository on any machine with Node 18 or newer and npm:
//   node deploy/local/bootstrap.mjs <file.ts> [arguments]
// It brings the packages in step with package-lock.json first, and runs the file with the Node that the project pins.
// Nothing but Node's own modules may be imported here: the packages are not there yet.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensurePackages } from './packages.mjs';
import { projectNode } from './project-node.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const [file, ...args] = process.argv.slice(2);

try {
  if (file === undefined) throw new Error('usage: node deploy/local/bootstrap.mjs <file.ts> [arguments]');
  await ensurePackages(root);
  runFile(projectNode(root), [resolve(file), ...args]);
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}

/**
 * Runs the file with this process's terminal and ends as it ends. It gets a channel to this process, by which it learns
 * when this one dies.
 *
 * @param {string} node
 * @param {string[]} command
 */
function runFile(node, command) {
  // With the code compiled once, it and all Node processes that it starts begin their work in half the time.
  const env = { NODE_COMPILE_CACHE: join(root, '.cache', 'compiled'), ...process.env };
  const child = spawn(node, command, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  child.once('error', (error) => {
    fail(`${node} could not be started: ${error.message}`);
  });
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));

  // Whether a signal was sent to this process alone, nobody can tell: Ctrl-C in a terminal reaches the whole group, and so the child twice.
  // What ends in an orderly way takes what arrives together for one signal.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(signal, () => child.kill(signal));
  // npm cannot tell us when it is killed.
  if (process.env.npm_lifecycle_event !== undefined) onOrphaned(() => child.kill('SIGTERM'));
}

/**
 * Calls `act` when npm, or the shell between npm and this process, is gone: whoever loses its parent gets another one.
 *
 * @param {() => void} act
 */
function onOrphaned(act) {
  const ancestors = () => `${process.ppid} ${parentOf(process.ppid)}`;
  const atStart = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === atStart) return;
    clearInterval(timer);
    act();
  }, 500);
  timer.unref();
}

/** @param {number} pid */
function parentOf(pid) {
  try {
    return /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    // Not Linux: the shells of other systems replace themselves by their last command, so that npm is the parent.
    return undefined;
  }
}

/** @param {string} message */
function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
