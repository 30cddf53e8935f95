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

/** Lets time pass while the process runs and every timer is on time. */
function pass(ms: number): void {
  for (const end = now + ms; now < end;) {
    now += 1;
    vi.advanceTimersByTime(1);
  }
}

/** Lets time pass while the process is blocked; the next timer is late. */
function blockProcess(ms: number): void {
  now += ms;
}

describe('a ticker', () => {
  it('passes the delay of each tick to its callback', () => {
    const ticks: [now: number, lateMs: number][] = [];
    const stop = startTicker(100, (...tick) => void ticks.push(tick));
    pass(200);
    blockProcess(500);
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

describe('a connection that waits for a response', () => {
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

  it('is closed after the timeout', () => {
    connections.cutStalled(999, 0);
    expect(connection.socket.destroyed).toBe(false);
    connections.cutStalled(1000, 0);
    expect(connection.socket.destroyed).toBe(true);
  });

  it('gets additional time for the time in which the process was blocked', () => {
    connections.cutStalled(1500, 600);
    connections.cutStalled(1599, 0);
    expect(connection.socket.destroyed).toBe(false);
    connections.cutStalled(1600, 0);
    expect(connection.socket.destroyed).toBe(true);
  });

  it('gets at most the whole timeout after the process was blocked', () => {
    connection.awaitingSince = 1400;
    connections.cutStalled(1500, 5000);
    connections.cutStalled(2499, 0);
    expect(connection.socket.destroyed).toBe(false);
    connections.cutStalled(2500, 0);
    expect(connection.socket.destroyed).toBe(true);
  });
});

describe('a script whose response does not start', () => {
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

  it('is closed after the timeout', () => {
    pass(990);
    expect([stalls.gaveUp, connection.socket.destroyed]).toEqual([false, false]);
    pass(135);
    expect([stalls.gaveUp, connection.socket.destroyed]).toEqual([true, true]);
  });

  it('gets additional time for the time in which the process was blocked', () => {
    pass(250);
    blockProcess(3000);
    pass(740);
    expect(connection.socket.destroyed).toBe(false);
    pass(135);
    expect(connection.socket.destroyed).toBe(true);
  });

  it('stays open while other responses on its connection may have arrived in a blocked process', () => {
    /** Lets time pass while bytes of other responses arrive. */
    const flow = (ms: number) => {
      for (const end = now + ms; now < end; connection.lastByteAt = now) pass(1);
    };
    // The next tick is due 1 ms later, when the last byte arrived before the process was blocked.
    flow(1499);
    blockProcess(3000);
    flow(1000);
    expect([stalls.gaveUp, connection.socket.destroyed]).toEqual([false, false]);
    pass(500);
    expect([stalls.gaveUp, connection.socket.destroyed]).toEqual([true, true]);
  });
});
