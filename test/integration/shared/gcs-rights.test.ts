import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import { googleError, type Fault, type SeenRequest } from '../../harness/fault-proxy.ts';
import { newFile } from '../../harness/records.ts';
import { bytesOf } from './support/stored-files.ts';
import { causeOf, downloads, useFaultyBucket } from './support/faulty-bucket.ts';

const on = useFaultyBucket();

describe('without the right to list', () => {
  const objects = ({ url }: SeenRequest) => url.pathname.includes('/o/');
  const asksForRights = ({ url }: SeenRequest) => url.pathname.endsWith('/testPermissions');
  const denied = (right: string) =>
    googleError(
      403,
      'forbidden',
      `a@b.c does not have ${right} access. Permission '${right}' denied on resource (or it may not exist).`,
    );
  const grants = (...permissions: string[]): Fault => ({
    kind: 'answer',
    status: 200,
    body: JSON.stringify({ permissions }),
  });
  const rights = ['storage.objects.get', 'storage.objects.delete'];
  let own: BucketStore;
  beforeEach(() => (own = on().storeWith()));
  afterEach(() => own.close());

  test('a missing file is answered with 403 and counts as missing; the rights are requested once', async () => {
    const stored = await on().store.create(newFile(1));
    on().proxy.always(objects, denied('storage.objects.get'));
    on().proxy.always(asksForRights, grants(...rights));
    expect(await Promise.all([own.stat(stored.name), own.stat(stored.name)])).toEqual([null, null]);
    await own.remove(stored.name);
    // A download is refused in plain text.
    on().proxy.heal();
    on().proxy.always(downloads, {
      kind: 'answer',
      status: 403,
      body: "Permission 'x' denied on resource (or it may not exist).",
    });
    on().proxy.always(asksForRights, grants());
    await expect(bytesOf(own, stored)).rejects.toMatchObject({ name: 'FileReplacedError' });
    expect(on().sent(asksForRights)).toBe(0);
  });

  test.each([
    ['retentionPolicyNotMet', "Object 'b/o' is subject to bucket's retention policy and cannot be deleted"],
    ['objectUnderActiveHold', "Object 'b/o' is under active Temporary hold and cannot be deleted"],
    ['accountDisabled', 'The billing account for the owning project is disabled'],
    ['forbidden', "Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: x"],
  ])('a refusal for another reason, %s, does not make a file missing', async (reason, message) => {
    const stored = await on().store.create(newFile(1));
    on().proxy.always(objects, googleError(403, reason, message));
    on().proxy.always(asksForRights, grants(...rights));
    const calls = [own.stat(stored.name), own.remove(stored.name), bytesOf(own, stored)];
    for (const cause of await Promise.all(calls.map(causeOf))) expect(cause).toMatchObject({ status: 403, reason });
  });

  test('a right that is withdrawn later does not make a file missing, once the cached rights expire', async () => {
    const stored = await on().store.create(newFile(1));
    on().proxy.always(objects, denied('storage.objects.get'));
    on().proxy.next(asksForRights, grants(...rights));
    on().proxy.always(asksForRights, grants('storage.objects.delete'));
    expect(await own.stat(stored.name)).toBeNull();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
    try {
      expect(await causeOf(own.stat(stored.name))).toMatchObject({ status: 403, reason: 'forbidden' });
      expect(await causeOf(bytesOf(own, stored))).toMatchObject({ status: 403 });
      await own.remove(stored.name);
    } finally {
      vi.useRealTimers();
    }
  });

  test('no file counts as missing while the rights are unknown', async () => {
    on().proxy.always(objects, denied('storage.objects.get'));
    on().proxy.always(asksForRights, googleError(403, 'forbidden', 'no'));
    expect(await causeOf(own.stat(newFile(1).name))).toMatchObject({ operation: 'get', status: 403 });
  });
});
