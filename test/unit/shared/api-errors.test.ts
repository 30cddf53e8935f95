import { JetStreamApiError } from '@nats-io/jetstream';
import { JetStreamStatusError } from '@nats-io/jetstream/internal';
import { ConnectionError, NoRespondersError, PermissionViolationError, TimeoutError } from '@nats-io/nats-core';
import { expect, test } from 'vitest';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { isStreamFull, isTransient, isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';

const api = (err_code: number, code: number, description = 'a description') =>
  new JetStreamApiError({ err_code, code, description });

/** Codes, statuses and descriptions of nats-server 2.15 (server/errors.json). */
test.each([
  ['resource limits exceeded for account', api(10002, 400), true],
  ['no suitable peers', api(10005, 400), true],
  ['not assigned to this server', api(10007, 500), true],
  ['JetStream system temporarily unavailable', api(10008, 503), true],
  ['not the leader', api(10009, 500), true],
  ['insufficient resources', api(10023, 503), true],
  ['insufficient memory', api(10028, 500), true],
  ['JetStream not enabled for account', api(10039, 503), true],
  ['raft error', api(10041, 500), true],
  ['insufficient storage', api(10047, 500), true],
  ['JetStream not enabled', api(10076, 503), true],
  ['stream not valid', api(10096, 500), true],
  ['stream is offline', api(10118, 500), true],
  ['consumer is offline', api(10119, 500), true],
  ['duplicate message id is in process', api(10158, 409), true],
  ['expected last sequence per subject temporarily unavailable', api(10163, 503), true],
  ['atomic publish batch is incomplete', api(10176, 400), true],
  ['member change in progress', api(10202, 400), true],
  ['too many atomic batches', api(10210, 429), true],
  ['a stream that closes', api(10077, 503, 'store is closed'), true],
  ['stream not found', api(10059, 404), true],
  ['consumer not found', api(10014, 404), true],
  ['a timeout', new TimeoutError(), true],
  ['a deadline', new DeadlineError('a call', 1), true],
  ['no responders', new NoRespondersError('x'), true],
  ['no connection', new ConnectionError('closed'), true],
  ['a direct get of a busy server', new JetStreamStatusError('Too Many Requests', 429), true],
  ['a direct get without a store', new JetStreamStatusError('unavailable', 503), true],
  ['a full stream', api(10077, 503, 'maximum bytes exceeded'), false],
  ['a message too large to store', api(10077, 503, 'message too large'), false],
  ['a subject with its maximum of messages', api(10077, 503, 'maximum messages per subject exceeded'), false],
  ['clustering required', api(10010, 503), false],
  ['not supported in clustered mode', api(10036, 503), false],
  ['wrong last sequence', api(10071, 400), false],
  ['wrong last sequence of a batch', api(10164, 400), false],
  ['message not found', api(10037, 404), false],
  ['bad request', api(10003, 400), false],
  ['a duplicate in a batch', api(10201, 400), false],
  ['a batch that is too large', api(10199, 400), false],
  ['atomic publish is disabled', api(10174, 400), false],
  ['message not found by a direct get', new JetStreamStatusError('Message Not Found', 404), false],
  ['no permission', new PermissionViolationError('no', 'publish', 'x'), false],
  ['a bug in this code', new TypeError('x'), false],
])('isTransient for %s: %#', (_, error, transient) => {
  expect(isTransient(error)).toBe(transient);
});

test('isStreamFull and isWriteConflict distinguish a full stream from a closing one and from a conflict', () => {
  expect(isStreamFull(api(10077, 503, 'maximum bytes exceeded'))).toBe(true);
  expect(isStreamFull(api(10077, 503, 'store is closed'))).toBe(false);
  expect([isWriteConflict(api(10071, 400)), isWriteConflict(api(10164, 400))]).toEqual([true, true]);
  expect(isWriteConflict(api(10077, 503, 'maximum bytes exceeded'))).toBe(false);
});
