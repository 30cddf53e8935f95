import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Session } from '@webcapture/shared/api/session.ts';
import { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import type { SessionState } from '@webcapture/shared/captures/session-state.ts';
import { sessionOwner } from '@webcapture/shared/captures/sessions.ts';
import { maxSessionBytes } from '@webcapture/shared/queue/outcomes.ts';
import { startTestFront, type TestFront } from './test-front.ts';

const secret = 'a'.repeat(64);
const keys = new SecretsKeys([secret]);

let front: TestFront;
beforeAll(async () => {
  front = await startTestFront({ WEBCAPTURE_SECRETS_KEY: secret });
});
afterAll(() => front[Symbol.asyncDispose]());

const cookie = {
  name: 'sid',
  value: 'secret',
  domain: '.example.com',
  path: '/',
  expires: -1,
  httpOnly: true,
  secure: true,
  sameSite: 'Lax' as const,
};
const origin = { origin: 'https://app.example.com', localStorage: [{ name: 'a', value: 'b' }], sessionStorage: [] };
const state: SessionState = { cookies: [cookie], origins: [origin] };

/** The state that the stand-in renderer returns for the next logins; undefined if it returns none. */
let returned: { state: unknown; uuid?: string; sealedWith?: SecretsKeys } | undefined;
beforeEach(() => {
  returned = { state };
  front.renderer.sealSession = ({ account, uuid }) => {
    if (returned === undefined) return undefined;
    const { state: left, uuid: owner = uuid, sealedWith = keys } = returned;
    return sealedWith.seal(left as SessionState, sessionOwner(account, owner));
  };
});

const page = { url: 'https://app.example.com/login' };

async function logIn(body: object = page) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await front.call('/sessions', init);
  const { data, error } = (await response.json()) as { data: Session; error: { code: string; message: string } | null };
  return { status: response.status, data, error };
}

const count = async () => {
  const { data } = (await (await front.call('/sessions')).json()) as { data: { sessions: Session[] } };
  return data.sessions.length;
};

test('a job contains the sealed state of its session, and the login asks for it', async () => {
  const { data } = await logIn();
  expect(data.sites).toEqual(['app.example.com', 'example.com']);
  expect(front.renderer.jobs.at(-1)).toMatchObject({ keepsSession: true });
  await front.capture({ ...page, session: data.sessionId });
  const job = front.renderer.jobs.at(-1);
  expect(job).not.toHaveProperty('keepsSession');
  expect(job?.session && keys.open(job.session, sessionOwner(job.account, data.sessionId))).toEqual(state);
  expect(JSON.stringify(job)).not.toContain('secret');
});

test.each([
  ['nothing', undefined],
  ['the state of another session', { state, uuid: '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77' }],
  ['a state that another key has sealed', { state, sealedWith: new SecretsKeys(['b'.repeat(64)]) }],
  ['a cookie without a domain', { state: { ...state, cookies: [{ ...cookie, domain: '' }] } }],
  ['an origin that is an address', { state: { ...state, origins: [{ ...origin, origin: 'https://a.example/b' }] } }],
  ['an origin that is not canonical', { state: { ...state, origins: [{ ...origin, origin: 'https://A.example' }] } }],
  [
    'too much',
    {
      state: { ...state, origins: [{ ...origin, localStorage: [{ name: 'a', value: 'x'.repeat(maxSessionBytes) }] }] },
    },
  ],
])('a renderer that returns %s creates no session, at no cost', async (_name, change) => {
  const before = await count();
  returned = change;
  const { status, error } = await logIn();
  expect({ status, error }).toMatchObject({ status: 500, error: { code: 'CAPTURE_FAILED' } });
  expect(error?.message).toBe(
    'The renderer did not return the cookies and the storage of the login. Send the request again.',
  );
  expect(await count()).toBe(before);
});

test('a session of the maximum size fits into a job with a large page', async () => {
  const room =
    maxSessionBytes -
    JSON.stringify({ ...state, origins: [{ ...origin, localStorage: [{ name: 'a', value: '' }] }] }).length;
  const localStorage = [{ name: 'a', value: 'x'.repeat(room) }];
  returned = { state: { ...state, origins: [{ ...origin, localStorage }] } };
  const { data } = await logIn();
  const body = { html: `<p>${'x'.repeat(900_000)}`, css: 'a'.repeat(20_000), session: data.sessionId };
  expect((await front.capture(body)).status).toBe(200);
  const job = front.renderer.jobs.at(-1);
  expect(job?.session && keys.open(job.session, sessionOwner(job.account, data.sessionId))).toEqual(returned.state);
});
