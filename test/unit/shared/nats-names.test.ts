import { afterEach, describe, expect, test } from 'vitest';
import { cacheSubjects } from '@webcapture/shared/captures/cache.ts';
import { minuteSubject, startOfSubject } from '@webcapture/shared/captures/expiry-index.ts';
import { headSubject, headVersions, versionOf } from '@webcapture/shared/files/embedded-head.ts';
import {
  bucketStream,
  captureSubject,
  durableOfSubject,
  heldSubject,
  inboxPrefixOf,
  keySubject,
  laterSubject,
  regionOfSubject,
  replySubject,
  resultSubject,
  setNamePrefix,
  signalSubject,
  streamLabels,
  streamNames,
  taskSubject,
} from '@webcapture/shared/nats/streams.ts';
import { readCommonConfig } from '@webcapture/shared/runtime/config.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';

afterEach(() => setNamePrefix(''));

const names = () => ({
  streams: Object.values(streamNames),
  bucket: bucketStream('db'),
  subjects: [
    keySubject('db', 'key.a'),
    cacheSubjects(),
    captureSubject('us-east', 'interactive'),
    captureSubject('us-east', 'background', 3),
    resultSubject('us-east', 'u'),
    replySubject('us-east', 'any', 'u'),
    heldSubject('us-east', 'p'),
    signalSubject('us-east'),
    taskSubject('webhook', 'a'),
    laterSubject('webhook', 'a'),
    minuteSubject(0),
    headVersions('a.png'),
    inboxPrefixOf('renderer.us-east'),
  ],
});

test('without a prefix, names are as they were before there were prefixes', () => {
  expect(names()).toEqual({
    streams: ['KV_db', 'KV_live', 'KV_cache', 'CAPTURES', 'RESULTS', 'TASKS', 'EXPIRY', 'DEAD', 'FILES'],
    bucket: 'KV_db',
    subjects: [
      '$KV.db.key.a',
      '$KV.cache.>',
      'captures.us-east.interactive',
      'captures.us-east.background.3',
      'results.us-east.u',
      'replies.us-east.any.u',
      'held.us-east.p',
      'signals.us-east',
      'tasks.webhook.a',
      'later.webhook.a',
      'expiry.19700101.0000',
      'files.head.a_png.*',
      '_INBOX.renderer.us-east',
    ],
  });
});

test('with a prefix, all names have it, and the labels of metrics do not', () => {
  setNamePrefix('acme');
  expect(names()).toEqual({
    streams: [
      'KV_acme-db',
      'KV_acme-live',
      'KV_acme-cache',
      'acme-CAPTURES',
      'acme-RESULTS',
      'acme-TASKS',
      'acme-EXPIRY',
      'acme-DEAD',
      'acme-FILES',
    ],
    bucket: 'KV_acme-db',
    subjects: [
      '$KV.acme-db.key.a',
      '$KV.acme-cache.>',
      'acme-captures.us-east.interactive',
      'acme-captures.us-east.background.3',
      'acme-results.us-east.u',
      'acme-replies.us-east.any.u',
      'acme-held.us-east.p',
      'acme-signals.us-east',
      'acme-tasks.webhook.a',
      'acme-later.webhook.a',
      'acme-expiry.19700101.0000',
      'acme-files.head.a_png.*',
      '_INBOX.acme-renderer.us-east',
    ],
  });
  expect(streamLabels.db).toBe('KV_db');
});

describe.each(['', 'acme', 'a_b-c'])('with the prefix "%s", subjects are parsed:', (prefix) => {
  test('region, durable, time of expiry and version of a file', () => {
    setNamePrefix(prefix);
    expect(regionOfSubject(resultSubject('eu-west', 'u'))).toBe('eu-west');
    expect(durableOfSubject(captureSubject('eu-west', 'background', 2))).toBe('eu-west-background-2');
    expect(startOfSubject(minuteSubject(Date.UTC(2026, 5, 1, 12, 30)))).toBe(Date.UTC(2026, 5, 1, 12, 30));
    expect(versionOf(headSubject('a.png', 7))).toBe(7);
  });
});

test('a prefix has letters, digits, hyphens and underscores, and at most 32 of them', () => {
  const read = (prefix: string) => {
    const env = new EnvReader({ WEBCAPTURE_REGIONS: 'us-east', WEBCAPTURE_NATS_PREFIX: prefix });
    return env.finish(() => readCommonConfig(env, { opsPort: 1 })).nats.prefix;
  };
  expect([read(''), read('a_B-9'), read('x'.repeat(32))]).toEqual(['', 'a_B-9', 'x'.repeat(32)]);
  for (const wrong of ['a.b', 'a*', 'a b', '>', 'ä', 'x'.repeat(33)]) {
    expect(() => read(wrong)).toThrow('WEBCAPTURE_NATS_PREFIX must be 1 to 32 letters, digits, "-" or "_"');
  }
});
