// Finds and ends whatever a guarded command left behind: its process group, and on Linux also what moved to a group or
// session of its own (a browser does), by a mark in the environment that every descendant inherits.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The environment variable that carries the marks of all guards above a process, separated by commas. */
export const markVariable = 'GUARDED_BY';

/**
 * Kills the process group `group` and every process that carries `mark`; again until none is left, since a dying tree
 * may still fork.
 *
 * @param {number} group
 * @param {string} mark
 * @returns {Promise<void>}
 */
export async function killLeftovers(group, mark) {
  for (let round = 0; round < 40; round++) {
    kill(-group);
    const marked = markedProcesses(mark);
    if (marked.length === 0) return;
    for (const pid of marked) kill(pid);
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
 * @returns {number[]}
 */
function markedProcesses(mark) {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/environ`, 'latin1').includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}
