import { describe, expect, test } from 'vitest';
import type { StatusValue } from '@webcapture/shared/api/status.ts';
import { decideEngine, decideQueue, decideStorage } from '../../../services/controller/health/decider.ts';
import { answered } from '../../integration/controller/support/facts.ts';

const [op, deg, part, major]: StatusValue[] = ['operational', 'degraded_performance', 'partial_outage', 'major_outage'];
const verdict = (status: StatusValue | undefined, responseTimeMs?: number) => ({
  status: status ?? 'operational',
  message: 'why',
  ...(responseTimeMs === undefined ? {} : { responseTimeMs }),
});

describe('the status of the engine', () => {
  test.each([
    [op, op, op],
    [deg, op, deg],
    [deg, deg, deg],
    [part, op, part],
    [part, deg, part],
    [part, part, part],
    [major, op, part],
    [major, deg, part],
    [major, part, part],
    [major, major, major],
  ])('of regions that are %s and %s is %s', (a, b, engine) => {
    expect(decideEngine({ 'us-east': verdict(a), 'eu-west': verdict(b) }).status).toBe(engine);
    expect(decideEngine({ 'us-east': verdict(b), 'eu-west': verdict(a) }).status).toBe(engine);
  });

  test.each([op, deg, part, major])('with a single region is that of the region: %s', (status) => {
    expect(decideEngine({ 'us-east': verdict(status) }).status).toBe(status);
  });

  test('names the regions that are not operational, and has the longest response time', () => {
    const regions = { 'us-east': verdict(op, 120), 'us-west': verdict(deg, 340), 'eu-west': verdict(major) };
    expect(decideEngine(regions)).toEqual({
      status: part,
      message: 'eu-west: why; us-west: why',
      responseTimeMs: 340,
    });
    expect(decideEngine({ 'us-east': verdict(op) })).toEqual({ status: op, message: '1 of 1 regions operational' });
  });
});

describe('the status of the queue', () => {
  test.each([
    [answered(), op, 'NATS responds', 2],
    [answered({ roundTripMs: 1000 }), op, 'NATS responds', 1000],
    [answered({ roundTripMs: 1400 }), deg, 'slow: NATS took 1.4 s to respond', 1400],
    [answered({ missing: ['DEAD'] }), major, 'missing: DEAD', 2],
    [answered({ missing: ['a', 'b', 'c'] }), major, 'missing: a, b, c', 2],
    [answered({ missing: ['a', 'b', 'c', 'd'] }), major, 'missing: a, b, c and 1 more', 2],
    [{ kind: 'unreachable', why: 'no connection' }, major, 'there is no connection to NATS', undefined],
    [{ kind: 'unreachable', why: 'no answer' }, major, 'NATS does not respond in time', undefined],
    [{ kind: 'unreachable', why: 'no JetStream' }, major, 'JetStream is not available on the NATS server', undefined],
  ] as const)('follows from %o', (facts, status, message, responseTimeMs) => {
    expect(decideQueue(facts)).toEqual({
      status,
      message,
      ...(responseTimeMs === undefined ? {} : { responseTimeMs }),
    });
  });
});

describe('the status of the storage', () => {
  const fails = { kind: 'fails', at: 0, late: false } as const;
  test.each([
    [{ kind: 'works', at: 0, ms: 4 }, op, 'files are written and read', 4],
    [{ kind: 'works', at: 0, ms: 2000 }, op, 'files are written and read', 2000],
    [{ kind: 'works', at: 0, ms: 2500 }, deg, 'slow: a test file took 2.5 s', 2500],
    [{ ...fails, step: 'write', failures: 1 }, deg, 'writing a test file fails', undefined],
    [{ ...fails, step: 'write', failures: 2 }, major, 'writing a test file fails', undefined],
    [{ ...fails, step: 'read', failures: 2, late: true }, major, 'reading a test file back takes too long', undefined],
    [{ ...fails, step: 'remove', failures: 9 }, deg, 'removing a test file fails', undefined],
  ] as const)('follows from %o', (facts, status, message, responseTimeMs) => {
    const expected = { status, message, ...(responseTimeMs === undefined ? {} : { responseTimeMs }) };
    expect(decideStorage(facts)).toEqual(expected);
  });

  test('is unknown before the first test file', () => {
    expect(decideStorage(null)).toBeNull();
  });
});
