// node deploy/docker/archive.ts front|renderer --rootfs FOLDER --tag NAME:TAG --out FILE.tar
// Packs the output of rootfs.sh into an image archive without a container engine. `docker load`, `kind load
// image-archive` and `ctr images import` can read the archive.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { runCommand } from '../tools/run-command.ts';
import { imageConfig, isImageName } from './image-config.ts';

/** Time limit of the longest step, which packs 1 GB on a slow disk. */
const timeoutMs = 15 * 60_000;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { rootfs: { type: 'string' }, tag: { type: 'string' }, out: { type: 'string' } },
});
const [image = ''] = positionals;
const { rootfs, tag, out } = values;
if (!isImageName(image) || rootfs === undefined || tag === undefined || out === undefined) {
  process.stderr.write('usage: archive.ts front|renderer --rootfs FOLDER --tag NAME:TAG --out FILE.tar\n');
  process.exit(2);
}

const signal = AbortSignal.timeout(timeoutMs);
const tar = (args: readonly string[]) => runCommand('tar', [...args], { timeoutMs, signal });

/** Packs a tree reproducibly: the archive does not depend on times or on the order of the files on disk. */
async function packLayer(folder: string): Promise<string> {
  const path = `${folder}.tar`;
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    const same = ['--numeric-owner', '--owner=0', '--group=0', '--sort=name', '--mtime=@0'];
    await tar(['-C', folder, ...same, '-cf', `${path}.part`, '.']);
    await rename(`${path}.part`, path);
  }
  return path;
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

const folders = (await readdir(rootfs, { withFileTypes: true })).filter((entry) => entry.isDirectory());
const layers = await Promise.all(
  folders
    .map(({ name }) => name)
    .filter((name) => /^\d-/.test(name))
    .toSorted()
    .map(async (name) => {
      const path = await packLayer(resolve(rootfs, name));
      return { name: `${name}.tar`, path, digest: await sha256(path) };
    }),
);
await mkdir(dirname(resolve(out)), { recursive: true });
const work = await mkdtemp(join(dirname(resolve(out)), '.archive-'));
try {
  const config = imageConfig(
    image,
    layers.map(({ digest }) => digest),
  );
  const names = layers.map(({ name }) => name);
  await writeFile(join(work, 'config.json'), JSON.stringify(config));
  await writeFile(
    join(work, 'manifest.json'),
    JSON.stringify([{ Config: 'config.json', RepoTags: [tag], Layers: names }]),
  );
  for (const { name, path } of layers) await symlink(path, join(work, name));
  await tar(['-C', work, '-chf', `${resolve(out)}.part`, 'manifest.json', 'config.json', ...names]);
  await rename(`${resolve(out)}.part`, out);
} finally {
  await rm(work, { recursive: true, force: true });
}
