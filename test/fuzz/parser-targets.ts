import { isIP } from 'node:net';
import fc from 'fast-check';
import { createEgressPolicy, parseHost } from '@webcapture/shared/egress/policy.ts';
import { parseCidrs } from '@webcapture/shared/egress/address-range.ts';
import { isKeyPart, pageOf } from '@webcapture/shared/nats/read-many.ts';
import { heldJobText, parseHeldJob } from '@webcapture/shared/queue/heartbeat.ts';
import { parseHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import { parseJob } from '@webcapture/shared/queue/jobs.ts';
import { decodeReply, parseResult } from '@webcapture/shared/queue/results.ts';
import { encodeReply } from '@webcapture/shared/queue/encode-reply.ts';
import { maxFailureLength } from '@webcapture/shared/queue/outcomes.ts';
import { parseTask, receiverOf } from '@webcapture/shared/queue/tasks.ts';
import { seemsInteractive } from '@webcapture/shared/queue/tickets.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { redactUrls } from '@webcapture/shared/runtime/logger.ts';
import { byteRange, isNotModified, isRangeMeant } from '../../services/front/api/send-file.ts';
import { bearerToken } from '../../services/front/auth/authenticator.ts';
import { parseExpiry } from '../../services/front/auth/key-issuer.ts';
import { hashKey } from '../../services/front/auth/keys.ts';
import { canonicalLink } from '../../services/front/auth/link-signature.ts';
import { decodeHtml } from '../../services/front/capture/accept-request.ts';
import { bodyOfLink } from '../../services/front/plugins/capture-links/link-options.ts';
import { parseAbsoluteForm, targetOfAuthority, targetOfUrl } from '../../services/renderer/egress/target.ts';
import { type Target, target } from './fuzz.ts';
import { altered, changed, headerText, host, json, privateHost, repeated, text, url } from './values.ts';

const policy = createEgressPolicy({ allow: [] });

/** Runs a call that may throw only the documented error. */
function throwsOnly<T>(call: () => T, isExpected: (error: unknown) => boolean): T | undefined {
  try {
    return call();
  } catch (error) {
    if (!isExpected(error)) throw error;
    return undefined;
  }
}

const hasCode = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;

function assert(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what);
}

const isOpen = (address: string) => policy.checkAddress(address).allowed;

