import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readProcessTree, treeBytes } from '../../../services/renderer/browser/process-tree.ts';

/** What a renderer holds at a moment. */
export interface Sample {
  /** Captures that have ended. */
  readonly captures: number;
  readonly perSecond: number;
  /** What JavaScript holds in its own process, its buffers included; bytes. What it drops is not given back at once. */
  readonly heapBytes: number;
  /** Memory of its own process, and that of all its browsers, with what they share counted once; bytes. */
  readonly nodeBytes: number;
  readonly browserBytes: number;
  /** Of its browsers. */
  readonly processes: number;
  readonly zombies: number;
  /** Of its own process. */
  readonly descriptors: number;
  /** Ports on which it listens; all but one are lanes. */
  readonly listeners: number;
  readonly tempFiles: number;
}

/** Looks at a renderer from outside, through /proc. */
export function takeSample(pid: number, tempFolder: string): Omit<Sample, 'captures' | 'perSecond' | 'heapBytes'> {
  const tree = readProcessTree(pid) ?? [];
  const own = tree.filter((one) => one.pid === pid);
  const browsers = tree.filter((one) => one.pid !== pid);
  const descriptors = readdirSync(`/proc/${pid}/fd`).map((name) => targetOf(`/proc/${pid}/fd/${name}`));
  return {
    nodeBytes: treeBytes(own),
    browserBytes: treeBytes(browsers),
    processes: browsers.length,
    // One that has ended, but was not looked after, holds nothing.
    zombies: browsers.filter(({ privateBytes, sharedBytes }) => privateBytes + sharedBytes === 0).length,
    descriptors: descriptors.length,
    listeners: countListeners(pid, new Set(descriptors)),
    tempFiles: readdirSync(tempFolder, { recursive: true }).length,
  };
}

function targetOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function countListeners(pid: number, descriptors: ReadonlySet<string>): number {
  const lines = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n'));
  return lines.filter((line) => {
    const [, , , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === '0A' && descriptors.has(`socket:[${inode}]`);
  }).length;
}
