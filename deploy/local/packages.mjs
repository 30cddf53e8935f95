import { fork } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const guard = join(dirname(fileURLToPath(import.meta.url)), 'guard.mjs');

/**
 * Installs the packages of package-lock.json with `npm ci`; does nothing if node_modules is up to date. Throws an Error
 * with npm's output and the command to run.
 *
 * @param {string} root
 */
export async function ensurePackages(root) {
  if (packagesInStep(root)) return;
  await withLock(join(root, '.cache', 'npm-ci.lock'), async () => {
    if (packagesInStep(root)) return;
    say('Installing the packages of package-lock.json (npm ci); this takes about half a minute…');
    const begin = Date.now();
    const { code, output } = await runGuarded(...npm(['ci', '--no-audit', '--no-fund', '--loglevel=error']), root);
    // npm prints the error first, followed by a page of general help.
    const reason = output.split('\n').slice(0, 20).join('\n');
    if (code !== 0)
      throw new Error(`${reason}\nThe packages could not be installed. Run this line to see more:\n  npm ci`);
    say(`Installed the packages in ${Math.round((Date.now() - begin) / 1000)} s.`);
  });
}

/**
 * Compares the lock file with the copy that npm writes to node_modules at the end of an installation. Optional packages
 * may be missing, because they are for some platforms only.
 *
 * @param {string} root
 */
function packagesInStep(root) {
  const wanted = lockedPackages(join(root, 'package-lock.json'));
  const installed = lockedPackages(join(root, 'node_modules', '.package-lock.json'));
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.includes('node_modules/')) return true;
    const found = installed[path];
    if (found === undefined) return entry.optional === true;
    return found.version === entry.version && found.resolved === entry.resolved;
  });
}

/** @param {string} path */
function lockedPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch {
    return {};
  }
}

/**
 * Returns the npm that runs this process, so that the version is equal; otherwise the one in PATH.
 *
 * @param {string[]} args
 * @returns {[string, string[]]}
 */
function npm(args) {
  const cli = process.env.npm_execpath;
  return cli?.endsWith('npm-cli.js') ? [process.execPath, [cli, ...args]] : ['npm', args];
}

/**
 * Runs a command that ends when this process exits for any reason.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
async function runGuarded(command, args, cwd) {
  const child = fork(guard, [command], { cwd, detached: true, execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  let output = '';
  let code = 1;
  child.stdout?.on('data', (chunk) => (output += chunk));
  child.stderr?.on('data', (chunk) => (output += chunk));
  child.on('message', (report) => {
    if (report.type === 'exited') code = report.code ?? 1;
    if (report.type === 'failed') output += report.message;
  });
  child.send({ type: 'start', command, args, env: process.env, graceOnLossMs: 2000, patient: false });
  await new Promise((done) => {
    child.once('close', done);
  });
  return { code, output: output.trim() };
}

/**
 * @param {string} path the file whose existence is the lock; it contains the pid of its owner
 * @param {() => Promise<void>} work
 */
async function withLock(path, work) {
  mkdirSync(dirname(path), { recursive: true });
  for (let said = false; !tryLock(path); said = true) {
    if (!said) say('Another process is installing the packages; waiting for it…');
    await sleep(200);
  }
  try {
    await work();
  } finally {
    rmSync(path, { force: true });
  }
}

/**
 * Takes the lock. If its owner has exited without releasing it, the lock is taken over.
 *
 * @param {string} path
 */
function tryLock(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  if (ownerLives(path)) return false;
  rmSync(path, { force: true });
  return tryLock(path);
}

/** @param {string} path */
function ownerLives(path) {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    // A pid of 0 means that the owner has not written its pid yet.
    if (pid > 0) process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** @param {string} line */
function say(line) {
  process.stdout.write(`${line}\n`);
}
