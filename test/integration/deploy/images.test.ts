import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { imageConfig } from '../../../deploy/docker/image-config.ts';

const root = new URL('../../../', import.meta.url);
const dockerfile = await readFile(new URL('deploy/docker/Dockerfile', root), 'utf8');

/** Returns the instructions of a stage. Continued lines are joined. */
function stage(name: string): string {
  const [, text = ''] = dockerfile.replaceAll(/\\\n\s*/g, '').split(new RegExp(`^FROM .* AS ${name}$`, 'm'));
  return text.split(/^FROM /m)[0] ?? '';
}

interface Config {
  readonly config: {
    readonly User: string;
    readonly WorkingDir: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
  };
}

describe.each(['front', 'renderer'] as const)('the image of the %s', (image) => {
  test('is the same from the Dockerfile and from the archive', async () => {
    const { config } = imageConfig(image, []) as Config;
    const instructions = stage(image);
    expect(instructions).toContain(`USER ${config.User}\n`);
    expect(instructions).toContain(`WORKDIR ${config.WorkingDir}\n`);
    expect(instructions.replaceAll('", "', '","')).toContain(`ENTRYPOINT ${JSON.stringify(config.Entrypoint)}`);
    expect(instructions).toContain(`CMD ${JSON.stringify(config.Cmd)}`);
    expect(/^ENV (.*)$/m.exec(instructions)?.[1]?.split(' ').toSorted()).toEqual(config.Env.toSorted());
    for (const [label, value] of Object.entries(config.Labels)) expect(instructions).toContain(`${label}="${value}"`);
    for (const path of config.Cmd) await access(new URL(path, root));
  });

  test('consists of all layers, from the lowest up', () => {
    const copied = [...stage(image).matchAll(/^COPY --from=(\S+) \/layers\/(\S+)\/ \/$/gm)].map(([, from, layer]) => [
      from,
      layer,
    ]);
    expect(copied).toEqual(['1-debian', '2-node', '3-app'].map((layer) => [`${image}-layout`, layer]));
    expect(stage(`${image}-layout`)).toContain(`RUN deploy/docker/rootfs.sh ${image} /layers`);
  });
});

test('base images are pinned by digest', () => {
  for (const [, from = ''] of dockerfile.matchAll(/^FROM (\S+)/gm)) {
    const isStage = new RegExp(`AS ${from}$`, 'm').test(dockerfile);
    expect(from === 'scratch' || isStage || from.includes('@sha256:')).toBe(true);
  }
});

test('bash accepts the scripts', async () => {
  for (const path of ['deploy/docker/rootfs.sh', 'deploy/kind/up.sh']) {
    await promisify(execFile)('bash', ['-n', join(root.pathname, path)]);
  }
});

test('the layout script prints its usage for invalid arguments', async () => {
  await expect(
    promisify(execFile)('bash', [join(root.pathname, 'deploy/docker/rootfs.sh'), 'backend', '/nowhere']),
  ).rejects.toThrow(/usage: rootfs.sh front\|renderer FOLDER/);
});
