import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { CoreV1Api } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import {
  isConflict,
  isGone,
  isSilence,
  KubernetesClient,
  loadKubeconfig,
} from '../../../services/controller/kubernetes/client.ts';
import { until } from '../../harness/until.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const status = (code: number, reason: string, message: string): Answer => {
  return (_, response) => {
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ kind: 'Status', code, reason, message }));
  };
};
const emptyList: Answer = (_, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
};
const hang: Answer = () => undefined;
const hangInBody: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"items": [');
};

/** A watch that sends these events, and then ends or stays open. */
const events = (types: readonly string[], end: boolean): Answer => {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    for (const type of types) response.write(`${JSON.stringify({ type, object: { code: 410, reason: 'Expired' } })}\n`);
    if (end) response.end();
  };
};

const silenceMs = 1000;

let answer: Answer;
let tokens: string[];
let kinds: string[];
let opened: number;
let folder: string;
let client: KubernetesClient;
const sockets = new Set<Socket>();
const server = createServer((request, response) => {
  tokens.push(request.headers.authorization ?? '');
  answer(request, response);
}).on('connection', (socket) => {
  opened++;
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
});

beforeEach(async () => {
  [tokens, kinds, opened, answer] = [[], [], 0, emptyList];
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(inject('tempFolder'), 'kubeconfig-'));
  await writeToken('first');
  const load = () => loadKubeconfig([join(folder, 'config')]);
  client = new KubernetesClient({ load, silenceMs, onError: (kind) => kinds.push(kind) });
});
afterEach(async () => {
  await client.close();
  await until('all connections to be closed', () => sockets.size === 0);
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

async function writeToken(token: string): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const config = {
    // Without TLS the library requires `insecure-skip-tls-verify`.
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'n' } }],
    'current-context': 'x',
  };
  await writeFile(join(folder, 'config'), JSON.stringify(config));
}

const list = (timeoutMs = 10_000) =>
  client.call('listing pods', timeoutMs, (api, namespace) => api(CoreV1Api).listNamespacedPod({ namespace }));

describe('calls', () => {
  test('reuse open connections', async () => {
    for (let call = 0; call < 20; call++) await list();
    answer = status(409, 'Conflict', 'it has changed');
    await expect(list()).rejects.toThrow('listing pods: 409 Conflict: it has changed');
    // A connection that was just used may not be free yet.
    expect(opened).toBeLessThanOrEqual(2);
  });

  test.each([
    ['does not answer', hang],
    ['stops in the middle of its answer', hangInBody],
  ])('end at their deadline when the server %s, and so do their connections', async (_, hanging) => {
    answer = hanging;
    await expect(list(300)).rejects.toThrow('listing pods timed out after 300 ms');
    await until('the connection to be destroyed', () => sockets.size === 0);
    expect(kinds).toEqual(['connection']);
    answer = emptyList;
    expect(await list()).toMatchObject({ items: [] });
  });

  test('whose token is refused are repeated with the current token', async () => {
    answer = (request, response) =>
      (request.headers.authorization === 'Bearer second' ? emptyList : status(401, 'Unauthorized', 'no'))(
        request,
        response,
      );
    await list().catch(() => undefined);
    expect(kinds).toEqual(['unauthorized']);
    await writeToken('second');
    expect(await list()).toMatchObject({ items: [] });
    expect(tokens).toEqual(['Bearer first', 'Bearer first', 'Bearer first', 'Bearer second']);
  });

  test('that are refused are repeated only once, and leave no connections', async () => {
    answer = status(401, 'Unauthorized', 'no');
    for (let call = 0; call < 3; call++) await expect(list()).rejects.toThrow('listing pods: 401');
    expect(tokens).toHaveLength(6);
    await until('the connections to end', () => sockets.size <= 1);
  });

  test('that change a pod have the content type of a merge patch', async () => {
    const types: unknown[] = [];
    answer = (request, response) => {
      types.push(request.headers['content-type']);
      emptyList(request, response);
    };
    const body = { metadata: { annotations: { a: '1' } } };
    await client.call('annotating a pod', 10_000, (api, namespace) =>
      api(CoreV1Api).patchNamespacedPod({ name: 'a', namespace, body }),
    );
    expect(types).toEqual(['application/merge-patch+json']);
  });

  test('that the server refuses are distinguished by their status', async () => {
    answer = status(409, 'Conflict', '');
    expect(await list().catch(isConflict)).toBe(true);
    for (const code of [403, 404, 429, 500, 418]) {
      answer = status(code, '', '');
      await list().catch(() => undefined);
    }
    expect(kinds).toEqual(['conflict', 'forbidden', 'not_found', 'throttled', 'server', 'other']);
  });
});

describe('a watch', () => {
  const seen: string[] = [];
  beforeEach(() => void seen.splice(0));
  const watch = (signal = new AbortController().signal, onEvent = (type: string) => void seen.push(type)) =>
    client.watch(
      {
        what: 'watching pods',
        path: (namespace) => `/${namespace}`,
        query: {},
        onOpen: () => seen.push('open'),
        onEvent,
      },
      signal,
    );

  test('returns its events and its end in order, and the next watch reuses a connection', async () => {
    answer = events(['ADDED', 'BOOKMARK'], true);
    for (let round = 0; round < 10; round++) await watch();
    expect(seen).toEqual(Array.from({ length: 10 }, () => ['open', 'ADDED', 'BOOKMARK']).flat());
    expect(opened).toBeLessThanOrEqual(2);
  });

  test('ends with the error event that it receives, or with the status that refuses it', async () => {
    answer = events(['ADDED', 'ERROR'], false);
    const error: unknown = await watch().catch((caught: unknown) => caught);
    expect([isGone(error), String(error)]).toEqual([true, expect.stringContaining('watching pods: 410 Expired')]);
    answer = status(403, 'Forbidden', '');
    await expect(watch()).rejects.toThrow('watching pods: 403: Forbidden');
    expect(seen).toEqual(['open', 'ADDED']);
  });

  test('ends with the error that its handler throws', async () => {
    answer = events(['ADDED'], false);
    const fails = () => {
      throw new Error('a fault of ours');
    };
    await expect(watch(undefined, fails)).rejects.toThrow('a fault of ours');
  });

  test.each([
    ['before it answers', hang],
    ['after that', events([], false)],
  ])('that is silent for too long ends, %s, and its connection is destroyed', async (_, silent) => {
    answer = silent;
    expect(await watch().catch(isSilence)).toBe(true);
    await until('the connection to be destroyed', () => sockets.size === 0);
  });

  test.each([
    ['before the server answers', hang],
    ['while it is open', events(['ADDED'], false)],
  ])('ends when its signal aborts, %s', async (_, open) => {
    answer = open;
    const aborter = new AbortController();
    const watching = watch(aborter.signal);
    await until('the request to arrive', () => tokens.length === 1);
    aborter.abort(new Error('enough'));
    await expect(watching).rejects.toThrow('enough');
    expect(kinds).toEqual([]);
  });
});
