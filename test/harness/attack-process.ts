/**
 * Clients without a valid API key. They send requests that are cheap to send and expensive to process, each as fast as the responses
 * arrive: `attack-process.ts <url> <connections>`. The process prints the number of responses by status each second, and ends with its
 * parent.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import process from 'node:process';

const [address = '', connections = '20'] = process.argv.slice(2);
const url = new URL(address);

/** The maximum size of a body. */
const size = 8 * 1024 * 1024;

const around = (filler: string) => `{"html":"${filler}"}`;
const large: readonly string[] = [
  `{"html":${'['.repeat(size / 2 - 100)}${']'.repeat(size / 2 - 100)}}`,
  `{"html":[${'1,'.repeat(size / 2 - 100)}1]}`,
  `{"html":[${'{},'.repeat(size / 3 - 100)}1]}`,
  around('a'.repeat(size - 100)),
  around('\\"'.repeat(size / 2 - 100)),
  around('\u{1F600}'.repeat(1_048_576)),
  ' '.repeat(size - 100),
];
const small: readonly string[] = [
  `{"html":${'['.repeat(32_000)}${']'.repeat(32_000)}}`,
  `{"html":[${'1,'.repeat(31_000)}1]}`,
  `{${Array.from({ length: 90 }, (_, index) => `"unknown field ${index}":"${'x'.repeat(600)}"`).join()}}`,
  '{"url":1}',
  '{"url":"https://example.com/"}',
];

/** The bytes of each request; the client cycles through them. */
const attacks: readonly (() => Buffer)[] = [
  ...[...large, ...small].flatMap((body) => [() => request(body, wrongKey()), () => request(body, '')]),
  ...large.map((body) => () => request(body, wrongKey(), 'chunked')),
  // Chunks of one byte.
  () => request('x'.repeat(60_000), wrongKey(), 'dust'),
  // Pipelined requests, without waiting for responses.
  () => Buffer.concat(Array.from({ length: 16 }, () => request('{"url":"https://example.com/"}', wrongKey()))),
];

const wrongKey = () => `authorization: Bearer ${randomBytes(16).toString('hex')}\r\n`;

const bodies = new Map<string, Buffer>();

function request(body: string, authorization: string, coding?: 'chunked' | 'dust'): Buffer {
  const bytes = bodies.get(`${coding} ${body.length} ${body.slice(0, 20)}`) ?? encode(body, coding);
  bodies.set(`${coding} ${body.length} ${body.slice(0, 20)}`, bytes);
  const framing = coding === undefined ? `content-length: ${bytes.length}` : 'transfer-encoding: chunked';
  const head = `POST /capture HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\n${authorization}${framing}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

function encode(body: string, coding: 'chunked' | 'dust' | undefined): Buffer {
  const bytes = Buffer.from(body);
  if (coding === undefined) return bytes;
  if (coding === 'dust') return Buffer.from(`${'1\r\nx\r\n'.repeat(bytes.length)}0\r\n\r\n`);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]);
}

const answers = new Map<string, number>();
const count = (answer: string) => answers.set(answer, (answers.get(answer) ?? 0) + 1);

/** Only small requests are pipelined. */
const attacksAtOnce = (bytes: Buffer) =>
  bytes.length > 10_000 ? 1 : bytes.toString('latin1').split('POST /capture').length - 1;

/** Maximum wait of a client for a response. */
const patienceMs = 5000;

/** Sends one attack after another over one connection, and reconnects when the connection closes. */
function attack(turn: number): void {
  const socket = connect({ port: Number(url.port), host: url.hostname });
  let unanswered = 0;
  const send = () => {
    const requests = attacks[turn++ % attacks.length]?.() ?? Buffer.alloc(0);
    unanswered = attacksAtOnce(requests);
    socket.write(requests);
  };
  socket.setTimeout(patienceMs, () => socket.destroy());
  socket.on('connect', send);
  socket.on('data', (answer) => {
    const statuses = answer.toString('latin1').match(/(?<=HTTP\/1\.1 )\d+/g) ?? [];
    for (const status of statuses) count(status);
    unanswered -= statuses.length;
    if (answer.includes('connection: close')) socket.destroy();
    else if (unanswered === 0) send();
  });
  socket.on('error', () => count('broken'));
  socket.on('close', () => setTimeout(() => attack(turn), 1));
}

for (let index = 0; index < Number(connections); index++) attack(index);
setInterval(() => process.stdout.write(`${JSON.stringify(Object.fromEntries(answers))}\n`), 1000);
