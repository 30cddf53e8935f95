import { existsSync } from 'node:fs';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startNats } from '../../../deploy/local/nats.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { freePort } from '../../harness/free-port.ts';
import { mountSmallDisk } from '../../harness/small-disk.ts';
import { processesNaming, tempDir } from './support.ts';

let toolPath: string;
beforeAll(async () => {
  toolPath = (await ensureTool('nats-server')).path;
}, 600_000);

async function start(dataDir: string, port?: number) {
  const server = await startNats({ dataDir, toolPath, ...(port === undefined ? {} : { port }) });
  onTestFinished(async () => void (await server.process.stop({ graceMs: 0 })));
  return server;
}

describe('startNats', () => {
  test('a killed server restarts on its port with its streams', async () => {
    const dataDir = await tempDir();
    const first = await start(dataDir, await freePort());
    const nc = await connect({ servers: first.url });
    expect(nc.info?.max_payload).toBe(8 * 1024 * 1024);
    const manager = await jetstreamManager(nc);
    await manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
    await jetstream(nc).publish('kept', 'word');
    await nc.close();
    first.process.kill('SIGKILL');
    expect(await first.process.exited).toEqual({ code: null, signal: 'SIGKILL' });

    const second = await start(dataDir, first.port);
    expect(second.url).toBe(first.url);
    const again = await connect({ servers: second.url });
    const message = await (await jetstreamManager(again)).streams.getMessage('KEPT', { seq: 1 });
    expect(message?.string()).toBe('word');
    await again.close();
    expect(await second.process.stop()).toEqual({ code: 0, signal: null });
    expect(await processesNaming(dataDir)).toEqual([]);
  });

  // The default limit of the server would be 0 on a full disk.
  test(
    'a server that started on a full disk accepts writes when there is space again',
    { tags: 'long' },
    async (context) => {
      const disk = await mountSmallDisk(await tempDir(), 100);
      if (typeof disk === 'string') return context.skip(disk);
      onTestFinished(() => disk[Symbol.asyncDispose]());
      const { port, process: first } = await start(disk.folder);
      await first.stop();
      // Space only for the configuration of the server.
      await disk.fill(64 * 1024);
      const server = await start(disk.folder, port);
      await disk.free();
      const nc = await connect({ servers: server.url });
      await (await jetstreamManager(nc)).streams.add({ name: 'KEPT', subjects: ['kept'] });
      // The server compares the limit with the size before the message.
      for (const seq of [1, 2]) expect((await jetstream(nc).publish('kept', Buffer.alloc(200_000))).seq).toBe(seq);
      await nc.close();
    },
  );

  test('concurrent servers have different ports', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, async () => start(await tempDir())));
    expect(new Set(servers.map(({ port }) => port)).size).toBe(4);
  });

  test('a port in use is reported by the server, and nothing remains', async () => {
    const { port } = await start(await tempDir());
    const dataDir = await tempDir();
    await expect(start(dataDir, port)).rejects.toThrow(/its last line: .*address already in use/);
    expect(await processesNaming(dataDir)).toEqual([]);
  });

  test('two servers cannot share a folder', { tags: 'long' }, async () => {
    const dataDir = await tempDir();
    const first = await start(dataDir);
    let secondIsUp = false;
    const second = start(dataDir).then(() => (secondIsUp = true));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(secondIsUp).toBe(false);
    await first.process.stop();
    await second;
  });

  test('a cancelled start leaves nothing', { tags: 'long' }, async () => {
    const dataDir = await tempDir();
    await expect(startNats({ dataDir, toolPath, signal: AbortSignal.abort(new Error('no more')) })).rejects.toThrow(
      'no more',
    );
    expect(await processesNaming(dataDir)).toEqual([]);
    expect(existsSync(dataDir)).toBe(true);
  });
});
