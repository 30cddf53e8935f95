// Finds and ends whatever a guarded command leaves behind. Its process group is no more than the beginning: a browser, for
// one, lives in a session of its own. On Linux descendants are also known by a mark in the environment that they
// inherit, and by having been seen below the command while it lived.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The environment variable that carries the marks of all guards above a process, separated by commas. */
export const markVariable = 'GUARDED_BY';

/** How often to look for new descendants, in milliseconds. */
export const lookEveryMs = 1000;

/** What has been killed needs a processor to end: on a busy machine that may take a while. In milliseconds. */
export const endLimitMs = 8000;

/** The descendants of a process. */
export class Family {
  /** When each of them was started, by pid: a pid alone may be another process by now. */
  #members = new Map();

  /** @param {number} root */
  constructor(root) {
    this.root = root;
    this.look();
    setInterval(() => this.look(), lookEveryMs).unref();
  }

  /** Learns of new members and forgets the dead; answers with the pids of the living. */
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
 * Kills the process group of the family's root, the family, and every process that carries the mark; again until none
 * is left, since a dying tree may still fork.
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
    // It is gone already.
  }
}

/**
 * Zombies and processes of other users have no readable environment, so they do not count.
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
 * When a process was started, in ticks since the boot; undefined for none, and for a zombie.
 *
 * @param {number} pid
 */
function startOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses, with whatever it contains.
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
