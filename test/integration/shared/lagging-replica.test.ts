// @module-tag long
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { storeHtml, readHtml } from '@webcapture/shared/files/stored-html.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newFile } from '../../harness/records.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());
afterEach(() => {
  vi.restoreAllMocks();
});

/** Direct reads find nothing for `lagMs` by the clock of this process, which each read advances by `askMs`. */
function behindReplica(lagMs: number, askMs: number) {
  const { jsm } = nats.session;
  const now = Date.now.bind(Date);
  const start = now();
  let asked = 0;
  const skewMs = () => asked * askMs;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + skewMs());
  const getMessage: typeof jsm.direct.getMessage = async (...args) => {
    asked++;
    return Date.now() - start < lagMs ? null : jsm.direct.getMessage(...args);
  };
  const direct = new Proxy(jsm.direct, {
    get: (target, key) => (key === 'getMessage' ? getMessage : Reflect.get(target, key)),
  });
  const lagging = new Proxy(jsm, { get: (target, key) => (key === 'direct' ? direct : Reflect.get(target, key)) });
  const session: NatsSession = { ...nats.session, jsm: lagging };
  return { session, asked: () => asked };
}

const storeText = async (html: string) => {
  const address = { region: 'us-east', name: randomUUID() } as const;
  await storeHtml(nats.session, address, html, Date.now() + 600_000);
  return address;
};

describe('HTML that a replica does not have yet', () => {
  // A server that is cut off from the cluster detects this after 10 s.
  test('is waited for by a renderer for longer than a disconnected server needs to catch up', async () => {
    const address = await storeText('<p>late</p>');
    const { session, asked } = behindReplica(14_000, 3500);
    expect(await readHtml(session, address, 'by-subject')).toBe('<p>late</p>');
    expect(asked()).toBeGreaterThanOrEqual(4);
  });

  test('fails the read if it does not arrive in time', async () => {
    const address = await storeText('<p>never</p>');
    const { session, asked } = behindReplica(Infinity, 3500);
    await expect(readHtml(session, address, 'by-subject')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(asked()).toBeLessThanOrEqual(5);
  });

  test('is found by a service that may read from the leader', async () => {
    const address = await storeText('<p>there</p>');
    const { session, asked } = behindReplica(Infinity, 3500);
    expect(await readHtml(session, address)).toBe('<p>there</p>');
    expect(asked()).toBe(0);
  });
});

test('a file that a replica does not have yet is found, read whole and removed', async () => {
  const file = newFile(600_000);
  await new EmbeddedStore(nats.session).create(file);
  const { session } = behindReplica(Infinity, 0);
  const store = new EmbeddedStore(session);
  const found = await store.stat(file.name);
  expect(found?.size).toBe(600_000);
  if (found === null) throw new Error('it is not there');
  const parts: Uint8Array[] = [];
  for await (const part of store.read(found)) parts.push(part);
  expect(Buffer.concat(parts).equals(file.bytes)).toBe(true);
  await store.remove(file.name);
  expect(await store.stat(file.name)).toBeNull();
});
