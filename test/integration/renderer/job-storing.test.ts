import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import type { NewFile } from '@webcapture/shared/files/file-store.ts';
import type { RenderEngine } from '../../../services/renderer/page/engine.ts';
import { picture } from './support/renderer.ts';
import { useRenderers } from './support/use-renderers.ts';

const { queue, connect, start, settled } = useRenderers();

describe('while a file is being stored', () => {
  /** Uploads a file after a delay of `ms`. */
  const slowUploader = (session: NatsSession, ms: number) => {
    const counts = { storing: 0, most: 0 };
    const real = new EmbeddedUploader(session);
    const upload = (file: NewFile) => {
      counts.most = Math.max(counts.most, ++counts.storing);
      const { sent, stored } = real.upload(file);
      const slow = stored.then(async (value) => {
        await sleep(ms);
        counts.storing--;
        return value;
      });
      return { sent, stored: slow };
    };
    return { counts, uploader: { upload } };
  };

  test('the slot renders the next one, with at most two files being stored', async () => {
    const session = await connect();
    const { counts, uploader } = slowUploader(session, 300);
    const behind: number[] = [];
    const render: RenderEngine['render'] = async () => {
      await sleep(20);
      behind.push(counts.storing);
      return picture();
    };
    for (let job = 0; job < 12; job++) await queue().publish();
    await start({ uploader, render }, session);
    await settled(12);
    expect(Math.max(...behind)).toBe(2);
  });

  test('its page is closed soon, even if the store is slow', async () => {
    const session = await connect();
    const { counts, uploader } = slowUploader(session, 3000);
    let storingWhenClosed = 0;
    const render: RenderEngine['render'] = async ({ answered }) => {
      void answered?.then(() => (storingWhenClosed = counts.storing));
      return picture();
    };
    await start({ uploader, render }, session);
    await queue().publish();
    await settled(1);
    expect(storingWhenClosed).toBe(1);
  });
});
