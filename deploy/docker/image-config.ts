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

/** Returns the configuration of an image. It equals that of the Dockerfile; a test compares the two. */
export function imageConfig(image: ImageName, layerDigests: readonly string[]): object {
  // The default command; the chart overrides it for other services of the image.
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

/** The environment of an image. Only /tmp must be writable. */
function environment(image: ImageName): Readonly<Record<string, string>> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    NODE_ENV: 'production',
    HOME: '/tmp',
    ...(image === 'renderer' ? { WEBCAPTURE_FILTERS_PATH: `${app}/filters` } : {}),
  };
}
