import { watch } from 'node:fs';
import { sep } from 'node:path';
import { onAbort } from '@webcapture/shared/runtime/deadline.ts';

interface FollowOptions {
  /** Folder that is watched with all its subfolders. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /**
   * Receives the paths of changed files, relative to `folder` and with slashes. The changes of one save or one checkout are in
   * one call.
   */
  readonly onEdit: (paths: readonly string[]) => void;
  /** Called once if the folder cannot be watched, or can no longer be watched. */
  readonly onError: (error: Error) => void;
}

/**
 * Minimum pause between two edits. Shorter pauses occur when an editor writes a file in several steps, and when a checkout writes many
 * files.
 */
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
