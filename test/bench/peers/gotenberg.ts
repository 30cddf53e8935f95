import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { goVersion } from '../../../deploy/tools/go-version.ts';
import { findInCache } from '../../../deploy/tools/strategies/find-in-cache.ts';
import { goBuild } from '../../../deploy/tools/strategies/go-build.ts';
import type { Tool } from '../../../deploy/tools/tool.ts';
import { freePort } from '../../harness/free-port.ts';
import { descendantsOf } from '../../harness/processes.ts';
import type { Contender } from '../speed/contender.ts';
import { peerContender } from '../speed/peer-contenders.ts';
import { installPeer, startPeer, type PeerOptions } from './start-peer.ts';

/** The version that gotenberg/go.mod requires. */
const version = '8.36.0';
const name = 'gotenberg';

const gotenberg: Tool = {
  name,
  inspect: (path) => goVersion(path, 'github.com/gotenberg/gotenberg/v8'),
  find: [findInCache(version)],
  install: [
    goBuild({
      module: new URL('gotenberg/', import.meta.url),
      programs: [name],
      version,
      variables: {},
      kept: name,
    }),
  ],
  byHand: () => 'install Go',
};

/** Tools for changes of PDF files, which the benchmark does not request. Gotenberg checks only that their paths exist. */
const unusedTools = ['PDFCPU', 'PDFTK', 'QPDF', 'EXIFTOOL'].map((tool) => [`${tool}_BIN_PATH`, process.execPath]);

/**
 * Starts Gotenberg with as many concurrent captures as there are slots, and with a browser that is never restarted. When Gotenberg stops its
 * browser, it kills all processes whose command line contains `chromium/chromium`. Therefore it runs in a namespace with its own processes.
 */
export async function startGotenberg(
  parts: AsyncDisposableStack,
  { tools, slots, tempFolder }: PeerOptions,
): Promise<Contender> {
  const { path } = await installPeer(gotenberg);
  const folder = join(tempFolder, name);
  const hyphenation = join(folder, 'hyphenation');
  await mkdir(hyphenation, { recursive: true });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const options = [
    `--api-port=${port}`,
    '--api-bind-ip=127.0.0.1',
    '--chromium-auto-start',
    `--chromium-max-concurrency=${slots}`,
    '--chromium-restart-after=0',
    '--gotenberg-build-debug-data=false',
    '--gotenberg-hide-banner',
    '--log-level=error',
    '--prometheus-disable-collect',
  ];
  const pid = await startPeer(parts, {
    name,
    command: 'unshare',
    args: [...user, '--fork', '--pid', '--mount-proc', '--kill-child', path, ...options],
    env: {
      TMPDIR: folder,
      CHROMIUM_BIN_PATH: tools.headlessShell,
      CHROMIUM_HYPHEN_DATA_DIR_PATH: hyphenation,
      // The variant without LibreOffice needs an empty list.
      PDFENGINES_CONVERT_ENGINES: '',
      ...Object.fromEntries(unusedTools),
    },
    health: `${url}/health`,
  });
  const own = (await descendantsOf(pid)).flatMap((one) => (one.parent === pid ? [{ part: name, pid: one.pid }] : []));
  return peerContender(name, url, { name: `Gotenberg ${version}`, processes: () => own });
}
