import process from 'node:process';
import { startProcess, type GuardedProcess } from '../../deploy/local/process.ts';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** An in-memory server with the Cloud Storage API and one bucket. */
export interface TestBucket extends AsyncDisposable {
  /** Address in the format of WEBCAPTURE_GCS_ENDPOINT. */
  readonly endpoint: string;
  readonly bucket: string;
  /** The stored objects and their metadata. */
  objects(): Promise<readonly TestObject[]>;
}

interface TestObject {
  readonly name: string;
  readonly size: string;
  readonly generation: string;
  readonly contentType: string;
  readonly contentDisposition: string;
  readonly cacheControl: string;
  readonly customTime: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Time limit of the set-up. It includes building the server if it is missing. */
export const bucketSetUpMs = 300_000;

/** Starts the server on loopback; it ends with this process. Give the hook that calls it {@link bucketSetUpMs}. */
export async function startTestBucket(bucket = 'captures-of-tests'): Promise<TestBucket> {
  const { path } = await ensureTool('fake-gcs-server', { log: (line) => process.stdout.write(`${line}\n`) });
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const lines: string[] = [];
  const server: GuardedProcess = await startProcess({
    name: 'fake-gcs-server',
    command: path,
    args: ['-scheme', 'http', '-host', '127.0.0.1', '-port', String(port), '-backend', 'memory', '-log-level', 'error'],
    graceOnLossMs: 0,
    onLine: (line) => lines.push(line),
  });
  try {
    await until(
      'the bucket to exist',
      async () => {
        const response = await fetch(`${endpoint}/storage/v1/b?project=test`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ name: bucket }),
        });
        return response.ok || response.status === 409;
      },
      { deadlineMs: 40_000 },
    );
  } catch (error) {
    await server.stop({ graceMs: 0 });
    throw new Error(`fake-gcs-server did not start: ${lines.slice(-5).join('\n')}`, { cause: error });
  }
  return {
    endpoint,
    bucket,
    objects: async () => {
      const response = await fetch(`${endpoint}/storage/v1/b/${bucket}/o`);
      return ((await response.json()) as { items?: readonly TestObject[] }).items ?? [];
    },
    [Symbol.asyncDispose]: async () => void (await server.stop({ graceMs: 0 })),
  };
}
