import fc from 'fast-check';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { type FuzzResponse, type Send, type Target, target } from './fuzz.ts';
import { altered, changed, headerText, json, repeated, text, url } from './values.ts';

const key = 'Bearer a-key-of-the-fuzzing';

/** The statuses that spec.md lists for POST /capture. */
const captureStatuses = [200, 400, 401, 402, 429];

/** Error messages are for people: their length must not grow with the input. */
const maxMessageLength = 4000;

function checkAnswer({ status, headers, body }: FuzzResponse, statuses?: readonly number[]): void {
  if (status >= 500 || (statuses !== undefined && !statuses.includes(status)))
    throw new Error(`status ${status}: ${body}`);
  if (status < 400) return;
  const type = String(headers['content-type']);
  if (!type.startsWith('application/json')) throw new Error(`an error of the type ${type}`);
  const { success, error, data } = JSON.parse(body) as {
    success: boolean;
    error: { code: string; message: string };
    data: null;
  };
  if (success || data !== null || typeof error.code !== 'string') throw new Error(`no envelope: ${body}`);
  if (error.message === '' || error.message.length > maxMessageLength)
    throw new Error(`a message of ${error.message.length} characters`);
}

async function capture(send: Send, body: string | Buffer, headers: Record<string, string> = {}): Promise<FuzzResponse> {
  const answer = await send({
    method: 'POST',
    url: '/capture',
    headers: { 'content-type': 'application/json', authorization: key, ...headers },
    body,
  });
  checkAnswer(answer, captureStatuses);
  return answer;
}

const whole = {
  url: 'https://example.com/',
  responseType: 'json',
  format: 'pdf',
  viewport: { width: 1280, height: 720, deviceScaleFactor: 1 },
  isFullPage: true,
  quality: 80,
  colorScheme: 'light',
  timeout: 30_000,
  waitUntil: 'load',
  imageTimeout: 3000,
  delay: 0,
  responseCache: { enabled: true, ttl: 3600 },
  cdnTtl: 3600,
  persistence: { enabled: true, refreshInterval: 3600 },
  background: true,
  webhook: { url: 'https://example.com/hook' },
  region: 'auto',
  antiBot: false,
  block: { ...blockNothing, ads: true, trackers: true, cookieBanners: true },
  pdf: {
    paper: 'A4',
    landscape: false,
    margin: { top: 10 },
    printBackground: true,
    scale: 1,
    headerTemplate: '<b style="font-size:9px" class="title"></b><img src="data:image/png,x">',
    tagged: true,
    outline: true,
  },
};

const someFields = fc
  .subarray(Object.entries(whole))
  .map((entries) => Object.fromEntries(entries))
  .chain((request) => altered(request));

const nested = fc
  .tuple(fc.constantFrom('[', '{"a":', '[{"html":', '{"block":'), fc.integer({ min: 1, max: 20_000 }), fc.boolean())
  .map(([open, depth, isClosed]) => {
    const close = open === '[' ? ']' : open.startsWith('[') ? '}]' : '}';
    return open.repeat(depth) + (isClosed ? `1${close.repeat(depth)}` : '');
  });

const body: Target = target(
  'body',
  fc.oneof(
    { weight: 60, arbitrary: someFields.map((request) => JSON.stringify(request) ?? '') },
    { weight: 40, arbitrary: changed(someFields.map((request) => JSON.stringify(request) ?? '')) },
    { weight: 10, arbitrary: fc.json() },
    { weight: 10, arbitrary: text },
    { weight: 10, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: nested },
  ),
  (input, send) => capture(send, input),
);

const manyFields = target(
  'fields',
  fc.tuple(
    fc.oneof(
      { weight: 30, arbitrary: fc.dictionary(text, json, { maxKeys: 8 }) },
      { weight: 1, arbitrary: fc.dictionary(text, fc.constant(1), { maxKeys: 150, size: 'max' }) },
    ),
    fc.constantFrom('', 'viewport', 'block', 'pdf', 'webhook'),
  ),
  ([fields, under], send) => capture(send, JSON.stringify(under === '' ? fields : { html: '<p>', [under]: fields })),
);

