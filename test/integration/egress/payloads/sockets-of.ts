import { readdir, readFile, readlink } from 'node:fs/promises';
import { readProcessTree } from '../../../../services/renderer/browser/process-tree.ts';

/** Returns the TCP and UDP sockets of a process and its descendants, listening or connected: `tcp 0100007F:1F90`. */
export async function socketsOf(root: number): Promise<string[]> {
  const inodes = new Set<string>();
  for (const { pid } of readProcessTree(root) ?? []) {
    const folder = `/proc/${pid}/fd`;
    for (const fd of await readdir(folder).catch(() => [])) {
      const link = await readlink(`${folder}/${fd}`).catch(() => '');
      const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
      if (inode !== undefined) inodes.add(inode);
    }
  }
  const tables = await Promise.all(
    ['tcp', 'tcp6', 'udp', 'udp6'].map(async (kind) => {
      const rows = (await readFile(`/proc/net/${kind}`, 'utf8')).trim().split('\n').slice(1);
      return rows.map((row) => row.trim().split(/\s+/)).map((cells) => ({ kind, at: cells[1], inode: cells[9] ?? '' }));
    }),
  );
  return tables.flat().flatMap(({ kind, at, inode }) => (inodes.has(inode) ? [`${kind} ${at}`] : []));
}
