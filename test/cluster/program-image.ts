import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { run } from './cluster.ts';

/** An image that holds nothing but one program, as the official `nats:…-scratch` does. Throws unless it is linked statically. */
export async function packProgram(program: string, tag: string, out: string): Promise<void> {
  if (/\/ld-(linux|musl)/.test((await readFile(program)).toString('latin1'))) {
    throw new Error(`${program} needs libraries, which the image has not: build it with CGO_ENABLED=0`);
  }
  const work = await mkdtemp(join(tmpdir(), 'program-image-'));
  try {
    await mkdir(join(work, 'root'));
    await copyFile(program, join(work, 'root', basename(program)));
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
