import { readFileSync } from 'node:fs';
import { ProcessTable, readProcessTree } from '../../../services/renderer/browser/process-tree.ts';

/** A process that a contender started; its browsers are its descendants. */
export interface OwnProcess {
  /** The kind of the process, e.g. `front`. Several processes can have the same kind. */
  readonly part: string;
  readonly pid: number;
}

/** Processor time of processes since their start, in milliseconds. */
export interface ProcessorTime {
  /** Time of the contender's processes, by kind. */
  readonly own: Readonly<Record<string, number>>;
  /** Time of all their descendants, which are processes of Chromium. */
  readonly browsers: number;
}

/** A clock tick in Linux's /proc, in milliseconds. */
const tickMs = 10;

/** The time of ended processes is included in that of the parents that waited for them. */
export function processorTimeOf(processes: readonly OwnProcess[]): ProcessorTime {
  const own: Record<string, number> = {};
  let browsers = 0;
  for (const { part, pid, descendants } of withDescendants(processes)) {
    const { self, ended } = timesOf(pid);
    own[part] = (own[part] ?? 0) + self;
    browsers += descendants.reduce((sum, child) => sum + totalOf(timesOf(child)), ended);
  }
  return { own, browsers };
}

/** Returns the processor time between two readings, divided by `count`, the number of captures or milliseconds between them. */
export function timePer(before: ProcessorTime, after: ProcessorTime, count: number): ProcessorTime {
  return combine(after, before, (later, earlier) => (later - earlier) / count);
}

/** Returns the processor time of captures without the idle share. `idle` is per millisecond, and the captures took `ms`. */
export function withoutIdle(time: ProcessorTime, idle: ProcessorTime, ms: number): ProcessorTime {
  return combine(time, idle, (all, atRest) => all - atRest * ms);
}

function combine(a: ProcessorTime, b: ProcessorTime, how: (a: number, b: number) => number): ProcessorTime {
  const own = Object.entries(a.own).map(([part, ms]) => [part, how(ms, b.own[part] ?? 0)] as const);
  return { own: Object.fromEntries(own), browsers: how(a.browsers, b.browsers) };
}

/** Returns the mean of several readings of a contender, weighted by their captures. */
export function meanTime(parts: readonly { readonly time: ProcessorTime; readonly captures: number }[]): ProcessorTime {
  const all = parts.reduce((sum, { captures }) => sum + captures, 0);
  const mean = (of: (time: ProcessorTime) => number) =>
    parts.reduce((sum, { time, captures }) => sum + of(time) * captures, 0) / all;
  const names = new Set(parts.flatMap(({ time }) => Object.keys(time.own)));
  const own = [...names].map((name) => [name, mean((time) => time.own[name] ?? 0)] as const);
  return { own: Object.fromEntries(own), browsers: mean(({ browsers }) => browsers) };
}

export function ownTimeOf({ own }: ProcessorTime): number {
  return Object.values(own).reduce((sum, ms) => sum + ms, 0);
}

/** Returns the processor time of a process and all its descendants, in milliseconds. */
export function treeTimeOf(root: number): number {
  const { own, browsers } = processorTimeOf([{ part: 'root', pid: root }]);
  return browsers + (own['root'] ?? 0);
}

/**
 * Returns the memory in bytes by kind of process: the part of the contender's processes, and the kinds of Chromium. Memory that processes
 * share is counted once (proportional set size).
 */
export function memoryOf(processes: readonly OwnProcess[]): ReadonlyMap<string, number> {
  const bytes = new Map<string, number>();
  const add = (kind: string, pid: number) => bytes.set(kind, (bytes.get(kind) ?? 0) + proportionalBytesOf(pid));
  for (const { part, pid, descendants } of withDescendants(processes)) {
    add(part, pid);
    for (const child of descendants) add(kindOfProcess(read(`/proc/${child}/cmdline`)), child);
  }
  return bytes;
}

/** Memory of all processes of a kind. */
export interface KindMemory {
  readonly processes: number;
  readonly bytes: number;
}

/** Returns the memory of a process and all its descendants, like {@link memoryOf}. */
export function memoryOfTree(root: number): ReadonlyMap<string, KindMemory> {
  const kinds = new Map<string, KindMemory>();
  for (const { pid } of readProcessTree(root) ?? []) {
    const kind = kindOfProcess(read(`/proc/${pid}/cmdline`));
    const { processes, bytes } = kinds.get(kind) ?? { processes: 0, bytes: 0 };
    kinds.set(kind, { processes: processes + 1, bytes: bytes + proportionalBytesOf(pid) });
  }
  return kinds;
}

/** Command lines of processes that are not Chromium's. The command line of a guard also names the process that it guards. */
const programs: readonly (readonly [RegExp, (match: RegExpExecArray) => string])[] = [
  [/guard\.mjs/, () => 'guard'],
  [/services\/(\w+)\/main\.ts/, ([, service = '']) => service],
  [/nats-server/, () => 'NATS'],
  [/deploy\/local\/(bootstrap\.mjs|start\.ts)/, () => 'npm start'],
];

/** Returns the service of a process, or its kind among the processes of Chromium, which is in the command line of all but the first. */
export function kindOfProcess(commandLine: string): string {
  for (const [pattern, name] of programs) {
    const match = pattern.exec(commandLine);
    if (match !== null) return name(match);
  }
  const kind = /--type=([\w-]+)/.exec(commandLine)?.[1];
  if (kind === undefined) return 'Chromium: browser';
  const service = /--utility-sub-type=(\w+)/.exec(commandLine)?.[1];
  return `Chromium: ${service === undefined ? kind : service}`;
}

/** Adds the descendants of each process with a single reading of /proc, which takes milliseconds. */
function withDescendants(processes: readonly OwnProcess[]) {
  const trees = new ProcessTable().read(processes.map(({ pid }) => pid)) ?? [];
  return processes.map((one, index) => ({
    ...one,
    descendants: (trees[index] ?? []).flatMap(({ pid }) => (pid === one.pid ? [] : [pid])),
  }));
}

const totalOf = ({ self, ended }: { readonly self: number; readonly ended: number }) => self + ended;

function timesOf(pid: number): { readonly self: number; readonly ended: number } {
  const stat = read(`/proc/${pid}/stat`);
  // The name in parentheses may contain any character; utime, stime, cutime and cstime are the 12th to 15th fields after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number);
  return { self: (user + system) * tickMs, ended: (endedUser + endedSystem) * tickMs };
}

function proportionalBytesOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has ended, or there is no /proc.
  }
}
