import { join } from 'node:path';
import { storeInCache } from '../cached-file.ts';
import { downloadFile, type Checksum } from '../download-file.ts';
import { releasePlatform } from '../platform.ts';
import { runCommand } from '../run-command.ts';
import type { Strategy } from '../tool.ts';

interface ReleaseArchive {
  readonly version: string;
  /** The address of the archive (.tar.gz) for a platform such as `linux-amd64`. */
  readonly url: (platform: string) => string;
  /** The path of the program (or of a folder of programs) inside the archive. */
  readonly member: (platform: string) => string;
}

/** Checksums of the archive by platform, in hex. The release is downloaded only for these platforms. */
type Pins =
  { readonly sha256: Readonly<Record<string, string>> } | { readonly sha512: Readonly<Record<string, string>> };

export type Release = ReleaseArchive & Pins;

/** Downloads the official release into the cache; an archive with a different checksum is deleted without unpacking. */
export function downloadRelease(release: Release): Strategy {
  return {
    title: `download of release ${release.version}`,
    candidates: async (tool, context) => {
      const platform = releasePlatform();
      const checksum = checksumOf(release, platform);
      if (checksum === undefined) throw new Error(`no checksum is pinned for ${platform}`);
      const path = await storeInCache(context, tool.name, release.version, async (folder) => {
        const archive = join(folder, 'archive.tar.gz');
        await downloadFile(release.url(platform), archive, { checksum, log: context.log, signal: context.signal });
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

function checksumOf(pins: Pins, platform: string): Checksum | undefined {
  if ('sha512' in pins) {
    const sha512 = pins.sha512[platform];
    return sha512 === undefined ? undefined : { sha512 };
  }
  const sha256 = pins.sha256[platform];
  return sha256 === undefined ? undefined : { sha256 };
}
