import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { TimeoutError } from '@nats-io/nats-core';
import { describe, expect, test } from 'vitest';
import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { awaitEnd } from '../../../services/front/capture/await-end.ts';
import { Mailbox } from '../../../services/front/capture/mailbox.ts';
import { silentLog } from '../../harness/nats-session.ts';

/** A record in memory that follows the rules of the real one. */
class Book {
  record: CaptureRecord;
  calls: string[] = [];
  broken = false;

  constructor(status: CaptureRecord['status'] = 'queued') {
    this.record = { uuid: 'u', account: 'a', status } as CaptureRecord;
  }

  readonly captures = {
    get: async () => {
      this.#call('get');
      return { value: this.record, revision: 1 };
    },
    fail: async (_ref: object, failure: CaptureFailure) => this.#end('fail', ['queued', 'rendering'], failure),
    cancelQueued: async (_ref: object, failure: CaptureFailure) => this.#end('cancel', ['queued'], failure),
  };

  #end(name: string, from: readonly string[], failure: CaptureFailure): CaptureRecord {
    this.#call(name);
    if (from.includes(this.record.status)) this.record = { ...this.record, status: 'failed', failure };
    return this.record;
  }

  #call(name: string): void {
    this.calls.push(name);
    if (this.broken) throw new TimeoutError();
  }
}

/** Times in milliseconds from now. */
const jobOf = (startBy: number, deadline: number) => {
  const now = Date.now();
  return { uuid: 'u', account: 'a', acceptedAt: now, startBy: now + startBy, deadline: now + deadline } as CaptureJob;
};

function wait(job: CaptureJob, book: Book, mailbox = new Mailbox()) {
  const gone = new AbortController();
  const listeners = new Set<() => void>();
  const link = {
    onReconnect: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const end = awaitEnd(job, mailbox, gone.signal, { captures: book.captures, link, log: silentLog });
  return { end, gone, mailbox, listeners, reconnect: () => listeners.forEach((listener) => listener()) };
}

const completed = { uuid: 'u', account: 'a', status: 'completed' } as CaptureRecord;

test('an announcement ends the wait at once, and the record is not read', async () => {
  const book = new Book();
  const { end, mailbox } = wait(jobOf(60_000, 90_000), book);
  mailbox.deliver({ record: completed, bytes: Buffer.from('x') });
  expect(await end).toMatchObject({ record: completed, bytes: Buffer.from('x'), endedHere: false });
  expect(book.calls).toEqual([]);
});

test('so does one that was there before', async () => {
  const mailbox = new Mailbox();
  mailbox.deliver({ record: completed, bytes: null });
  expect((await wait(jobOf(60_000, 90_000), new Book(), mailbox).end).record).toBe(completed);
});

test('a reconnection has the record read at once', async () => {
  const book = new Book();
  const { end, reconnect, listeners } = wait(jobOf(60_000, 90_000), book);
  let hasEnded = false;
  void end.then(() => (hasEnded = true));
  // Turns of the event loop, not time: a moment may be long on a busy machine.
  const aMoment = async () => {
    for (let count = 0; count < 20; count++) await turn();
  };
  reconnect();
  await aMoment();
  expect(book.calls).toEqual(['get']);
  book.record = completed;
  reconnect();
  await aMoment();
  expect(hasEnded).toBe(true);
  expect((await end).record).toBe(completed);
  expect(listeners.size).toBe(0);
});

describe('when its time is up', () => {
  test('a capture that still waits is ended, and says that it waited', async () => {
    const { record, endedHere } = await wait(jobOf(100, 60_000), new Book()).end;
    expect(record).toMatchObject({ status: 'failed', failure: { code: 'CAPTURE_TIMEOUT' } });
    expect(record.failure?.message).toContain('queue');
    expect(endedHere).toBe(true);
  });

  test('one that is rendered goes on until its deadline, and says that it was rendered', async () => {
    const book = new Book('rendering');
    const start = performance.now();
    const { record, endedHere } = await wait(jobOf(0, 700), book).end;
    expect(performance.now() - start).toBeGreaterThan(1100);
    expect(record.failure).toMatchObject({ code: 'CAPTURE_TIMEOUT' });
    expect(record.failure?.message).toContain('Rendering');
    expect(endedHere).toBe(true);
  });

  test('what the record says already stands', async () => {
    const book = new Book('completed');
    const { record, endedHere } = await wait(jobOf(-5000, -2000), book).end;
    expect(record.status).toBe('completed');
    expect(endedHere).toBe(false);
  });
});

describe('when the client goes away', () => {
  test('a capture that waits is cancelled', async () => {
    const { end, gone } = wait(jobOf(60_000, 90_000), new Book());
    gone.abort();
    expect(await end).toMatchObject({
      record: { status: 'failed', failure: { code: 'CAPTURE_FAILED' } },
      endedHere: true,
    });
  });

  test('one that is rendered is left alone', async () => {
    const { end, gone } = wait(jobOf(60_000, 90_000), new Book('rendering'));
    gone.abort();
    expect(await end).toMatchObject({ record: { status: 'rendering' }, endedHere: false });
  });
});

describe('when the record cannot be read', () => {
  test('the wait goes on', async () => {
    const book = new Book();
    book.broken = true;
    const { end, reconnect } = wait(jobOf(60_000, 90_000), book);
    reconnect();
    await sleep(150);
    book.broken = false;
    book.record = completed;
    reconnect();
    expect((await end).record).toBe(completed);
    expect(book.calls.length).toBeGreaterThanOrEqual(2);
  });

  test('it is given up some time after the deadline', async () => {
    const book = new Book();
    book.broken = true;
    await expect(wait(jobOf(-30_000, -20_000), book).end).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  });
});
