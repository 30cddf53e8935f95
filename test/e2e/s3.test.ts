// @module-tag long
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startFleet, type Fleet } from '../harness/fleet.ts';
import { s3SetUpMs, startTestS3, type TestS3 } from '../harness/s3-bucket.ts';

let s3: TestS3;
let fleet: Fleet;
beforeAll(async () => {
  s3 = await startTestS3();
  const ground = { tools: inject('tools'), tempFolder: inject('tempFolder') };
  const credentialsFile = join(ground.tempFolder, `s3-credentials-${process.pid}`);
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = s3.credentials;
  await writeFile(credentialsFile, `[default]\naws_access_key_id = ${id}\naws_secret_access_key = ${secret}\n`);
  const env = {
    WEBCAPTURE_S3_BUCKET: s3.bucket,
    WEBCAPTURE_S3_PREFIX: 'captures/',
    WEBCAPTURE_S3_ENDPOINT: s3.endpoint,
    WEBCAPTURE_S3_LINKS: 'signed',
    AWS_SHARED_CREDENTIALS_FILE: credentialsFile,
  };
  fleet = await startFleet(ground, { store: 'embedded', env });
}, s3SetUpMs);
afterAll(async () => {
  await fleet?.stop();
  await s3?.[Symbol.asyncDispose]();
});

test('a capture is an object in the S3 bucket, opened by a signed link, and removed when the capture is deleted', async () => {
  const data = await fleet.api.captured({ html: '<h1>kept in S3</h1>' });
  const keys = async () => {
    const { Contents = [] } = await s3.client.listObjectsV2({ Bucket: s3.bucket });
    return Contents.map(({ Key }) => Key);
  };
  const key = `captures/${data.fileUrl.split('/').at(-1)}`;
  expect(await keys()).toContain(key);
  const redirect = await fetch(data.fileUrl, { redirect: 'manual' });
  expect([
    redirect.status,
    redirect.headers.get('location')?.startsWith(`${s3.endpoint}/${s3.bucket}/${key}?`),
  ]).toEqual([302, true]);
  const file = await fetch(data.fileUrl);
  expect([file.status, (await file.arrayBuffer()).byteLength]).toEqual([200, data.fileSizeBytes]);
  const headers = { authorization: `Bearer ${fleet.key}` };
  expect((await fleet.api.request(`/captures/${data.uuid}`, { method: 'DELETE', headers })).status).toBe(200);
  expect(await keys()).not.toContain(key);
});