const hosts = target('hosts', host, (input) => {
  const found = parseHost(input);
  if (found === undefined) return;
  const name = found.kind === 'address' ? found.address : found.name;
  assert((isIP(name) !== 0) === (found.kind === 'address'), `${name} is no ${found.kind}`);
  assert(JSON.stringify(parseHost(name)) === JSON.stringify(found), `${name} is read in another way`);
  if (found.kind === 'address') return void policy.checkAddress(name);
  assert(name.length <= 253 && !/[\s\p{Cc}/?#@\\:A-Z]/u.test(name), `${name} is no name`);
  assert(new URL(`http://${name}/`).hostname === name, `${name} is another host for a browser`);
});

const privateHosts = target('private-hosts', privateHost, (input) => {
  const found = parseHost(input);
  assert(found === undefined || (found.kind === 'address' && !isOpen(found.address)), `${input} is open`);
  const to = targetOfAuthority(`${input}:80`);
  assert(to === undefined || !isOpen(to.host), `${input}:80 is open to the proxy`);
  const absolute = parseAbsoluteForm(`http://${input}/path`);
  assert(absolute === undefined || !isOpen(absolute.target.host), `http://${input}/ is open to the proxy`);
  const parsed = URL.parse(`http://${input}/`);
  if (parsed === null) return;
  let isRefused = false;
  throwsOnly(
    () => policy.checkLiteral(parsed),
    (error) => (isRefused = hasCode('URL_BLOCKED')(error)),
  );
  assert(isRefused, `${parsed.href} is open`);
});

const targets = target(
  'egress-targets',
  fc.oneof(
    url,
    host.map((name) => `${name}:443`),
    changed(fc.tuple(host, fc.nat(99_999)).map(([name, port]) => `${name}:${port}`)),
  ),
  (input) => {
    // Node.js refuses a request target with control characters before the proxy reads it.
    const line = input.replaceAll(/[\s\p{Cc}]/gu, '');
    const absolute = parseAbsoluteForm(line);
    if (absolute !== undefined) assert(absolute.path.startsWith('/'), `the path ${absolute.path}`);
    for (const to of [targetOfUrl(input), targetOfAuthority(line), absolute?.target]) {
      if (to === undefined) continue;
      const known = parseHost(to.host);
      assert(known !== undefined && to.port >= 0 && to.port <= 65_535, `${to.key} is no target`);
    }
    const parsed = URL.parse(input);
    if (parsed !== null) throwsOnly(() => policy.checkLiteral(parsed), hasCode('URL_BLOCKED'));
    throwsOnly(
      () => receiverOf(input),
      (error) => error instanceof TypeError,
    );
  },
);

const cidrs = target(
  'cidrs',
  changed(fc.oneof(fc.ipV4(), fc.ipV6()).chain((address) => fc.nat(140).map((prefix) => `${address}/${prefix}`))),
  (input) => {
    const read = throwsOnly(
      () => parseCidrs([input]),
      (error) => error instanceof Error && error.message.includes(input),
    );
    for (const { prefix } of read ?? []) assert(prefix >= 0 && prefix <= 128, `a prefix of ${prefix}`);
  },
);

const html = target(
  'html-decoding',
  fc.oneof(text, changed(text.map((value) => Buffer.from(value).toString('base64'))), repeated(100_000)),
  (input) => {
    const decoded = throwsOnly(() => decodeHtml(input), hasCode('VALIDATION_ERROR'));
    if (decoded === undefined || input.includes('<')) return;
    const bytes = Buffer.from(input, 'base64');
    assert(
      bytes.equals(Buffer.from(decoded)) || bytes.subarray(3).equals(Buffer.from(decoded)),
      'other bytes came out',
    );
  },
);

const keys = target(
  'api-keys',
  fc.oneof(
    headerText,
    headerText.map((value) => `bearer ${value}`),
    repeated(8000),
  ),
  (input) => {
    const token = bearerToken(input);
    assert(token === null || /^\S+$/.test(token), `the token ${token}`);
    assert(isKeyPart(hashKey(token ?? input)), 'a hash that is no part of a subject');
  },
);

const now = Date.UTC(2026, 5, 1);
const expiries = target(
  'expiries',
  fc.oneof(text, changed(fc.date({ noInvalidDate: true }).map((date) => date.toISOString()))),
  (input) => {
    const time = throwsOnly(() => parseExpiry(input, now), hasCode('VALIDATION_ERROR'));
    assert(time === undefined || (Number.isInteger(time) && time > now), `ends at ${time}`);
    if (time !== undefined) new Date(time).toISOString();
  },
);

const cursors = target(
  'cursors',
  fc.tuple(fc.uniqueArray(fc.oneof(fc.uuid({ version: 7 }), text), { maxLength: 30 }), fc.integer({ min: 1, max: 10 })),
  ([ids, limit]) => {
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages <= ids.length; pages++) {
      const page = pageOf(ids, { limit, cursor });
      seen.push(...page.ids);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    assert(JSON.stringify(seen.toSorted()) === JSON.stringify([...ids].toSorted()), 'pages that miss or repeat an id');
  },
);

const byteNumber = fc.oneof(fc.nat(2000).map(String), fc.constantFrom('', '00', '9'.repeat(30), '-1'));
const ranges = target(
  'ranges',
  fc.tuple(
    fc.oneof(
      headerText,
      changed(fc.tuple(byteNumber, byteNumber).map(([first, last]) => `bytes=${first}-${last}`)),
      repeated(8000),
    ),
    fc.integer({ min: 1, max: 1000 }),
    fc.oneof(headerText, fc.constantFrom('"etag"', 'W/"etag"', '*', 'Thu, 01 Jan 1970 00:00:01 GMT')),
  ),
  ([header, size, condition]) => {
    const range = byteRange(header, size);
    if (range !== null && range !== 'unsatisfiable') {
      const { start, end } = range;
      assert(
        start >= 0 && start <= end && end < size && Number.isInteger(start + end),
        `${header} is ${start} to ${end} of ${size}`,
      );
    }
    const file = { etag: 'etag', storedAt: 1000 };
    isNotModified({ 'if-none-match': condition }, file);
    isNotModified({ 'if-modified-since': condition }, file);
    isRangeMeant(condition, file);
  },
);

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value) ?? '');
const raw = fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes));
/** A valid message with some changes, or arbitrary bytes. */
const messages = (like: object) =>
  fc.oneof(
    { weight: 5, arbitrary: altered(like).map(bytesOf) },
    { weight: 3, arbitrary: changed(fc.constant(JSON.stringify(like))).map((value) => Buffer.from(value)) },
    { weight: 1, arbitrary: raw },
    { weight: 1, arbitrary: fc.json().map((value) => Buffer.from(value)) },
  );

const isParseError = (error: unknown) => error instanceof SyntaxError || error instanceof TypeError;
const ticket = `${Buffer.from(JSON.stringify({ account: 'a', uuid: 'u', revision: 0, region: 'us-east', object: 'o' })).toString('base64url')}.sig`;
const job = {
  version: 2,
  uuid: 'u',
  revision: 0,
  region: 'us-east',
  ticket,
  account: 'a',
  priority: 'interactive',
  acceptedAt: 1,
  startBy: 2,
  deadline: 3,
  file: { object: 'o', lifetimeMs: 5 },
  source: { kind: 'html', html: '<p>' },
  options: {},
};

const jobs = target('jobs', messages(job), (input) => {
  const read = throwsOnly(() => parseJob(input), isParseError);
  assert(read === undefined || typeof read.uuid === 'string', 'a job without a uuid');
});

const tasks = target(
  'tasks',
  messages({ kind: 'webhook', account: 'a', uuid: 'u', revision: 1, receiver: 'r' }),
  (input) => {
    const read = throwsOnly(() => parseTask(input), isParseError);
    assert(read === undefined || isKeyPart(read.account), 'a task of an account that is none');
  },
);

