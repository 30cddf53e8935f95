import { goVersion } from './go-version.ts';
import { findInCache } from './strategies/find-in-cache.ts';
import { findInPath } from './strategies/find-in-path.ts';
import { goInstall } from './strategies/go-install.ts';
import type { Tool } from './tool.ts';
import { compareVersions } from './versions.ts';

const module = 'github.com/fsouza/fake-gcs-server';
// renovate: go github.com/fsouza/fake-gcs-server
const builtVersion = '1.56.1';

/** Older versions check neither declared checksums nor the preconditions of resumable uploads. */
const minimum = '1.56.0';

/** Implements the JSON API of Google Cloud Storage: the bucket of the tests. */
export const fakeGcsServer: Tool = {
  name: 'fake-gcs-server',
  inspect,
  find: [findInPath('fake-gcs-server'), findInCache(builtVersion)],
  // Releases are not downloaded, because the project publishes no checksums.
  install: [goInstall({ package: module, version: builtVersion })],
  byHand: () => `go install ${module}@v${builtVersion} && export PATH="$PATH:$(go env GOPATH)/bin"`,
};

async function inspect(path: string): Promise<string> {
  const version = await goVersion(path, module);
  if (compareVersions(version, minimum) < 0) throw new Error(`${path} is ${version}, older than ${minimum}`);
  return version;
}
