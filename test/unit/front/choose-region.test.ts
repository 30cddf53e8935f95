import { expect, test } from 'vitest';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { chooseRegion, hasHeardAll, type RegionLoad } from '../../../services/front/capture/regions.ts';

const load = (region: Region, changes: Partial<RegionLoad> = {}): RegionLoad => ({
  region,
  mayBeEmpty: false,
  hasQueues: true,
  isPending: false,
  renderers: 1,
  slots: 2,
  busy: 0,
  queued: 0,
  inFlight: 0,
  renderMs: null,
  ...changes,
});
const dead = { renderers: 0, slots: 0 };

test.each<[string, 'auto' | Region, RegionLoad[], Region | 'not-installed' | 'pending' | 'no-queues' | 'no-renderer']>([
  ['a named region', 'eu-west', [load('us-east'), load('eu-west')], 'eu-west'],
  ['a named region that is full', 'eu-west', [load('us-east'), load('eu-west', { busy: 2, queued: 9 })], 'eu-west'],
  ['no named region that is not installed', 'asia-east', [load('us-east')], 'not-installed'],
  ['no named region without queues', 'eu-west', [load('us-east'), load('eu-west', { hasQueues: false })], 'no-queues'],
  [
    'another region if the home region has no queues',
    'auto',
    [load('us-east', { hasQueues: false }), load('eu-west')],
    'eu-west',
  ],
  [
    'no empty region without queues',
    'auto',
    [load('us-east', dead), load('eu-west', { ...dead, mayBeEmpty: true, hasQueues: false })],
    'no-renderer',
  ],
  ['no named region without renderers', 'eu-west', [load('us-east'), load('eu-west', dead)], 'no-renderer'],
  [
    'a named region that may scale to zero',
    'eu-west',
    [load('us-east'), load('eu-west', { ...dead, mayBeEmpty: true })],
    'eu-west',
  ],
  [
    'the home region while it has a free slot',
    'auto',
    [load('eu-west', { slots: 9 }), load('us-east', { busy: 1 })],
    'us-east',
  ],
  [
    'the region with the most free slots if the home region is full',
    'auto',
    [load('us-east', { busy: 2 }), load('eu-west'), load('us-west', { slots: 3 })],
    'us-west',
  ],
  [
    'another region if the captures of this front fill the home region',
    'auto',
    [load('us-east', { inFlight: 2 }), load('eu-west')],
    'eu-west',
  ],
  [
    'the home region by the greater of both counts, not by their sum',
    'auto',
    [load('us-east', { busy: 1, inFlight: 1 }), load('eu-west')],
    'us-east',
  ],
  [
    'the region with the shortest queue if all are full',
    'auto',
    [load('us-east', { busy: 2, queued: 5 }), load('eu-west', { busy: 2, queued: 2 })],
    'eu-west',
  ],
  [
    'the shortest queue, including what this front has sent since',
    'auto',
    [load('us-east', { busy: 2, queued: 1, inFlight: 3 }), load('eu-west', { busy: 2, queued: 3 })],
    'eu-west',
  ],
  [
    'the home region among equal queues',
    'auto',
    [load('eu-west', { busy: 2 }), load('us-east', { busy: 2 })],
    'us-east',
  ],
  [
    'the first of equal regions without the home region',
    'auto',
    [load('us-east', dead), load('us-west'), load('eu-west')],
    'us-west',
  ],
  ['another region if the home region has no renderers', 'auto', [load('us-east', dead), load('eu-west')], 'eu-west'],
  [
    'a full region rather than an empty one',
    'auto',
    [load('us-east', { ...dead, mayBeEmpty: true }), load('eu-west', { busy: 2 })],
    'eu-west',
  ],
  [
    'an empty region if there is no other',
    'auto',
    [load('us-east', dead), load('eu-west', { ...dead, mayBeEmpty: true })],
    'eu-west',
  ],
  [
    'the home region among empty regions',
    'auto',
    [load('eu-west', { ...dead, mayBeEmpty: true }), load('us-east', { ...dead, mayBeEmpty: true })],
    'us-east',
  ],
  ['no named region that was never operational', 'eu-west', [load('eu-west', { ...dead, isPending: true })], 'pending'],
  [
    'no named region that was never operational and may scale to zero',
    'eu-west',
    [load('eu-west', { ...dead, mayBeEmpty: true, isPending: true })],
    'pending',
  ],
  ['a pending region with its first renderer', 'eu-west', [load('eu-west', { isPending: true })], 'eu-west'],
  [
    'no region that was never operational',
    'auto',
    [load('us-east', dead), load('eu-west', { ...dead, mayBeEmpty: true, isPending: true })],
    'no-renderer',
  ],
  ['no region if none has renderers', 'auto', [load('us-east', dead), load('eu-west', dead)], 'no-renderer'],
])('chooseRegion chooses %s', (_name, asked, loads, expected) => {
  const choice = chooseRegion(asked, 'us-east', loads);
  expect(choice.region ?? choice.reason).toBe(expected);
});

test.each<[string, { upForMs: number; watchedForMs: number; waitedMs: number }, boolean]>([
  ['the watch is older than a heartbeat interval', { upForMs: 60_000, watchedForMs: 3000, waitedMs: 0 }, true],
  ['the watch has just begun', { upForMs: 60_000, watchedForMs: 2900, waitedMs: 9000 }, false],
  [
    'the connection is new, and the watch must be set up again',
    { upForMs: 500, watchedForMs: 60_000, waitedMs: 500 },
    false,
  ],
  ['a server that is reading its streams has no watch yet', { upForMs: 6000, watchedForMs: 0, waitedMs: 6000 }, false],
  [
    'there has been no watch for longer than a client should wait',
    { upForMs: 12_000, watchedForMs: 0, waitedMs: 10_000 },
    true,
  ],
  ['there is no connection', { upForMs: 0, watchedForMs: 0, waitedMs: 2900 }, false],
  [
    'there has been no connection for longer than a reconnect takes',
    { upForMs: 0, watchedForMs: 0, waitedMs: 3000 },
    true,
  ],
])('whether silent renderers count as gone: %s', (_name, times, expected) => {
  expect(hasHeardAll(times)).toBe(expected);
});
