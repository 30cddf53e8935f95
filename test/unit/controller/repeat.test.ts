import { expect, test } from 'vitest';
import { repeat, skipped } from '../../../services/controller/loops.ts';
import { type LogLine, recordingLog } from '../../integration/controller/support/recording-log.ts';

test('a recovery is logged after a success, but not after skipped work', async () => {
  const lines: LogLine[] = [];
  const stop = new AbortController();
  const outcomes = ['fails', 'skipped', 'fails', 'skipped', 'works', 'works'];
  await repeat({ what: 'reading', everyMs: 0, signal: stop.signal, log: recordingLog(lines) }, async () => {
    const outcome = outcomes.shift();
    if (outcomes.length === 0) stop.abort();
    if (outcome === 'fails') throw new Error('the connection was lost');
    lines.push({ message: outcome } as LogLine);
    return outcome === 'skipped' ? skipped : undefined;
  });
  expect(lines.map(({ message }) => message)).toEqual([
    'reading failed; retrying',
    'skipped',
    'skipped',
    'works',
    'reading succeeded again',
    'works',
  ]);
});
