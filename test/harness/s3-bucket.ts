import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { inject } from 'vitest';
import { loadS3, type S3Library } from '@webcapture/shared/files/s3-bucket.ts';
import { startProcess } from '../../deploy/local/process.ts';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** Includes the build of versitygw, which takes minutes. */
export const s3SetUpMs = 1_500_000;

/** An S3 server with one bucket. */
export interface TestS3 extends AsyncDisposable {
  /** Address in the format of WEBCAPTURE_S3_ENDPOINT. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  /** Variables with the credentials of its only user. */
  readonly credentials: { readonly AWS_ACCESS_KEY_ID: string; readonly AWS_SECRET_ACCESS_KEY: string };
  /** A client that does not use the code under test. */
  readonly client: InstanceType<S3Library['S3']>;
}

/** Starts versitygw on loopback, in front of a new folder; it ends with this process. Give the hook that calls it `s3SetUpMs`. */
export async function startTestS3(bucket = 'captures-of-tests'): Promise<TestS3> {
  const { path } = await ensureTool('versitygw', { log: (line) => process.stdout.write(`${line}\n`) });
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const folder = join(inject('tempFolder'), `s3-${process.pid}-${port}`);
  const region = 'us-east-1';
  const credentials = { AWS_ACCESS_KEY_ID: 'key-of-tests', AWS_SECRET_ACCESS_KEY: 'secret-of-tests' };
  await mkdir(folder, { recursive: true });
  const lines: string[] = [];
  const server = await startProcess({
    name: 'versitygw',
    command: path,
    args: ['--port', `127.0.0.1:${port}`, '--region', region, '--quiet', 'posix', folder],
    env: {
      ...process.env,
      ROOT_ACCESS_KEY: credentials.AWS_ACCESS_KEY_ID,
      ROOT_SECRET_KEY: credentials.AWS_SECRET_ACCESS_KEY,
    },
    graceOnLossMs: 0,
    onLine: (line) => lines.push(line),
  });
  const { S3 } = await loadS3();
  const client = new S3({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId: credentials.AWS_ACCESS_KEY_ID, secretAccessKey: credentials.AWS_SECRET_ACCESS_KEY },
  });
  const stop = async () => {
    client.destroy();
    await server.stop({ graceMs: 0 });
  };
  try {
    const create = () => client.createBucket({ Bucket: bucket }).then(() => true);
    await until('the bucket to exist', () => create().catch(() => false), { deadlineMs: 40_000 });
  } catch (error) {
    await stop();
    throw new Error(`versitygw did not start: ${lines.slice(-5).join('\n')}`, { cause: error });
  }
  return { endpoint, bucket, region, credentials, client, [Symbol.asyncDispose]: stop };
}
