import { goVersion } from './go-version.ts';
import { findInCache } from './strategies/find-in-cache.ts';
import { findInPath } from './strategies/find-in-path.ts';
import { goInstall } from './strategies/go-install.ts';
import type { Tool } from './tool.ts';

const module = 'github.com/versity/versitygw';
// renovate: go github.com/versity/versitygw
const builtVersion = '1.8.0';

/** Serves a folder with the API of S3: the S3 bucket of the tests. */
export const versitygw: Tool = {
  name: 'versitygw',
  inspect: (path) => goVersion(path, module),
  find: [findInPath('versitygw'), findInCache(builtVersion)],
  install: [goInstall({ package: `${module}/cmd/versitygw`, version: builtVersion })],
  byHand: () => `go install ${module}/cmd/versitygw@v${builtVersion} && export PATH="$PATH:$(go env GOPATH)/bin"`,
};
