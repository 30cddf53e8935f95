import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureResult } from '@webcapture/shared/api/capture.ts';
import { maxCodeBytes } from '@webcapture/shared/api/option-schemas.ts';
import { readFacts } from '../harness/pdf-facts.ts';
import { Picture } from '../harness/picture.ts';
import { until } from '../harness/until.ts';
import { useFleet } from '../harness/use.ts';

const [firstKey, secondKey] = ['the-first-key-of-32-or-more-characters', 'the-second-key-of-32-or-more-characters'];
const fleet = useFleet({
  slots: 2,
  env: { WEBCAPTURE_SECRETS_KEY: firstKey, WEBCAPTURE_MIN_REFRESH_INTERVAL: '1', WEBCAPTURE_CANARY_INTERVAL: '0' },
});
const withoutKey = useFleet();

const password = 'hunter2-of-the-page';
const bearer = `Bearer ${password}`;
const basic = `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`;

const requests: IncomingMessage[] = [];
const deliveries: string[] = [];
let site: Server;
let images: Server;
beforeAll(async () => {
  images = await listening((request) => requests.push(request));
  site = await listening((request) => requests.push(request));
});
afterAll(() => {
  for (const server of [site, images]) server.close().closeAllConnections();
});

/** Each page is green if the login is valid, and has a picture from another origin. */
async function listening(onRequest: (request: IncomingMessage) => void): Promise<Server> {
  const server = createServer((request, response) => {
    onRequest(request);
    if (request.url === '/form') {
      return response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(
          '<form method="post" action="/enter"><input name="user"><input name="password"><button>Sign in</button></form>',
        );
    }
    if (request.url === '/enter') {
      void text(request).then((form) => {
        const isRight = form === `user=ann&password=${password}`;
        const cookie = isRight ? { 'set-cookie': `sid=${password}; HttpOnly` } : {};
        response.writeHead(303, { location: '/cookie', ...cookie }).end();
      });
      return undefined;
    }
    if (request.method === 'POST') {
      void text(request).then((delivery) => deliveries.push(delivery));
      return response.writeHead(204).end();
    }
    const { authorization, cookie = '' } = request.headers;
    const isIn = {
      '/cookie': cookie.includes(`sid=${password}`),
      '/basic': authorization === basic,
      '/bearer': authorization === bearer,
    }[request.url ?? ''];
    if (isIn === undefined) return response.writeHead(404).end();
    const headers = {
      'content-type': 'text/html',
      ...(request.url === '/basic' ? { 'www-authenticate': 'Basic' } : {}),
    };
    return response
      .writeHead(isIn ? 200 : 401, headers)
      .end(`<html style="background: ${isIn ? '#00aa00' : '#ff0000'}"><img src="${addressOf(images)}/image">`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const seen = (path: string) => requests.filter(({ url }) => url === path);

const logins = {
  '/cookie': { cookies: [{ name: 'sid', value: password, httpOnly: true }] },
  '/basic': { auth: { username: 'ann', password } },
  '/bearer': { headers: { Authorization: bearer } },
} as const;

async function expectIn(path: keyof typeof logins, body: object = {}): Promise<CaptureResult> {
  const { data, picture } = await fleet().api.picture({ url: addressOf(site) + path, ...logins[path], ...body });
  expect(data.report.httpStatus).toBe(200);
  expect(picture.share('#00aa00')).toBeGreaterThan(0.9);
  return data;
}

test.each(['/cookie', '/basic', '/bearer'] as const)('a page at %s accepts the login of the capture', async (path) => {
  const { uuid, metadata } = await expectIn(path);
  const { api, usageCheck } = fleet();
  const names = { headers: [] as string[], cookies: [] as string[], auth: false, css: false, script: false };
  const expected = {
    '/cookie': { ...names, cookies: ['sid'] },
    '/basic': { ...names, auth: true },
    '/bearer': { ...names, headers: ['Authorization'] },
  }[path];
  expect(metadata.secrets).toEqual(expected);
  for (const place of [`/captures/${uuid}`, '/captures']) {
    const text = await (await api.get(place)).text();
    expect(text).toContain(uuid);
    expect(text).not.toContain(password);
  }
  const record = await usageCheck.record(uuid);
  expect(record?.secrets?.sealed).toMatch(/^[\w+/]{40,}=*$/);
  expect(JSON.stringify(record)).not.toContain(password);
});

const formSteps = [
  { type: { selector: '[name=user]', text: 'ann' } },
  { type: { selector: '[name=password]', text: password } },
  { press: { key: 'Enter' } },
];

/** Returns, as one text, all responses of the API that describe a capture. */
async function shownOf(uuid: string): Promise<string> {
  const paths = ['', '/history?include=options', '/diagnostics', '/diagnostics?format=har'];
  const shown = paths.map(async (path) => (await fleet().api.get(`/captures/${uuid}${path}`)).text());
  return (await Promise.all(shown)).join('\n');
}

test('steps log in by a form, and nothing that is stored or shown contains what they enter', async () => {
  const { api, usageCheck } = fleet();
  const body = {
    url: `${addressOf(site)}/form`,
    steps: formSteps,
    diagnostics: true,
    responseCache: { enabled: true },
  };
  const { data, picture } = await api.picture(body);
  expect(data.report).toMatchObject({ httpStatus: 200, finalUrl: `${addressOf(site)}/cookie` });
  expect(picture.share('#00aa00')).toBeGreaterThan(0.9);
  expect(data.metadata.secrets).toMatchObject({ stepValues: true, cookies: [] });
  const shown = await shownOf(data.uuid);
  expect(shown).toContain('"steps":[{"type":{"selector":"[name=user]"}},{"type":{"selector":"[name=password]"}}');
  expect(shown).not.toContain(password);
  expect(JSON.stringify(await usageCheck.record(data.uuid))).not.toContain(password);

  expect((await api.captured(body)).uuid).toBe(data.uuid);
  const others = [formSteps[0], { type: { selector: '[name=password]', text: 'wrong' } }, formSteps[2]];
  const other = await api.captured({ ...body, steps: others });
  expect(other).toMatchObject({ fromCache: false, report: { httpStatus: 401 } });
});

test('a failed step of a background capture does not show what the steps entered', async () => {
  const { api, usageCheck } = fleet();
  const steps = [...formSteps.slice(0, 2), { select: { selector: '[name=user]', value: password } }];
  const { uuid } = await api.captured({ url: `${addressOf(site)}/form`, steps, background: true });
  const record = await until('the capture to end', async () => {
    const found = await usageCheck.record(uuid);
    return found?.status === 'failed' && found;
  });
  expect(record.failure).toMatchObject({
    code: 'CAPTURE_FAILED',
    cause: 'client',
    message: 'Step 3 (select "[name=user]") failed: its selector matched an element that is not a select element.',
  });
  expect(JSON.stringify(record)).not.toContain(password);
  expect(await shownOf(uuid)).not.toContain(password);
  expect((await api.get(`/captures/${uuid}/diagnostics/picture`)).status).toBe(200);
});

test('without the login the page stays closed', async () => {
  const { data } = await fleet().api.picture({ url: `${addressOf(site)}/bearer` });
  expect(data.report.httpStatus).toBe(401);
  expect(data.metadata).not.toHaveProperty('secrets');
});

test('the host of its pictures gets no Authorization header', () => {
  const images = seen('/image');
  expect(images.length).toBeGreaterThan(2);
  for (const { headers } of images) expect(headers).not.toHaveProperty('authorization');
});

test('equal captures share a cache entry, and those with other secrets do not', async () => {
  const { api } = fleet();
  const responseCache = { enabled: true };
  const first = await expectIn('/bearer', { responseCache });
  expect((await expectIn('/bearer', { responseCache })).uuid).toBe(first.uuid);
  const headers = { Authorization: 'Bearer of-somebody-else' };
  const other = await api.captured({ url: `${addressOf(site)}/bearer`, headers, responseCache });
  expect(other).toMatchObject({ fromCache: false, report: { httpStatus: 401 } });
});

test('a request with the same Idempotency-Key and other secrets is a different request', async () => {
  const { api } = fleet();
  const body = { url: `${addressOf(site)}/bearer`, ...logins['/bearer'] };
  const options = { headers: { 'idempotency-key': 'of-a-login' } };
  const first = await api.captured(body, options);
  expect((await api.captured(body, options)).uuid).toBe(first.uuid);
  const refusal = await api.refused({ ...body, headers: { Authorization: 'Bearer of-somebody-else' } }, options);
  expect(refusal.message).toContain('This Idempotency-Key was sent with another body');

  const stepped = { url: `${addressOf(site)}/form`, steps: formSteps };
  const ofSteps = { headers: { 'idempotency-key': 'of-steps' } };
  const entered = await api.captured(stepped, ofSteps);
  expect((await api.captured(stepped, ofSteps)).uuid).toBe(entered.uuid);
  const others = [{ type: { selector: '[name=user]', text: 'bob' } }, ...formSteps.slice(1)];
  const otherRefusal = await api.refused({ ...stepped, steps: others }, ofSteps);
  expect(otherRefusal.message).toContain('This Idempotency-Key was sent with another body');
});

test('a background capture uses all secrets, and its webhook contains none', async () => {
  const { api } = fleet();
  const secrets = {
    ...logins['/bearer'],
    ...logins['/cookie'],
    ...logins['/basic'],
    css: `html { --x: '${password}'; background: #0000ff !important }`,
    script: `document.title = '${password}'.length`,
  };
  const webhook = { url: `${addressOf(site)}/webhook` };
  const { uuid } = await api.captured({ url: `${addressOf(site)}/bearer`, ...secrets, background: true, webhook });
  const data = await until('the capture to end', async () => {
    const answer = (await (await api.get(`/captures/${uuid}`)).json()) as { data: CaptureResult };
    return answer.data.status === 'completed' && answer.data;
  });
  expect(data.report).toMatchObject({ httpStatus: 200, title: String(password.length) });
  const picture = await Picture.of(Buffer.from(await (await api.request(data.fileUrl)).arrayBuffer()));
  expect(picture.share('#0000ff')).toBeGreaterThan(0.9);
  await until('the webhook', () => deliveries.length > 0);
});

test('css and script of 64 KiB, which are sealed in the result too, apply', async () => {
  const css = 'html { background: #0000ff !important }'.padEnd(maxCodeBytes);
  const script = "document.title = 'large'".padEnd(maxCodeBytes);
  const { data, picture } = await fleet().api.picture({ url: `${addressOf(site)}/bearer`, css, script });
  expect(data.report.title).toBe('large');
  expect(picture.share('#0000ff')).toBeGreaterThan(0.9);
});

test('a PDF is encrypted with a password that no response or record contains, also in the background', async () => {
  const { api, usageCheck } = fleet();
  const pdf = { encryption: { userPassword: password }, metadata: { title: 'A title' } };
  const body = { html: '<p>secret', format: 'pdf', pdf, background: true };
  const options = { headers: { 'idempotency-key': 'of-a-pdf' } };
  const { uuid } = await api.captured(body, options);
  const refusal = await api.refused({ ...body, pdf: { encryption: { userPassword: 'another' } } }, options);
  expect(refusal.message).toContain('This Idempotency-Key was sent with another body');
  const data = await until('the capture to end', async () => {
    const text = await (await api.get(`/captures/${uuid}`)).text();
    expect(text).not.toContain(password);
    const answer = JSON.parse(text) as { data: CaptureResult };
    return answer.data.status === 'completed' && answer.data;
  });
  expect(data.metadata.secrets).toMatchObject({ pdfEncryption: true, auth: false });
  expect(JSON.stringify(await usageCheck.record(uuid))).not.toContain(password);
  const file = Buffer.from(await (await api.request(data.fileUrl)).arrayBuffer());
  await expect(readFacts(file)).rejects.toThrow('No password given');
  expect(await readFacts(file, password)).toMatchObject({ texts: ['secret'], info: { Title: 'A title' } });
  expect((await api.get(`/captures/${uuid}/thumbnail?width=240`)).status).toBe(404);
});

describe('a persisted capture', () => {
  let kept: CaptureResult;
  const keep = async () => {
    kept ??= await expectIn('/bearer', { persistence: { enabled: true, refreshInterval: 1 } });
  };

  const refreshes = async () => (await fleet().usageCheck.record(kept.uuid))?.refresh?.revision ?? 0;
  const expectGreen = async () => {
    const { api, usageCheck } = fleet();
    expect((await usageCheck.record(kept.uuid))?.outcome?.report.httpStatus).toBe(200);
    const picture = await Picture.of(Buffer.from(await (await api.request(kept.fileUrl)).arrayBuffer()));
    expect(picture.share('#00aa00')).toBeGreaterThan(0.9);
  };
  const refreshed = async () => {
    const before = await refreshes();
    await fleet().api.request(`/captures/${kept.uuid}/refresh`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fleet().key}` },
    });
    return until('the refresh to end', async () => {
      const { refresh } = (await fleet().usageCheck.record(kept.uuid)) ?? {};
      return refresh !== undefined && refresh.revision > before && refresh.endedAt !== undefined && refresh;
    });
  };
  const restartWith = async (key: string) => {
    const { fronts, renderers, serving } = fleet();
    for (const part of [...renderers, ...fronts]) await part.restartWith({ WEBCAPTURE_SECRETS_KEY: key });
    await serving('us-east', 1);
  };

  test('logs in again for each refresh', async () => {
    await keep();
    await until('two refreshes', async () => (await refreshes()) > 2);
    await expectGreen();
  });

  test(
    'still logs in after the key was rotated, and is sealed with the new key from then on',
    { tags: 'long' },
    async () => {
      await keep();
      const old = (await fleet().usageCheck.record(kept.uuid))?.secrets?.key;
      await restartWith(`${secondKey},${firstKey}`);
      expect(await refreshed()).toMatchObject({ state: 'completed' });
      expect((await fleet().usageCheck.record(kept.uuid))?.secrets?.key).not.toBe(old);
      await restartWith(secondKey);
      expect(await refreshed()).toMatchObject({ state: 'completed' });
      await expectGreen();
    },
  );

  test('keeps its file when the key is gone, and reports why it is not refreshed', { tags: 'long' }, async () => {
    await restartWith('a-third-key-that-nobody-sealed-with');
    const { state, failure } = await refreshed();
    expect(state).toBe('failed');
    expect(failure?.message).toContain('the renderer does not have the key that they were sealed with');
    await expectGreen();
  });
});

describe('if the operator has not set a key', () => {
  test('a capture logs in, but cannot be refreshed', async () => {
    const { api, usageCheck } = withoutKey();
    const url = `${addressOf(site)}/bearer`;
    const { uuid, report } = await api.captured({ url, ...logins['/bearer'] });
    expect(report.httpStatus).toBe(200);
    expect(await usageCheck.record(uuid)).not.toHaveProperty('secrets');
    const response = await api.request(`/captures/${uuid}/refresh`, {
      method: 'POST',
      headers: { authorization: `Bearer ${withoutKey().key}` },
    });
    expect(response.status).toBe(409);
    expect(await response.text()).toContain('were not stored');
  });
});

test('no log line, metric or webhook contains a secret value', async () => {
  expect(deliveries).toHaveLength(1);
  expect(deliveries[0]).toContain('capture.completed');
  expect(deliveries[0]).not.toContain(password);
  for (const { fronts, renderers, controller } of [fleet(), withoutKey()]) {
    for (const part of [...fronts, ...renderers, controller]) {
      expect(part.logs()).not.toContain(password);
      expect(part.logs()).not.toContain(basic);
      expect(await part.metrics()).not.toContain(password);
    }
  }
});
