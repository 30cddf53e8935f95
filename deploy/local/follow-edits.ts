import { watch } from 'node:fs';
import { sep } from 'node:path';
import { onAbort } from '@webcapture/shared/runtime/deadline.ts';

interface FollowOptions {
  /** Watched with all folders below it. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Gets the paths of changed files, relative to `folder` and with slashes: those of one save, or of one checkout, together. */
  readonly onEdit: (paths: readonly string[]) => void;
  /** Called once if the folder cannot be watched, or no longer. */
  readonly onError: (error: Error) => void;
}

/** An editor writes a file in several steps, and a checkout many files, within this time. */
const quietMs = 150;

/** Reports changes below a folder until the signal aborts. */
export function followEdits({ folder, signal, onEdit, onError }: FollowOptions): void {
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    const paths = [...changed];
    changed.clear();
    onEdit(paths);
  };
  const watcher = watch(folder, { recursive: true });
  watcher.on('change', (_, name) => {
    changed.add(String(name).replaceAll(sep, '/'));
    clearTimeout(timer);
    timer = setTimeout(flush, quietMs);
  });
  watcher.on('error', (error) => {
    watcher.close();
    onError(error);
  });
  onAbort(signal, () => {
    clearTimeout(timer);
    watcher.close();
  });
}
