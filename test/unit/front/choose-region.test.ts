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
  ['a named region that is not installed', 'asia-east', [load('us-east')], 'not-installed'],
  ['a named region without queues', 'eu-west', [load('us-east'), load('eu-west', { hasQueues: false })], 'no-queues'],
  [
    'auto passes over a home without queues',
    'auto',
    [load('us-east', { hasQueues: false }), load('eu-west')],
    'eu-west',
  ],
  [
    'auto passes over a region without queues that may be empty',
    'auto',
    [load('us-east', dead), load('eu-west', { ...dead, mayBeEmpty: true, hasQueues: false })],
    'no-renderer',
  ],
  ['a named region without renderers', 'eu-west', [load('us-east'), load('eu-west', dead)], 'no-renderer'],
  [
    'a named region that may be empty',
    'eu-west',
    [load('us-east'), load('eu-west', { ...dead, mayBeEmpty: true })],
    'eu-west',
  ],
  ['home while it has a free slot', 'auto', [load('eu-west', { slots: 9 }), load('us-east', { busy: 1 })], 'us-east'],
  [
    'the most free slots when home is full',
    'auto',
    [load('us-east', { busy: 2 }), load('eu-west'), load('us-west', { slots: 3 })],
    'us-west',
  ],
  [
    'home is full by what this front has sent there',
    'auto',
    [load('us-east', { inFlight: 2 }), load('eu-west')],
    'eu-west',
  ],
  [
    'the greater of both counts, not their sum',
    'auto',
    [load('us-east', { busy: 1, inFlight: 1 }), load('eu-west')],
    'us-east',
  ],
  [
    'the shortest queue when all are full',
    'auto',
    [load('us-east', { busy: 2, queued: 5 }), load('eu-west', { busy: 2, queued: 2 })],
    'eu-west',
  ],
  [
    'queues with what this front has sent since',
    'auto',
    [load('us-east', { busy: 2, queued: 1, inFlight: 3 }), load('eu-west', { busy: 2, queued: 3 })],
    'eu-west',
  ],
  ['home among equal queues', 'auto', [load('eu-west', { busy: 2 }), load('us-east', { busy: 2 })], 'us-east'],
  [
    'the first among equals that are not home',
    'auto',
    [load('us-east', dead), load('us-west'), load('eu-west')],
    'us-west',
  ],
  ['another region when home is dead', 'auto', [load('us-east', dead), load('eu-west')], 'eu-west'],
  [
    'a full region rather than an empty one',
    'auto',
    [load('us-east', { ...dead, mayBeEmpty: true }), load('eu-west', { busy: 2 })],
    'eu-west',
  ],
  [
    'an empty region when there is nothing else',
    'auto',
    [load('us-east', dead), load('eu-west', { ...dead, mayBeEmpty: true })],
    'eu-west',
  ],
  [
    'home among empty regions',
    'auto',
    [load('eu-west', { ...dead, mayBeEmpty: true }), load('us-east', { ...dead, mayBeEmpty: true })],
    'us-east',
  ],
  ['a named region that has never worked', 'eu-west', [load('eu-west', { ...dead, isPending: true })], 'pending'],
  [
    'a named region that has never worked, and may be empty',
    'eu-west',
    [load('eu-west', { ...dead, mayBeEmpty: true, isPending: true })],
    'pending',
  ],
  ['a named region whose first renderer is there', 'eu-west', [load('eu-west', { isPending: true })], 'eu-west'],
  [
    'auto passes over a region that has never worked',
    'auto',
    [load('us-east', dead), load('eu-west', { ...dead, mayBeEmpty: true, isPending: true })],
    'no-renderer',
  ],
  ['nothing when all are dead', 'auto', [load('us-east', dead), load('eu-west', dead)], 'no-renderer'],
])('%s', (_name, asked, loads, expected) => {
  const choice = chooseRegion(asked, 'us-east', loads);
  expect(choice.region ?? choice.reason).toBe(expected);
});

test.each<[string, { upForMs: number; watchedForMs: number; waitedMs: number }, boolean]>([
  ['heard for longer than a heartbeat takes', { upForMs: 60_000, watchedForMs: 3000, waitedMs: 0 }, true],
  ['watched since a moment ago', { upForMs: 60_000, watchedForMs: 2900, waitedMs: 9000 }, false],
  [
    'connected since a moment ago, with a watch that is to be set up again',
    { upForMs: 500, watchedForMs: 60_000, waitedMs: 500 },
    false,
  ],
  ['no watch yet, of a server that reads its streams', { upForMs: 6000, watchedForMs: 0, waitedMs: 6000 }, false],
  ['no watch for longer than a client should wait', { upForMs: 12_000, watchedForMs: 0, waitedMs: 10_000 }, true],
  ['no connection', { upForMs: 0, watchedForMs: 0, waitedMs: 2900 }, false],
  ['no connection for longer than one takes to come back', { upForMs: 0, watchedForMs: 0, waitedMs: 3000 }, true],
])('renderers that are not heard are gone: %s', (_name, times, expected) => {
  expect(hasHeardAll(times)).toBe(expected);
});
