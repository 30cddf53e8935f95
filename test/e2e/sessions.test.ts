import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Batch } from '@webcapture/shared/api/batch.ts';
import type { CaptureResult } from '@webcapture/shared/api/capture.ts';
import { Webcapture } from '@webcapture/client';
import { maxSessions, type Session } from '@webcapture/shared/api/session.ts';
import { uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import { Picture } from '../harness/picture.ts';
import { until } from '../harness/until.ts';
import { useFleet } from '../harness/use.ts';
import { runCommand } from '../integration/cli/command.ts';

const fleet = useFleet({
  slots: 2,
  env: {
    WEBCAPTURE_SECRETS_KEY: 'the-key-of-32-or-more-characters-of-the-sessions',
    WEBCAPTURE_MIN_REFRESH_INTERVAL: '1',
    WEBCAPTURE_CANARY_INTERVAL: '0',
  },
});
const withoutKey = useFleet();

const password = 'hunter2-of-the-form';
const secrets = {
  cookie: 'c00kie-that-the-login-set',
  local: 'token-that-the-login-left-in-local-storage',
  session: 'token-that-the-login-left-in-session-storage',
};
/** No response, record, log line or metric contains these. */
const hidden = [password, ...Object.values(secrets)];

let site: Server;
beforeAll(async () => {
  site = createServer((request, response) => {
    const { url = '', headers } = request;
    const page = (body: string) => response.writeHead(200, { 'content-type': 'text/html' }).end(body);
    if (url === '/login') {
      const fields = '<input name="user"><input name="password"><button>Sign in</button>';
      return page(`<form method="post" action="/enter" onsubmit="
        localStorage.setItem('token', '${secrets.local}'); sessionStorage.setItem('tab', '${secrets.session}')">${fields}</form>`);
    }
    if (url === '/large') return page(`<script>localStorage.setItem('large', 'x'.repeat(300_000))</script>`);
    if (url === '/out')
      return page(`<script>localStorage.clear(); localStorage.setItem('out', '1'); location = '/account'</script>`);
    if (url === '/enter') {
      return void text(request).then((form) => {
        const isRight = form === `user=ann&password=${password}`;
        const cookies = isRight
          ? [`sid=${secrets.cookie}; HttpOnly; SameSite=Lax; Path=/`, 'seen=1; Max-Age=3600']
          : [];
        response.writeHead(303, { location: '/account', 'set-cookie': cookies }).end();
      });
    }
    // Green for those who are logged in, and named by what the page finds.
    const isIn = headers.cookie?.includes(`sid=${secrets.cookie}`) === true && headers.cookie.includes('seen=1');
    return page(`<title></title><html style="background: ${isIn ? '#00aa00' : '#ff0000'}"><script>
      document.title = ['${isIn ? 'cookie' : 'none'}',
        localStorage.getItem('token') === '${secrets.local}' ? 'local' : 'none',
        sessionStorage.getItem('tab') === '${secrets.session}' ? 'session' : 'none',
        document.cookie].join();
    </script>`);
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
});
afterAll(() => site.close().closeAllConnections());

const address = (path: string) => `http://127.0.0.1:${(site.address() as AddressInfo).port}${path}`;

const formSteps = [
  { type: { selector: '[name=user]', text: 'ann' } },
  { type: { selector: '[name=password]', text: password } },
  { press: { key: 'Enter' } },
];
const login = () => ({ url: address('/login'), steps: formSteps });

const logIn = (more: object = {}, key?: string) =>
  fleet().api.call<Session>('POST', '/sessions', {
    body: { ...login(), ...more },
    ...(key === undefined ? {} : { key }),
  });

/** Sends a request that must be refused, and returns its status, code and message. */
async function refused(method: string, path: string, body?: object, key = fleet().key, { api } = fleet()) {
  const response = await api.request(path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { error } = (await response.json()) as { error: { code: string; message: string } | null };
  return { status: response.status, ...error };
}

const notFound = { status: 404, code: 'NOT_FOUND' };
const unknown = { status: 400, code: 'SESSION_NOT_FOUND' };
const loggedIn = 'cookie,local,session,seen=1';

async function ended(uuid: string): Promise<CaptureResult> {
  return until('the capture to end', async () => {
    const data = await fleet().api.call<CaptureResult>('GET', `/captures/${uuid}`);
    return data.status === 'completed' && data;
  });
}

describe('a session', () => {
  let session: Session;
  beforeAll(async () => {
    session = await logIn({ name: 'Reports', expiresIn: 3600, diagnostics: true });
  });

  test('is described without its values, and its capture shows the page after the login', async () => {
    const { api, usageCheck } = fleet();
    const { sessionId, createdAt, expiresAt } = session;
    expect(session).toMatchObject({ name: 'Reports', url: address('/login'), sites: ['127.0.0.1'] });
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBeGreaterThanOrEqual(3_600_000);
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBeLessThan(3_700_000);
    expect(await api.call('GET', `/sessions/${sessionId}`)).toEqual(session);
    expect(await api.call('GET', '/sessions')).toEqual({ sessions: [session] });
    const capture = await ended(sessionId);
    expect(capture).toMatchObject({ tokenCost: 1, report: { finalUrl: address('/account') } });
    const account = await usageCheck.account();
    const places = ['', '/history', '/diagnostics'].map((path) => `/captures/${sessionId}${path}`);
    const shown = await Promise.all(places.map(async (path) => (await api.get(path)).text()));
    const stored = [
      await usageCheck.record(sessionId),
      await usageCheck.sessions.get(account, sessionId),
      await usageCheck.sessions.stateOf(account, sessionId),
    ];
    for (const value of hidden) expect(JSON.stringify([session, shown, stored])).not.toContain(value);
  });

  test('logs a capture in, with its cookies and storage', async () => {
    const { data, picture } = await fleet().api.picture({ url: address('/account'), session: session.sessionId });
    expect(data.report.title).toBe(loggedIn);
    expect(picture.share('#00aa00')).toBeGreaterThan(0.9);
    const history = await fleet().api.call<{ options: object }>('GET', `/captures/${data.uuid}/history`);
    expect(history.options).toEqual({ session: session.sessionId });
  });

  test(
    'logs in a browser with antiBot, and is not restored over what the page has stored',
    { tags: 'long' },
    async () => {
      const { api } = fleet();
      const out = await api.captured({ url: address('/out'), session: session.sessionId, antiBot: true });
      expect(out.report.title).toBe('cookie,none,session,seen=1');
      const again = await api.captured({ url: address('/account'), session: session.sessionId });
      expect(again.report.title).toBe(loggedIn);
    },
  );

  test('gives way to the cookies of the request, and does not reach other sites', { tags: 'long' }, async () => {
    const { api } = fleet();
    const cookies = [{ name: 'sid', value: 'another' }];
    const other = await api.captured({ url: address('/account'), session: session.sessionId, cookies });
    expect(other.report.title).toBe('none,local,session,seen=1; sid=another');
    const foreign = address('/account').replace('127.0.0.1', 'localhost');
    const elsewhere = await api.captured({ url: foreign, session: session.sessionId });
    expect(elsewhere.report.title).toBe('none,none,none,');
  });

  test('leaves nothing in the next capture of the same browser', async () => {
    const { report } = await fleet().api.captured({ url: address('/account') });
    expect(report.title).toBe('none,none,none,');
  });

  test('has its own entries in the response cache', async () => {
    const { api } = fleet();
    const body = { url: address('/account'), responseCache: { enabled: true } };
    const without = await api.captured(body);
    const first = await api.captured({ ...body, session: session.sessionId });
    expect(first).toMatchObject({ fromCache: false, report: { title: loggedIn } });
    expect(await api.captured({ ...body, session: session.sessionId })).toMatchObject({
      fromCache: true,
      uuid: first.uuid,
    });
    expect((await api.captured(body)).uuid).toBe(without.uuid);
  });

  test('logs in captures of the background and of batches', async () => {
    const { api } = fleet();
    const body = { url: address('/account'), session: session.sessionId };
    const { uuid } = await api.captured({ ...body, background: true });
    const batch = await api.call<Batch>('POST', '/captures/batch', { body: { requests: [body] } });
    for (const each of [uuid, batch.captures[0]?.uuid ?? '']) {
      expect((await ended(each)).report.title).toBe(loggedIn);
    }
  });

  test('can be renewed by a login that uses it', { tags: 'long' }, async () => {
    const { api } = fleet();
    const { sessionId } = await logIn({ url: address('/account'), steps: undefined, session: session.sessionId });
    expect(sessionId).not.toBe(session.sessionId);
    const { report } = await api.captured({ url: address('/account'), session: sessionId });
    expect(report.title).toBe(loggedIn);
    await api.call('DELETE', `/sessions/${sessionId}`);
  });

  test('belongs to its account', async () => {
    const { usageCheck } = fleet();
    const { key } = await usageCheck.addAccount('without-sessions');
    const path = `/sessions/${session.sessionId}`;
    const body = { url: address('/account'), session: session.sessionId };
    expect(await refused('GET', path, undefined, key)).toMatchObject(notFound);
    expect(await refused('DELETE', path, undefined, key)).toMatchObject(notFound);
    expect(await refused('POST', '/capture', body, key)).toMatchObject(unknown);
    expect(await refused('POST', '/capture', { ...body, background: true }, key)).toMatchObject(unknown);
    const requests = [{ url: address('/account') }, body];
    const batch = await refused('POST', '/captures/batch', { requests }, key);
    expect(batch).toMatchObject({ ...unknown, message: expect.stringMatching(/^requests\.1: /) as string });
    expect(await fleet().api.call('GET', '/sessions', { key })).toEqual({ sessions: [] });
    expect(await fleet().api.call('GET', path)).toEqual(session);
  });

  test('needs the scopes capture and read', async () => {
    const { key } = await fleet().usageCheck.addAccount('reader', { scopes: ['read'] });
    expect(await refused('POST', '/sessions', login(), key)).toMatchObject({ status: 401 });
    expect(await refused('DELETE', `/sessions/${session.sessionId}`, undefined, key)).toMatchObject({ status: 403 });
    const { key: writer } = await fleet().usageCheck.addAccount('writer', { scopes: ['capture'] });
    expect(await refused('GET', '/sessions', undefined, writer)).toMatchObject({ status: 403 });
  });
});

test('the client and the command line create, list, use and delete sessions', { tags: 'long' }, async () => {
  const { url, key } = fleet();
  const client = new Webcapture({ url, apiKey: key });
  const { sessionId, ...created } = await client.createSession({ ...login(), name: 'Client', expiresIn: 600 });
  expect(await client.getSession(sessionId)).toEqual({ sessionId, ...created });
  expect((await client.capture({ url: address('/account'), session: sessionId })).report.title).toBe(loggedIn);
  expect(await client.deleteSession(sessionId)).toMatchObject({ name: 'Client' });
  await expect(client.deleteSession(sessionId)).rejects.toMatchObject({ code: 'NOT_FOUND' });

  const env = { WEBCAPTURE_URL: url, WEBCAPTURE_API_KEY: key };
  const run = async (...args: string[]) => {
    const { stdout, ...result } = await runCommand(args, { env });
    return { ...result, stdout: stdout.toString() };
  };
  const flags = formSteps.flatMap((step) => ['--steps', JSON.stringify(step)]);
  const made = await run('sessions', 'create', address('/login'), ...flags, '--name', 'CLI', '--expires-in', '600');
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('Session for 127.0.0.1, expires ') as string });
  const id = made.stdout.trim();
  const listed = await run('sessions', 'list');
  expect(listed.stdout).toMatch(new RegExp(`^ID .*\\n${id} .* 127\\.0\\.0\\.1 +CLI`));
  expect((await client.listSessions())[0]).toMatchObject({ sessionId: id, name: 'CLI' });
  const captured = await run('capture', address('/account'), '--session', id, '--json');
  expect(JSON.parse(captured.stdout)).toMatchObject({ report: { title: loggedIn } });
  expect(await run('sessions', 'delete', id)).toMatchObject({ code: 0, stdout: `Deleted ${id}.\n` });
  expect(await run('sessions', 'delete', id)).toMatchObject({ code: 9 });
  expect(await run('capture', address('/account'), '--session', id)).toMatchObject({ code: 3 });
});

test('a repeated request with the same Idempotency-Key returns the same session', { tags: 'long' }, async () => {
  const { api, key } = fleet();
  const send = async (body: object, path = '/sessions') => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': 'of-a-login',
    };
    const response = await api.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
    return { response, answer: (await response.json()) as { data: Session; error: { message: string } | null } };
  };
  const first = await send(login());
  const second = await send(login());
  expect(second.answer.data).toEqual(first.answer.data);
  expect(second.response.headers.get('idempotent-replayed')).toBe('true');
  for (const other of [await send({ ...login(), expiresIn: 60 }), await send(login(), '/capture')]) {
    expect(other.response.status).toBe(400);
    expect(other.answer.error?.message).toContain('This Idempotency-Key was sent with another body');
  }
  await api.call('DELETE', `/sessions/${first.answer.data.sessionId}`);
});

