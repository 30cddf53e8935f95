// Runs one command for as long as the process that started it lives. The two are joined by an IPC channel: when the
// starter dies, in whatever way, the channel closes, and the guard ends the command and all its descendants.
// It is plain JavaScript, so that it starts in milliseconds and on any Node. See process.ts for the other end.
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
    // A group of its own, so that all of it can be killed at once.
    detached: true,
  });
  if (child.pid !== undefined) family = new Family(child.pid);
  child.once('spawn', () => tell({ type: 'started', pid: child.pid }));
  child.once('error', (error) => void finish({ type: 'failed', message: error.message }));
  child.once('exit', (code, signal) => void finish({ type: 'exited', code, signal }));
}

/**
 * Asks the command to end (a patient guard waits for it to end by itself), and insists after the grace.
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
 * Hands a signal on. The command may end by it: what it has started up to now has to be known before.
 *
 * @param {NodeJS.Signals} name
 */
function handOn(name) {
  family?.look();
  child?.kill(name);
}

/**
 * The command itself is gone: nothing that it started may stay.
 *
 * @param {object} report
 */
async function finish(report) {
  if (family !== undefined) await killLeftovers(family, mark);
  tell(report, () => process.exit(0));
}

/**
 * Without a callback, a channel that is closed already would be an uncaught error.
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
// The starter may have died before this line was reached.
if (!process.connected) process.exit(0);
