import { beforeAll, describe, expect, test } from 'vitest';
import { connect } from 'node:net';
import { once } from 'node:events';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

let fileUrl = '';
let whole: Buffer = Buffer.alloc(0);

beforeAll(async () => {
  // Large enough for several chunks of the embedded store.
  const viewport = { width: 1600, height: 1200 };
  const { data, bytes } = await fleet().api.captureWithFile({ url: site().url('/busy-picture'), viewport });
  ({ fileUrl } = data);
  whole = bytes;
});

const get = (headers: Record<string, string> = {}, method = 'GET') => fleet().api.request(fileUrl, { method, headers });
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe('GET /files/{name}', () => {
  test('returns the file without authentication, with headers for browsers and caches', async () => {
    const response = await get();
    expect(response.status).toBe(200);
    expect((await bytesOf(response)).equals(whole)).toBe(true);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(whole.length),
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    expect(response.headers.get('etag')).toMatch(/^"[^"]+"$/);
    expect(response.headers.get('cache-control')).toMatch(/max-age=\d+/);
  });

  test('HEAD returns the same headers without the file', async () => {
    const [head, full] = await Promise.all([get({}, 'HEAD'), get()]);
    expect(head.status).toBe(200);
    expect((await bytesOf(head)).length).toBe(0);
    for (const name of ['content-type', 'content-length', 'etag', 'accept-ranges', 'content-security-policy']) {
      expect([name, head.headers.get(name)]).toEqual([name, full.headers.get(name)]);
    }
    await full.arrayBuffer();
  });

  test('the ETag is the same for equal files, and different for another capture', async () => {
    const [first, second] = await Promise.all([get({}, 'HEAD'), get({}, 'HEAD')]);
    expect(first.headers.get('etag')).toBe(second.headers.get('etag'));
    const other = await fleet().api.captured({ url: site().url('/color') });
    const response = await fleet().api.request(other.fileUrl, { method: 'HEAD' });
    expect(response.headers.get('etag')).not.toBe(first.headers.get('etag'));
  });
});

describe('ranges', () => {
  const cases = () =>
    [
      ['bytes=0-0', 0, 1],
      ['bytes=0-99', 0, 100],
      ['bytes=100-', 100, whole.length],
      ['bytes=-100', whole.length - 100, whole.length],
      [`bytes=${whole.length - 1}-`, whole.length - 1, whole.length],
      [`bytes=-${whole.length + 1000}`, 0, whole.length],
      [`bytes=10-${whole.length + 1000}`, 10, whole.length],
    ] as const;

  test('are exact to the byte', async () => {
    expect(whole.length).toBeGreaterThan(2000);
    for (const [range, start, end] of cases()) {
      const response = await get({ range });
      expect([range, response.status]).toEqual([range, 206]);
      expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${whole.length}`);
      expect(response.headers.get('content-length')).toBe(String(end - start));
      expect((await bytesOf(response)).equals(whole.subarray(start, end))).toBe(true);
    }
  });

  test('cross the chunks of the store', async () => {
    const big = await fleet().api.captureWithFile({
      url: site().url('/busy-picture'),
      viewport: { width: 800, height: 600, deviceScaleFactor: 3 },
    });
    const part = 256 * 1024;
    expect(big.bytes.length).toBeGreaterThan(part + 10);
    for (const [start, end] of [
      [part - 1, part],
      [part, part],
      [part - 5, part + 5],
    ] as const) {
      const response = await fleet().api.request(big.data.fileUrl, { headers: { range: `bytes=${start}-${end}` } });
      expect(response.status).toBe(206);
      expect((await bytesOf(response)).equals(big.bytes.subarray(start, end + 1))).toBe(true);
    }
  });

  test('that are not satisfiable return 416 with the length', async () => {
    for (const range of [`bytes=${whole.length}-`, 'bytes=999999999-1000000000', 'bytes=-0']) {
      const response = await get({ range });
      expect([range, response.status]).toEqual([range, 416]);
      expect(response.headers.get('content-range')).toBe(`bytes */${whole.length}`);
      await response.arrayBuffer();
    }
  });

  test('that are invalid are ignored', async () => {
    for (const range of ['bytes=abc', 'bytes=9-5', 'lines=0-5', 'bytes', '']) {
      const response = await get({ range });
      expect([range, response.status]).toEqual([range, 200]);
      expect((await bytesOf(response)).length).toBe(whole.length);
    }
  });

  test('If-Range: only for the identical file', async () => {
    const etag = (await get({}, 'HEAD')).headers.get('etag') ?? '';
    const same = await get({ range: 'bytes=0-9', 'if-range': etag });
    const other = await get({ range: 'bytes=0-9', 'if-range': '"other"' });
    expect([same.status, other.status]).toEqual([206, 200]);
    expect((await bytesOf(other)).length).toBe(whole.length);
    await same.arrayBuffer();
  });
});

describe('conditions', () => {
  test('If-None-Match: a file that the client already has is not sent again', async () => {
    const etag = (await get({}, 'HEAD')).headers.get('etag') ?? '';
    for (const value of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
      const response = await get({ 'if-none-match': value });
      expect([value, response.status]).toEqual([value, 304]);
      expect(response.headers.get('etag')).toBe(etag);
      expect((await bytesOf(response)).length).toBe(0);
    }
    const response = await get({ 'if-none-match': '"other"' });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  });
});

describe('names', () => {
  test('that do not exist return 404 in the envelope, without a reason', async () => {
    const name = new URL(fileUrl).pathname.split('/').at(-1) ?? '';
    const guess = name.replace(/[0-9a-f]{32}/, '0'.repeat(32));
    const wrong = [
      guess,
      name.replace('.png', '.jpeg'),
      name.slice(0, 36),
      'x',
      '%2e%2e%2fmain.ts',
      '..%5cmain.ts',
      '*',
      '>',
    ];
    for (const path of wrong) {
      const response = await fleet().api.request(`/files/${path}`);
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ success: false, error: { code: 'NOT_FOUND' }, data: null });
    }
  });

  test('write methods are not allowed', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const response = await get({}, method);
      expect([404, 405]).toContain(response.status);
      await response.arrayBuffer();
    }
    expect((await bytesOf(await get())).equals(whole)).toBe(true);
  });
});

test('a reader that disconnects in the middle affects no other reader', async () => {
  const { hostname, port, pathname } = new URL(fileUrl);
  for (let round = 0; round < 5; round++) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(`GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
  }
  expect((await bytesOf(await get())).equals(whole)).toBe(true);
  expect(fleet().fronts[0]?.exit).toBeUndefined();
});
