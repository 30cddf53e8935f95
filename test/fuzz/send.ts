import { Agent, request } from 'node:http';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { buildAppAlone } from '../integration/front/app-alone.ts';
import type { Send } from './fuzz.ts';

/** Called for accepted requests: no service is behind the application. */
const accepted = () => {
  throw new ServiceError('QUEUE_FULL', undefined, { causedBy: 'service' });
};

/** Sends requests to the application in this process, with its real validation and a key with all scopes. */
export async function sendToApp(): Promise<{ readonly send: Send; readonly app: FastifyInstance }> {
  const key = { id: 'k', account: 'a', name: 'fuzz', scopes: ['capture', 'read', 'manage'] as const, createdAt: 0 };
  const view = () => ({ report: null, reportAgeMs: 0, installed: [], natsDownMs: 0, now: Date.now() });
  const app = await buildAppAlone({ key, adminToken: 'a-key-of-the-fuzzing', beyond: accepted, view });
  const send: Send = async ({ method, url, headers, body }) => {
    const options = { method, url, headers, ...(body === undefined ? {} : { payload: body }) } as InjectOptions;
    const answer = await app.inject(options);
    return { status: answer.statusCode, headers: answer.headers, body: answer.body };
  };
  return { send, app };
}

/** Sends requests to a running front over HTTP. The front does not know the key, so that nothing is captured. */
export function sendToFront(address: string): Send {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(address);
  return ({ method, url, headers, body }) =>
    new Promise((resolve, reject) => {
      // For GET and DELETE, Node.js would send the body without a Content-Length.
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const options = { agent, hostname, port, method, path: url, headers: { ...headers, ...length } };
      const sent = request(options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.once('error', reject);
        answer.once('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks).toString() }),
        );
      });
      sent.once('error', reject);
      sent.end(body);
    });
}
