// Runs one command while the process that started the guard lives. An IPC channel connects the two. When the starter
// exits for any reason, the channel closes, and the guard ends the command and all its descendants. The guard is plain
// JavaScript, so that it starts in milliseconds and on any Node. See process.ts for the other side.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Family, killLeftovers, markVariable } from './leftovers.mjs';

const mark = randomUUID();

let child;
let family;
let deadline;
let graceOnLossMs = 0;
let patient = false;

/** @param {{ command: string; args: string[]; env: object; graceOnLossMs: number; patient: boolean }} order */
function start(order) {
  ({ graceOnLossMs, patient } = order);
  const marks = [process.env[markVariable], mark].filter(Boolean).join(',');
  child = spawn(order.command, order.args, {
    env: { ...order.env, [markVariable]: marks },
    stdio: ['ignore', 'inherit', 'inherit'],
    // The new process group makes it possible to kill all its processes together.
    detached: true,
  });
  if (child.pid !== undefined) family = new Family(child.pid);
  child.once('spawn', () => tell({ type: 'started', pid: child.pid }));
  child.once('error', (error) => void finish({ type: 'failed', message: error.message }));
  child.once('exit', (code, signal) => void finish({ type: 'exited', code, signal }));
}

/**
 * Sends SIGTERM to the command and kills it after the grace period. A patient guard sends no SIGTERM and waits for the
 * command to exit.
 *
 * @param {number} graceMs
 */
function end(graceMs) {
  if (family === undefined) process.exit(0);
  clearTimeout(deadline);
  family.look();
  if (graceMs > 0 && !patient) child.kill('SIGTERM');
  deadline = setTimeout(() => void killLeftovers(family, mark), graceMs);
}

/**
 * Forwards a signal. The command may exit because of it, so its descendants must be recorded first.
 *
 * @param {NodeJS.Signals} name
 */
function handOn(name) {
  family?.look();
  child?.kill(name);
}

/**
 * Ends all remaining descendants after the command has exited.
 *
 * @param {object} report
 */
async function finish(report) {
  if (family !== undefined) await killLeftovers(family, mark);
  tell(report, () => process.exit(0));
}

/**
 * Sends a report. Without a callback, a closed channel would cause an uncaught error.
 *
 * @param {object} report
 */
function tell(report, done = () => undefined) {
  if (process.connected) process.send(report, done);
  else done();
}

process.on('message', (order) => {
  if (order.type === 'start') start(order);
  if (order.type === 'signal') handOn(order.signal);
  if (order.type === 'stop') end(order.graceMs);
});
process.on('disconnect', () => end(graceOnLossMs));
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => end(graceOnLossMs));
process.on('uncaughtException', () => end(0));
// The starter may have exited before this line.
if (!process.connected) process.exit(0);