const result = (outcome: object) => ({ ticket, pod: 'p', delivery: 1, elapsedMs: 5, outcome });
const upload = { object: 'o', contentType: 'image/png', size: 5, etag: 'e', width: 1, height: 1, expiresAt: 1 };
const report = {
  httpStatus: 200,
  finalUrl: 'https://example.com/',
  title: '',
  challenge: false,
  blockedRequests: 0,
  softTimeouts: [],
  images: { loaded: 0, failed: 0, pending: 0 },
  strategy: 'single',
  truncated: false,
  blank: false,
  timings: { queueMs: 1, openMs: 1, navigateMs: 1, settleMs: 1, shootMs: 1, storeMs: 1 },
};
const failed = result({ kind: 'failed', code: 'CAPTURE_FAILED', message: 'x' });
const completed = result({ kind: 'completed', upload, report, ageMs: 1 });

const results = target(
  'results',
  fc.tuple(fc.oneof(messages(failed), messages(completed), messages(result({ kind: 'started' }))), raw, fc.boolean()),
  ([input, bytes, isWhole]) => {
    assert(parseResult(bytesOf(completed)) !== null, 'the example is no result');
    const read = parseResult(input);
    if (read !== null) {
      const { outcome } = read;
      assert(outcome.kind !== 'failed' || outcome.message.length <= maxFailureLength, 'a long message');
      assert(outcome.kind !== 'completed' || Number.isInteger(outcome.upload.size), 'a file of no size');
      seemsInteractive(read.ticket);
      const reply = decodeReply(encodeReply(read, bytes, isWhole ? 1e6 : 0));
      assert(reply !== null, 'a result that is not understood again');
      const expected = isWhole && bytes.length > 0 ? bytes : null;
      assert(expected === null ? reply?.bytes === null : reply?.bytes?.equals(expected) === true, 'other bytes');
    }
    decodeReply(input);
    decodeReply(Buffer.concat([bytes, Buffer.from('\n'), input]));
  },
);

const heartbeat = {
  pod: 'p',
  instance: 'one',
  region: 'us-east',
  version: '1',
  slots: 2,
  busy: 0,
  browser: 'up',
  draining: false,
  recent: { ended: 0, internalFailures: 0, interactive: 0, queueWaitP95Ms: 1 },
  jobs: ['interactive:1:2:3'],
  at: 1,
};
const heartbeats = target('heartbeats', fc.tuple(altered(heartbeat), text), ([value, held]) => {
  assert(parseHeartbeat('fleet.us-east.p', heartbeat) !== null, 'the example is no heartbeat');
  const read = parseHeartbeat('fleet.us-east.p', value);
  assert(read === null || read.region === 'us-east', 'a heartbeat of another region');
  const kept = parseHeldJob(held);
  assert(kept === null || heldJobText(kept).length > 0, 'no held job');
  const whole = { queue: 'interactive', delivery: 1, sequence: held.length, consumerSequence: 3 };
  assert(JSON.stringify(parseHeldJob(heldJobText(whole))) === JSON.stringify(whole), 'another job');
});

const secret = 'Zq7-never-to-be-seen';
const logs = target(
  'log-redaction',
  fc.oneof(
    fc
      .tuple(text, fc.constantFrom('http', 'https', 'nats', 'wss'), fc.domain(), text)
      .map(([before, scheme, name, after]) => `${before} ${scheme}://user:${secret}@${name}/ ${after}`),
    fc.tuple(text, text).map(([before, after]) => `${before} Bearer ${secret} ${after}`),
    repeated(20_000),
  ),
  (input) => assert(!redactUrls(input).includes(secret), 'the secret is in the log'),
);

const link = fc
  .array(
    fc.tuple(
      fc.oneof(
        text,
        fc
          .array(fc.constantFrom('viewport', 'width', 'hide', 'pdf', 'margin', 'top', '__proto__'), { maxLength: 4 })
          .map((steps) => steps.join('.')),
      ),
      fc.oneof(
        text,
        json.map((value) => JSON.stringify(value)),
      ),
    ),
    { maxLength: 8 },
  )
  .map((pairs) => String(new URLSearchParams(pairs)));
/** Longer than any link: Node.js accepts 16 KiB of headers, the request line included. */
const maxLinkLength = 2 ** 16;
const anyLink = fc.oneof(link, changed(link), text).map((input) => input.slice(0, maxLinkLength));

const links = target('capture-links', anyLink, (input) => {
  const parameters = [...new URLSearchParams(input)];
  const signed = canonicalLink(parameters);
  assert(
    signed === canonicalLink([...new URLSearchParams(signed.slice('GET /capture?'.length))]),
    'another text is signed',
  );
  const body = throwsOnly(() => bodyOfLink(parameters), hasCode('VALIDATION_ERROR'));
  assert(body === undefined || body['responseType'] === 'file', 'the answer is no file');
});

export const parserTargets: readonly Target[] = [
  hosts,
  privateHosts,
  targets,
  cidrs,
  html,
  keys,
  expiries,
  cursors,
  ranges,
  jobs,
  tasks,
  results,
  heartbeats,
  logs,
  links,
];
