import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { banner } from '../../../deploy/local/banner.ts';

const options = {
  host: '127.0.0.1',
  port: 3000,
  apiKey: 'k',
  signInCode: 'the-code',
  dataDir: '/d',
  files: undefined,
  regions: ['us-east'],
  natsUrl: 'nats://127.0.0.1:4222',
  opsPorts: new Map([
    ['front', 12_001],
    ['controller', 12_002],
    ['us-east', 12_003],
  ]),
};

test('the curl lines work as pasted, with any key', async () => {
  const apiKey = `it's a "key" $HOME \`x\` \\`;
  const requests: { authorization: string | undefined; body: unknown }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      requests.push({ authorization: request.headers.authorization, body: JSON.parse(body) });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const lines = banner({ ...options, port, apiKey })
    .split('\n')
    .filter((line) => line.includes('curl'));
  for (const line of lines) await promisify(execFile)('sh', ['-c', line.replace(/-o \S+$/, '-o /dev/null')]);
  expect(requests).toEqual([
    { authorization: `Bearer ${apiKey}`, body: { url: 'https://example.com', responseType: 'file' } },
    { authorization: `Bearer ${apiKey}`, body: { html: '<h1>Hello</h1>', responseType: 'file' } },
  ]);
});

test('the address of a bucket is shown', () => {
  expect(banner({ ...options, files: 'gs://b/captures/' })).toContain('files     gs://b/captures/');
  expect(banner(options)).not.toContain('files  ');
});

test.each([
  ['0.0.0.0', 'http://127.0.0.1:3000'],
  ['::', 'http://[::1]:3000'],
  ['::1', 'http://[::1]:3000'],
  ['box.local', 'http://box.local:3000'],
])('the address of a service on %s is %s', (host, address) => {
  expect(banner({ ...options, host })).toContain(`curl -sS --fail-with-body ${address}/capture`);
});

test('the dashboard is first, with a link that signs in if there is a code', () => {
  const text = banner(options);
  expect(text).toMatch(/http:\/\/127\.0\.0\.1:3000\/dashboard\/#code=the-code\n[^]*curl/);
  const withoutCode = banner({ ...options, signInCode: undefined });
  expect(withoutCode).toMatch(/\/dashboard\/\n\n {2}Sign in with the API key\./);
});

test('the addresses of all services are aligned', () => {
  expect(banner(options)).toContain(`
    controller   http://127.0.0.1:12002
    front        http://127.0.0.1:12001
    us-east      http://127.0.0.1:12003
`);
});

test.each([
  ['nats://127.0.0.1:4222', 'nats://127.0.0.1:4222'],
  ['nats://user:secret@nats.example:4222', 'nats://nats.example:4222'],
  ['tls://token@a.example,tls://user:secret@b.example', 'tls://a.example,tls://b.example'],
  ['user:secret@a.example:4222', 'a.example:4222'],
])('the address of NATS %s is shown as %s', (natsUrl, shown) => {
  expect(banner({ ...options, natsUrl })).toContain(`NATS      ${shown}\n`);
});