test('refreshes log in until the session is deleted, then fail and keep the file', { tags: 'long' }, async () => {
  const { api, usageCheck } = fleet();
  const { sessionId } = await logIn();
  const body = { url: address('/account'), session: sessionId, persistence: { enabled: true } };
  const { uuid, fileUrl } = await api.captured(body);
  const refreshed = async (number: number) => {
    await api.call('POST', `/captures/${uuid}/refresh`);
    return until('the refresh to end', async () => {
      const record = await usageCheck.record(uuid);
      return record?.refresh?.revision === number && record.refresh.endedAt !== undefined && record;
    });
  };
  expect(await refreshed(1)).toMatchObject({
    refresh: { state: 'completed' },
    outcome: { report: { title: loggedIn } },
  });
  expect(await api.call('DELETE', `/sessions/${sessionId}`)).toMatchObject({ sessionId });
  expect(await refused('GET', `/sessions/${sessionId}`)).toMatchObject(notFound);
  expect(await refused('POST', '/capture', body)).toMatchObject(unknown);
  const failure = { code: 'SESSION_NOT_FOUND', cause: 'client' };
  expect(await refreshed(2)).toMatchObject({ refresh: { state: 'failed', failure }, status: 'completed' });
  const picture = await Picture.of(Buffer.from(await (await api.request(fileUrl)).arrayBuffer()));
  expect(picture.share('#00aa00')).toBeGreaterThan(0.9);
});

