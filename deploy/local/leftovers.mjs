// Finds and ends the remaining processes of a guarded command. Its process group does not contain all of them: a browser,
// for example, creates a new session. On Linux, descendants are also identified by a mark in their inherited environment,
// and by earlier observations of the process tree.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The environment variable with the marks of all guards above a process, separated by commas. */
export const markVariable = 'GUARDED_BY';

/** Interval of the search for new descendants, in milliseconds. */
export const lookEveryMs = 1000;

/** Time limit for killed processes to end, in milliseconds. Each needs a processor to end, which takes time on a busy machine. */
export const endLimitMs = 8000;

/** The descendants of a process that have been observed. */
export class Family {
  /** Start times by pid, because pids are reused. */
  #members = new Map();

  /** @param {number} root */
  constructor(root) {
    this.root = root;
    this.look();
    setInterval(() => this.look(), lookEveryMs).unref();
  }

  /** Records new descendants, removes ended ones, and returns the pids of the running ones. */
  look() {
    const known = [...this.#members.keys(), this.root];
    for (const [pid, startedAt] of this.#members) {
      if (startOf(pid) !== startedAt) this.#members.delete(pid);
    }
    for (let pid = known.pop(); pid !== undefined; pid = known.pop()) {
      if (pid !== this.root && !this.#members.has(pid)) continue;
      for (const child of childrenOf(pid)) {
        const startedAt = startOf(child);
        if (startedAt === undefined || this.#members.has(child)) continue;
        this.#members.set(child, startedAt);
        known.push(child);
      }
    }
    return [...this.#members.keys()];
  }
}

/**
 * Kills the process group of the root, its descendants, and every process with the mark. Repeats until no process remains,
 * because a process may fork while it ends.
 *
 * @param {Family} family
 * @param {string} mark
 * @returns {Promise<void>}
 */
export async function killLeftovers(family, mark) {
  const end = performance.now() + endLimitMs;
  while (performance.now() < end) {
    const left = [...family.look(), ...markedProcesses(mark)];
    kill(-family.root);
    if (left.length === 0) return;
    for (const pid of left) kill(pid);
    await sleep(25);
  }
}

/** @param {number} pid */
function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

/**
 * Returns the processes with the mark. Zombies and processes of other users have no readable environment and are not
 * included.
 *
 * @param {string} mark
 */
function markedProcesses(mark) {
  if (process.platform !== 'linux') return [];
  return numbersIn('/proc').filter((pid) => pid !== process.pid && read(`/proc/${pid}/environ`).includes(mark));
}

/** @param {number} pid */
function childrenOf(pid) {
  if (process.platform !== 'linux') return [];
  return numbersIn(`/proc/${pid}/task`).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
}

/**
 * Returns the start of a process in ticks since boot; undefined if it does not exist or is a zombie.
 *
 * @param {number} pid
 */
function startOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses, which may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields.length < 20 ? undefined : fields[19];
}

/** @param {string} folder */
function numbersIn(folder) {
  try {
    return readdirSync(folder).map(Number).filter(Boolean);
  } catch {
    return [];
  }
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
