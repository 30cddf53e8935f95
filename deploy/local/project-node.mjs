import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The first major version of Node that runs TypeScript sources directly. */
const firstMajor = 24;

/**
 * Returns the Node that the project pins (npm package `node`), or the running one if it is new enough. Throws an Error
 * with the command to run.
 *
 * @param {string} root
 * @returns {string}
 */
export function projectNode(root) {
  const pinned = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(pinned)) return pinned;
  if (Number(process.versions.node.split('.')[0]) >= firstMajor) return process.execPath;
  throw new Error(
    `This needs Node ${firstMajor}, and this is ${process.version}. The project brings its own, but npm did not run the ` +
      `install script that fetches it. Run this line, then start again:\n  npm rebuild node --ignore-scripts=false`,
  );
}