test('a session ends when it expires', { tags: 'long' }, async () => {
  const { usageCheck } = fleet();
  const { sessionId: other } = await logIn();
  const { sessions } = usageCheck;
  const account = await usageCheck.account();
  const [record, state] = [await sessions.get(account, other), await sessions.stateOf(account, other)];
  if (record === null || state === null) throw new Error('the session is not stored');
  const sessionId = uuidV7(Date.now());
  await sessions.create({ ...record, uuid: sessionId, expiresAt: Date.now() + 2000 }, state);
  expect(await sessions.get(account, sessionId)).toMatchObject({ uuid: sessionId });
  await until('the session to expire', async () => (await refused('GET', `/sessions/${sessionId}`)).status === 404);
  const body = { url: address('/account'), session: sessionId };
  expect(await refused('POST', '/capture', body)).toMatchObject(unknown);
});

test('a login that fails or leaves too much keeps no session, at no cost', { tags: 'long' }, async () => {
  const { api, usageCheck } = fleet();
  const before = { usage: await usageCheck.usage(), sessions: await api.call('GET', '/sessions') };
  const large = await refused('POST', '/sessions', { url: address('/large') });
  expect(large).toMatchObject({ status: 500, code: 'CAPTURE_FAILED' });
  expect(large.message).toContain('more than 98304 bytes');
  const failed = await refused('POST', '/sessions', { url: address('/login'), steps: [{ click: '#nothing' }] });
  expect(failed).toMatchObject({ status: 500, code: 'CAPTURE_FAILED' });
  expect({ usage: await usageCheck.usage(), sessions: await api.call('GET', '/sessions') }).toEqual(before);
});

