import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import type { Page, Request } from 'playwright';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Connection, SessionConnections, startTicker } from '../../../services/renderer/egress/connections.ts';
import type { ProxySession } from '../../../services/renderer/egress/proxy.ts';
import { watchStalls } from '../../../services/renderer/egress/stalls.ts';

const url = 'https://cdn.example/hang.js';
const target = { host: 'cdn.example', port: 443, key: 'cdn.example:443' };
const responseTimeoutMs = 1000;

/** Time of `performance.now()` in these tests, in milliseconds. */
let now: number;

beforeEach(() => {
  now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Lets time pass during which the process runs and every timer is on time. */
function pass(ms: number): void {
  for (const end = now + ms; now < end;) {
    now += 1;
    vi.advanceTimersByTime(1);
  }
}

/** Lets time pass during which the process stands still; the next timer finds out. */
function standStill(ms: number): void {
  now += ms;
}

describe('a ticker', () => {
  it('tells by how much each tick is late', () => {
    const ticks: [now: number, lateMs: number][] = [];
    const stop = startTicker(100, (...tick) => void ticks.push(tick));
    pass(200);
    standStill(500);
    pass(200);
    stop();
    pass(200);
    expect(ticks).toEqual([
      [100, 0],
      [200, 0],
      [800, 500],
      [900, 0],
    ]);
  });
});

describe('a connection whose server owes an answer', () => {
  let connections: SessionConnections;
  let connection: Connection;

  beforeEach(() => {
    connections = new SessionConnections(responseTimeoutMs);
    connection = connections.add(
      target,
      new Socket().on('error', () => undefined),
    );
    connection.awaitingSince = 0;
  });

  it('is cut when the time-out is up', () => {
    connections.cutStalled(999, 0);
    expect(connection.socket.destroyed).toBe(false);
    connections.cutStalled(1000, 0);
    expect(connection.socket.destroyed).toBe(true);
  });

  it('has the time in addition for which the process stood still', () => {
    connections.cutStalled(1500, 600);
    connections.cutStalled(1599, 0);
    expect(connection.socket.destroyed).toBe(false);
    connections.cutStalled(1600, 0);
    expect(connection.socket.destroyed).toBe(true);
  });

  it('has no more than the whole time-out after the process stood still', () => {
    connection.awaitingSince = 1400;
    connections.cutStalled(1500, 5000);
    connections.cutStalled(2499, 0);
    expect(connection.socket.destroyed).toBe(false);
    connections.cutStalled(2500, 0);
    expect(connection.socket.destroyed).toBe(true);
  });
});

describe('a script whose response does not begin', () => {
  let connection: Connection;
  let stalls: ReturnType<typeof watchStalls>;

  beforeEach(() => {
    const connections = new SessionConnections(20_000);
    connection = connections.add(
      target,
      new Socket().on('error', () => undefined),
    );
    const session: Pick<ProxySession, 'setResponseTimeout' | 'expectSlow' | 'cutSilent'> = {
      setResponseTimeout: () => undefined,
      expectSlow: () => () => undefined,
      cutSilent: (_, silentMs) => connections.cutSilent(target, silentMs),
    };
    const page = new EventEmitter();
    stalls = watchStalls(page as unknown as Page, session as ProxySession, {
      responseTimeoutMs,
      navigationTimeoutMs: 20_000,
    });
    const script = { url: () => url, resourceType: () => 'script', isNavigationRequest: () => false };
    page.emit('request', script as Request);
  });

  afterEach(() => stalls.stop());

  it('is cut when the time-out is up', () => {
    pass(990);
    expect([stalls.gaveUp, connection.socket.destroyed]).toEqual([false, false]);
    pass(135);
    expect([stalls.gaveUp, connection.socket.destroyed]).toEqual([true, true]);
  });

  it('has the time in addition for which the process stood still', () => {
    pass(250);
    standStill(3000);
    pass(740);
    expect(connection.socket.destroyed).toBe(false);
    pass(135);
    expect(connection.socket.destroyed).toBe(true);
  });

  it('is not cut while other responses on its connection may have come as the process stood still', () => {
    /** Bytes of other responses keep coming. */
    const flow = (ms: number) => {
      for (const end = now + ms; now < end; connection.lastByteAt = now) pass(1);
    };
    // The next tick is due 1 ms later, and finds that the last byte came before the process stood still.
    flow(1499);
    standStill(3000);
    flow(1000);
    expect([stalls.gaveUp, connection.socket.destroyed]).toEqual([false, false]);
    pass(500);
    expect([stalls.gaveUp, connection.socket.destroyed]).toEqual([true, true]);
  });
});
