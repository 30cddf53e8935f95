import { version } from '@webcapture/shared/runtime/run-service.ts';
import { nodeArguments } from '@webcapture/shared/runtime/service-command.ts';

const imageNames = ['front', 'renderer'] as const;
type ImageName = (typeof imageNames)[number];

export const isImageName = (name: string): name is ImageName => (imageNames as readonly string[]).includes(name);

const app = '/opt/webcapture';

const titles: Readonly<Record<ImageName, string>> = {
  front: 'webcapture: front and controller',
  renderer: 'webcapture: renderer, with Chromium and fonts',
};

/** The configuration of an image: the same that the Dockerfile gives it, which a test holds against it. */
export function imageConfig(image: ImageName, layerDigests: readonly string[]): object {
  // What runs by default; the chart names another service of the image where it wants one.
  const { options, program } = nodeArguments(image);
  return {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    created: new Date().toISOString(),
    config: {
      User: '10001:10001',
      WorkingDir: app,
      Env: Object.entries(environment(image)).map(([name, value]) => `${name}=${value}`),
      Entrypoint: ['/usr/bin/tini', '--', 'node', ...options],
      Cmd: [program],
      Labels: {
        'org.opencontainers.image.title': titles[image],
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    },
    rootfs: { type: 'layers', diff_ids: layerDigests.map((digest) => `sha256:${digest}`) },
  };
}

/** /tmp is the one folder that has to be writable. */
function environment(image: ImageName): Readonly<Record<string, string>> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    NODE_ENV: 'production',
    HOME: '/tmp',
    ...(image === 'renderer' ? { WEBCAPTURE_FILTERS_PATH: `${app}/filters` } : {}),
  };
}
