import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { EgressFailure, toEgressFailure } from '@webcapture/shared/egress/egress-failure.ts';
import type { LaneContext } from './lane-context.ts';
import { refuseMalformed, refuseTunnel } from './refusal.ts';
import { targetOfAuthority } from './target.ts';

const halfOpenMs = 1000;

/**
 * Serves CONNECT, which browsers use for https, wss and ws. What flows is not looked at, with one exception: the
 * server must begin to answer in time after the browser's first bytes. Later silence may be a hanging response, but
 * also an idle connection or a quiet WebSocket; who can tell them apart calls EgressLane.cutSilent.
 */
export async function tunnel(lane: LaneContext, request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
  client.on('error', () => client.destroy());
  const target = targetOfAuthority(request.url ?? '');
  if (target === undefined) return refuseMalformed(client);

  const connection = await lane.dial(target).catch((error: unknown) => {
    const failure = toEgressFailure(error);
    lane.failed(target, failure);
    refuseTunnel(client, failure.kind);
  });
  if (!connection) return;
  const { socket } = connection;
  if (client.destroyed) {
    socket.destroy();
    return;
  }

  socket.on('error', (error) => {
    // A reset of a connection that stood is the site's own affair, and the browser sees it.
    if (error instanceof EgressFailure) lane.failed(target, error);
  });
  // What has arrived is handed on before the other side is closed.
  socket.once('close', () => client.destroySoon());
  client.once('close', () => socket.destroySoon());
  // A browser that ends its side is gone. What is still coming is passed on, but no server is waited for.
  client.once('end', () => socket.setTimeout(halfOpenMs, () => socket.destroy()));

  let answered = false;
  const sent = () => {
    connection.lastByteAt = performance.now();
    if (!answered) connection.awaitingSince ??= connection.lastByteAt;
  };
  socket.on('data', (chunk: Buffer) => {
    answered = true;
    connection.awaitingSince = undefined;
    connection.lastByteAt = performance.now();
    lane.received(chunk.length);
  });
  client.on('data', (chunk: Buffer) => {
    sent();
    lane.sent(chunk.length);
  });

  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  if (head.length > 0) {
    sent();
    lane.sent(head.length);
    socket.write(head);
  }
  socket.pipe(client);
  client.pipe(socket);
}
