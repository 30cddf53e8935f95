import { dirname, join } from 'node:path';
import { inspectProgram } from './inspect-program.ts';
import { aptUnpack, unpackedVersion } from './strategies/apt-unpack.ts';
import { downloadRelease } from './strategies/download-release.ts';
import { findInCache } from './strategies/find-in-cache.ts';
import { programsInPath } from './strategies/find-in-path.ts';
import type { Strategy, Tool } from './tool.ts';

/**
 * The long-term release. The checksums are those of sha256sums.txt, taken from the package files of two other projects. These files contain
 * no checksum for darwin-amd64, so it is not downloaded there. Change the version and the checksums together.
 */
const release = {
  version: '3.5.0',
  sha256: {
    'linux-amd64': 'e811827af26d822afb09a4f28314f61b618b12cff5369835a67f674d8b46f39a',
    'linux-arm64': '173389cc42bf09c4e6e54cb53fa07a5a835d7c261e14775d2183181d6e385d1c',
    'darwin-arm64': 'c17bc2c992f0b5515eebe2b4ccd626214f8e309a0fe6ec40ed13c42ec13d05fb',
  },
};

const inspect = inspectProgram({ args: ['--version'], minimum: '2.40.0' });

/** Finds the folders of PATH that may contain both programs. */
const foldersInPath: Strategy = {
  title: 'PATH',
  candidates: async (_tool, { env }) => {
    const found = await programsInPath(['promtool'], env);
    if (found.length === 0) throw new Error('no promtool there');
    return found.map((path) => dirname(path));
  },
};

/** A folder with `prometheus` and `promtool`, which check metrics, alerts and the dashboard; for tests only. */
export const prometheus: Tool = {
  name: 'prometheus',
  inspect: async (folder) => {
    await inspect(join(folder, 'promtool'));
    return inspect(join(folder, 'prometheus'));
  },
  find: [foldersInPath, findInCache(release.version, unpackedVersion)],
  // The programs are not built with Go, because they include the clients of every cloud, and a build takes ten minutes.
  install: [
    downloadRelease({
      ...release,
      url: (platform) =>
        `https://github.com/prometheus/prometheus/releases/download/v${release.version}/prometheus-${release.version}.${platform}.tar.gz`,
      member: (platform) => `prometheus-${release.version}.${platform}`,
    }),
    aptUnpack({ package: 'prometheus', kept: 'usr/bin' }),
  ],
  byHand: (platform) =>
    platform === 'darwin'
      ? 'brew install prometheus'
      : 'put prometheus and promtool of https://prometheus.io/download/ into a folder of PATH',
};