test('an account has a limited number of sessions', { tags: 'long' }, async () => {
  const { usageCheck } = fleet();
  const { key, account } = await usageCheck.addAccount('with-many-sessions');
  const { sessionId } = await logIn({}, key);
  const record = await usageCheck.sessions.get(account, sessionId);
  const state = await usageCheck.sessions.stateOf(account, sessionId);
  if (record === null || state === null) throw new Error('the session is not stored');
  // The identifiers differ from that of the session, which may end with digits.
  const uuids = Array.from(
    { length: maxSessions },
    (_, index) => sessionId.slice(0, -3) + String(index).padStart(3, '0'),
  );
  const others = uuids.filter((uuid) => uuid !== sessionId).slice(0, maxSessions - 1);
  for (const uuid of others) await usageCheck.sessions.create({ ...record, uuid }, state);
  const refusal = await refused('POST', '/sessions', login(), key);
  expect(refusal).toMatchObject({ status: 409, code: 'CONFLICT' });
  await fleet().api.call('DELETE', `/sessions/${sessionId}`, { key });
  expect(await logIn({}, key)).toMatchObject({ sites: ['127.0.0.1'] });
});

test.each([
  [{ url: undefined }, 'url is required'],
  [{ html: '<p>' }, 'html is not'],
  [{ background: true }, 'background is not'],
  [{ expiresIn: 59 }, 'expiresIn must be an integer from 60 to 2592000, not 59'],
  [{ name: '' }, 'name must be'],
  [{ url: 'ftp://example.com' }, 'url must be an absolute http or https address'],
])('refuses a login with %j', async (change, message) => {
  const refusal = await refused('POST', '/sessions', { ...login(), ...change });
  expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
  expect(refusal.message).toContain(message);
});

test('refuses a session if the operator has not set a key', async () => {
  const refusal = await refused('POST', '/sessions', login(), withoutKey().key, withoutKey());
  expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
  expect(refusal.message).toContain('WEBCAPTURE_SECRETS_KEY');
});

test('no log line or metric contains a secret value', async () => {
  for (const { fronts, renderers, controller } of [fleet(), withoutKey()]) {
    for (const part of [...fronts, ...renderers, controller]) {
      const said = part.logs() + (await part.metrics());
      for (const value of hidden) expect(said).not.toContain(value);
    }
  }
});