const html = target(
  'html',
  fc.oneof(
    { weight: 50, arbitrary: text },
    { weight: 50, arbitrary: changed(text.map((value) => Buffer.from(value).toString('base64'))) },
    {
      weight: 50,
      arbitrary: changed(fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes).toString('base64url'))),
    },
    { weight: 1, arbitrary: repeated(150_000) },
  ),
  (input, send) => capture(send, JSON.stringify({ html: input })),
);

const address = target('url', url, (input, send) => capture(send, JSON.stringify({ url: input })));

const webhook = target('webhook', url, async (input, send) => {
  const { status } = await capture(send, JSON.stringify({ html: '<p>', background: true, webhook: { url: input } }));
  if (status === 400) return;
  const { protocol, username, password } = new URL(input);
  if (!['http:', 'https:'].includes(protocol) || username !== '' || password !== '')
    throw new Error(`${input} was accepted`);
});

const idempotency = target('idempotency', headerText, (input, send) =>
  capture(send, '{"html":"<p>"}', { 'idempotency-key': input }),
);

const authorization = target(
  'authorization',
  fc.oneof(
    headerText,
    headerText.map((value) => `Bearer ${value}`),
    changed(fc.constant(key)).map((value) => value.replaceAll(/[^\x20-\x7e]/g, '')),
  ),
  async (input, send) => {
    await capture(send, '{"html":"<p>"}', { authorization: input });
    checkAnswer(await send({ method: 'GET', url: '/usage', headers: { authorization: input } }));
  },
);

const segment = text.map((value) => encodeURIComponent(value.toWellFormed()).slice(0, 2000));
const uuid = fc.uuid({ version: 7 });

const paths = target(
  'paths',
  fc.tuple(
    fc.constantFrom('GET', 'GET', 'DELETE', 'POST', 'PATCH', 'HEAD', 'PUT'),
    fc.constantFrom(
      'captures/',
      'captures/%/refresh',
      'files/',
      'keys/',
      'keys/%/rotate',
      'webhooks/',
      'admin/keys/',
      'admin/accounts/',
      '',
    ),
    fc.oneof(segment, uuid),
    fc.option(
      fc.oneof(
        json.map((value) => JSON.stringify(value) ?? ''),
        text,
      ),
      { nil: undefined },
    ),
  ),
  async ([method, path, id, sent], send) => {
    const target = `/${path.includes('%') ? path.replace('%', id) : path + id}`;
    const answer = await send({
      method,
      url: target,
      headers: { authorization: key, ...(sent === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(sent === undefined ? {} : { body: sent }),
    });
    if (method !== 'HEAD') checkAnswer(answer);
    else if (answer.status >= 500) throw new Error(`status ${answer.status}`);
  },
);

const queries = target(
  'queries',
  fc.tuple(
    fc.constantFrom('/captures', '/keys', '/admin/accounts', '/usage'),
    fc.array(
      fc.tuple(
        fc.constantFrom('limit', 'cursor', 'status', 'cascade', 'page'),
        fc.oneof(segment, uuid, fc.integer().map(String)),
      ),
      { maxLength: 4 },
    ),
  ),
  async ([path, query], send) => {
    const search = query.map(([name, value]) => `${name}=${value}`).join('&');
    checkAnswer(await send({ method: 'GET', url: `${path}?${search}`, headers: { authorization: key } }));
  },
);

const keyBody = target(
  'keys',
  fc.tuple(
    fc.constantFrom('/keys', '/keys/x/rotate', '/webhooks/secret/rotate', '/admin/keys', '/admin/accounts'),
    fc
      .subarray(
        Object.entries({
          name: 'x',
          scopes: ['read'],
          expiresAt: '2090-01-01T00:00:00Z',
          graceSeconds: 60,
          accountId: 'a',
          tokenQuota: 5,
        }),
      )
      .map((entries) => Object.fromEntries(entries))
      .chain((request) => altered(request)),
  ),
  async ([path, sent], send) => {
    const headers = { authorization: key, 'content-type': 'application/json' };
    checkAnswer(await send({ method: 'POST', url: path, headers, body: JSON.stringify(sent) ?? '' }));
  },
);

export const httpTargets: readonly Target[] = [
  body,
  manyFields,
  html,
  address,
  webhook,
  idempotency,
  authorization,
  paths,
  queries,
  keyBody,
];
