import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { run } from './cluster.ts';

/** Debian's package busybox-static. */
const busybox = '/bin/busybox';

interface ProgramImage {
  /** Path of the program that the image runs. */
  readonly program: string;
  readonly tag: string;
  /** Path of the archive to write. */
  readonly out: string;
  /** BusyBox applets to include, such as `sh`. */
  readonly applets?: readonly string[];
}

/** Packs an image with only a program and BusyBox applets. Throws unless they are statically linked. */
export async function packProgram({ program, tag, out, applets = [] }: ProgramImage): Promise<void> {
  for (const path of [program, ...(applets.length > 0 ? [busybox] : [])]) {
    if (/\/ld-(linux|musl)/.test((await readFile(path)).toString('latin1'))) {
      throw new Error(
        `${path} needs libraries, which the image does not contain: build it with CGO_ENABLED=0, or install busybox-static`,
      );
    }
  }
  const work = await mkdtemp(join(tmpdir(), 'program-image-'));
  try {
    await mkdir(join(work, 'root'));
    await copyFile(program, join(work, 'root', basename(program)));
    if (applets.length > 0) await copyFile(busybox, join(work, 'root', 'busybox'));
    for (const applet of applets) await symlink('busybox', join(work, 'root', applet));
    await run('tar', [
      '-C',
      join(work, 'root'),
      '--owner=0',
      '--group=0',
      '--mtime=@0',
      '--mode=755',
      '-cf',
      join(work, 'layer.tar'),
      '.',
    ]);
    const digest = createHash('sha256')
      .update(await readFile(join(work, 'layer.tar')))
      .digest('hex');
    const config = {
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: { Entrypoint: [`/${basename(program)}`], Env: ['PATH=/'] },
      rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
    };
    await writeFile(join(work, 'config.json'), JSON.stringify(config));
    await writeFile(
      join(work, 'manifest.json'),
      JSON.stringify([{ Config: 'config.json', RepoTags: [tag], Layers: ['layer.tar'] }]),
    );
    await run('tar', ['-C', work, '-cf', out, 'manifest.json', 'config.json', 'layer.tar']);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
