import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../harness/until.ts';
import { adminToken, send, type Answer } from './accounts.ts';
import { openHolder, type Holder } from './background.ts';
import { startTestFront, type TestFront } from './test-front.ts';

const permitted = { allowIgnoreTlsErrors: true };
const asked = { ignoreTlsErrors: true, background: false };

let allowing: TestFront;
let refusing: TestFront;
beforeAll(async () => {
  const admin = { WEBCAPTURE_ADMIN_TOKEN: adminToken };
  [allowing, refusing] = await Promise.all([
    startTestFront({ ...admin, WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS: 'true' }),
    startTestFront(admin),
  ]);
});
afterAll(async () => {
  await allowing[Symbol.asyncDispose]();
  await refusing[Symbol.asyncDispose]();
});

const expectRefusal = ({ status, body }: Answer, code: string, where: string) => {
  expect([status, body.error?.code]).toEqual([code === 'FORBIDDEN' ? 403 : 400, code]);
  expect(body.error?.message).toContain(`ignoreTlsErrors is not allowed for ${where}. The operator can allow it`);
};
const permit = (front: TestFront, { account }: Holder, allowIgnoreTlsErrors: boolean) =>
  send(`${front.url}/admin/accounts/${account}`, adminToken, { method: 'PATCH', body: { allowIgnoreTlsErrors } });

describe('a capture that ignores TLS errors', () => {
  test('is rendered with the permissions of the service and of the account', async () => {
    const holder = await openHolder(allowing, permitted);
    const { status, body } = await holder.capture(asked);
    expect(status).toBe(200);
    const job = allowing.renderer.jobs.find(({ uuid }) => uuid === body.data?.['uuid']);
    expect(job?.options.ignoreTlsErrors).toBe(true);
  });

  test.each([true, false])('is refused without one of them, and costs nothing; background %s', async (background) => {
    const [account, other, neither] = await Promise.all([
      openHolder(allowing),
      openHolder(refusing, permitted),
      openHolder(refusing),
    ]);
    const body = { ...asked, background };
    expectRefusal(await account.capture(body), 'VALIDATION_ERROR', 'this account');
    expectRefusal(await other.capture(body), 'VALIDATION_ERROR', 'this service');
    expectRefusal(await neither.capture(body), 'VALIDATION_ERROR', 'this service and this account');
    for (const holder of [account, other, neither]) {
      expect(await holder.usage()).toMatchObject({ tokens: 0, captures: 0, reserved: 0 });
    }
    expect((await neither.capture({ ...body, ignoreTlsErrors: false })).status).toBe(200);
  });

  test('is not answered from the cache after the permission was withdrawn, or for a request without the option', async () => {
    const holder = await openHolder(allowing, permitted);
    const cached = { ...asked, responseCache: { enabled: true } };
    const { body } = await holder.capture(cached);
    const again = await holder.capture(cached);
    expect(again.body.data).toMatchObject({ uuid: body.data?.['uuid'], fromCache: true });
    const without = await holder.capture({ ...cached, ignoreTlsErrors: false });
    expect(without.body.data).toMatchObject({ fromCache: false });
    await permit(allowing, holder, false);
    expectRefusal(await holder.capture(cached), 'VALIDATION_ERROR', 'this account');
  });

  test('is refused in a merge before any document is captured', async () => {
    const holder = await openHolder(allowing);
    const url = 'https://example.com/';
    const documents = [{ request: { url } }, { request: { url, ignoreTlsErrors: true } }];
    const answer = await send(`${allowing.url}/pdf/merge`, holder.key, { body: { documents } });
    expectRefusal(answer, 'VALIDATION_ERROR', 'this account');
    expect(answer.body.error?.message).toContain('documents.1.request');
    expect(await holder.usage()).toMatchObject({ tokens: 0, captures: 0 });
  });

  test('is refreshed only while it is permitted', async () => {
    const holder = await openHolder(allowing, permitted);
    const { uuid } = await holder.queue({ ignoreTlsErrors: true });
    await holder.until(uuid, 'completed');
    await permit(allowing, holder, false);
    expectRefusal(await holder.refresh(uuid), 'FORBIDDEN', 'this account');
    expect(await holder.usage()).toMatchObject({ tokens: 1, captures: 1, reserved: 0 });
    await permit(allowing, holder, true);
    expect((await holder.refresh(uuid)).status).toBe(200);
    await until('the refresh to end', async () => (await holder.record(uuid)).refresh?.state === 'completed');
  });
});
