import { join } from 'node:path';
import { storeInCache } from '../cached-file.ts';
import { downloadFile } from '../download-file.ts';
import { releasePlatform } from '../platform.ts';
import { runCommand } from '../run-command.ts';
import type { Strategy } from '../tool.ts';

export interface Release {
  readonly version: string;
  /** The address of the archive (.tar.gz) for a platform such as `linux-amd64`. */
  readonly url: (platform: string) => string;
  /** The program's path inside the archive. */
  readonly member: (platform: string) => string;
  /** The SHA-256 of the archive by platform, in hex. A platform that is not listed is not downloaded. */
  readonly sha256: Readonly<Record<string, string>>;
}

/** Downloads the official release into the cache; an archive whose checksum differs is thrown away unopened. */
export function downloadRelease(release: Release): Strategy {
  return {
    title: `download of release ${release.version}`,
    candidates: async (tool, context) => {
      const platform = releasePlatform();
      const sha256 = release.sha256[platform];
      if (sha256 === undefined) throw new Error(`no checksum is pinned for ${platform}`);
      const path = await storeInCache(context, tool.name, release.version, async (folder) => {
        const archive = join(folder, 'archive.tar.gz');
        await downloadFile(release.url(platform), archive, { sha256, log: context.log, signal: context.signal });
        const member = release.member(platform);
        await runCommand('tar', ['-xzf', archive, '-C', folder, member], {
          timeoutMs: 60_000,
          signal: context.signal,
        });
        return join(folder, member);
      });
      context.log(`downloaded and checked ${path}`);
      return [path];
    },
  };
}
