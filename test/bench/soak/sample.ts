import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readProcessTree, treeBytes } from '../../../services/renderer/browser/process-tree.ts';

/** The resources of a renderer at one moment. */
export interface Sample {
  /** Number of captures that have ended. */
  readonly captures: number;
  readonly perSecond: number;
  /** Bytes of the JavaScript heap and of buffers in the renderer process. Garbage counts until V8 collects it. */
  readonly heapBytes: number;
  /** Bytes of the renderer process, and below of all its browsers, with shared memory counted once. */
  readonly nodeBytes: number;
  readonly browserBytes: number;
  /** Number of processes of the browsers. */
  readonly processes: number;
  readonly zombies: number;
  /** Number of file descriptors of the renderer process. */
  readonly descriptors: number;
  /** Listening ports; all but one belong to proxy sessions. */
  readonly listeners: number;
  readonly tempFiles: number;
}

/** Reads the resources of a renderer from /proc. */
export function takeSample(pid: number, tempFolder: string): Omit<Sample, 'captures' | 'perSecond' | 'heapBytes'> {
  const tree = readProcessTree(pid) ?? [];
  const own = tree.filter((one) => one.pid === pid);
  const browsers = tree.filter((one) => one.pid !== pid);
  const descriptors = readdirSync(`/proc/${pid}/fd`).map((name) => targetOf(`/proc/${pid}/fd/${name}`));
  return {
    nodeBytes: treeBytes(own),
    browserBytes: treeBytes(browsers),
    processes: browsers.length,
    // A zombie has no memory.
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
