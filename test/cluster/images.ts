import { execFile } from 'node:child_process';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheDirOf } from '../../deploy/tools/cache-dir.ts';
import { run } from './cluster.ts';
import { packProgram } from './program-image.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const minutes = 60_000;

/**
 * Tag of the images. It is new, because the cluster would run an older image with a known tag; or it is the tag of an earlier run, whose
 * images are still loaded.
 */
const kept = process.env['WEBCAPTURE_IMAGE_TAG'];
const tag = kept ?? `test-${Date.now().toString(36)}`;

export const images = {
  front: `webcapture.test/front:${tag}`,
  renderer: `webcapture.test/renderer:${tag}`,
  nats: `webcapture.test/nats:${tag}`,
  bucket: `webcapture.test/bucket:${tag}`,
  s3: `webcapture.test/s3:${tag}`,
};

const imageArgs = Object.entries({
  image: images.front,
  'renderer.image': images.renderer,
  'nats.image': images.nats,
}).flatMap(([value, image]) => [
  '--set',
  `${value}.repository=${image.slice(0, image.indexOf(':'))}`,
  '--set',
  `${value}.tag=${tag}`,
]);

/** Paths of the programs for the replacements of third-party images: nats-server, and fake-gcs-server and versitygw for buckets. */
export interface Programs {
  readonly nats: string;
  readonly bucket: string;
  readonly s3: string;
}

/**
 * Builds the images from these sources and loads them into the cluster with WEBCAPTURE_IMAGE_LOAD, a command that gets the path of an
 * archive. Returns the arguments for helm. Needs root and mmdebstrap (deploy/docker/rootfs.sh).
 */
export async function loadImages(programs: Programs, say: (line: string) => void): Promise<readonly string[]> {
  if (kept !== undefined) return imageArgs;
  const loadCommand = process.env['WEBCAPTURE_IMAGE_LOAD'];
  if (loadCommand === undefined) {
    throw new Error(
      'WEBCAPTURE_IMAGE_LOAD is not set: the command that loads an image archive into the cluster, e.g. "kind load image-archive"',
    );
  }
  const folder = join(cacheDirOf(process.env), 'images');
  await mkdir(folder, { recursive: true });
  for (const image of ['front', 'renderer'] as const) {
    const start = performance.now();
    const rootfs = join(folder, image);
    const archive = join(folder, `${image}.tar`);
    await run(join(root, 'deploy/docker/rootfs.sh'), [image, rootfs], { timeoutMs: 15 * minutes });
    const pack = ['--rootfs', rootfs, '--tag', images[image], '--out', archive];
    await run(process.execPath, [join(root, 'deploy/docker/archive.ts'), image, ...pack], { timeoutMs: 15 * minutes });
    const built = performance.now();
    await loadImage(loadCommand, archive);
    const { size } = await stat(archive);
    const seconds = (from: number, to: number) => `${((to - from) / 1000).toFixed(0)} s`;
    say(
      `image ${image}: ${Math.round(size / 1024 ** 2)} MiB, built in ${seconds(start, built)}, loaded in ${seconds(built, performance.now())}`,
    );
  }
  for (const image of ['nats', 'bucket', 's3'] as const) {
    const archive = join(folder, `${image}.tar`);
    // The liveness probe and the init container of NATS are shell scripts.
    const applets = image === 'nats' ? ['sh', 'mv', 'timeout', 'wget', 'df', 'awk'] : [];
    await packProgram({ program: programs[image], tag: images[image], out: archive, applets });
    await loadImage(loadCommand, archive);
  }
  say(`to use these images again: WEBCAPTURE_IMAGE_TAG=${tag}`);
  return imageArgs;
}

async function loadImage(command: string, archive: string): Promise<void> {
  await promisify(execFile)('sh', ['-c', `${command} "$1"`, 'sh', archive], { timeout: 10 * minutes });
}
