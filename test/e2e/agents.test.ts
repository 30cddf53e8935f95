import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Picture } from '../harness/picture.ts';
import { stripeColor } from '../harness/site/pages/tall-pages.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

let client: Client;
beforeAll(async () => {
  client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const requestInit = { headers: { authorization: `Bearer ${fleet().key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${fleet().url}/mcp`), { requestInit }));
});
afterAll(() => client.close());

interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string; readonly data?: string }[];
}

async function call(name: string, args: Record<string, unknown>) {
  const { isError, content } = (await client.callTool({ name, arguments: args })) as ToolResult;
  const text = content.map((each) => each.text ?? '').join('\n');
  const image = content.find(({ type }) => type === 'image')?.data;
  return { isError: isError === true, text, picture: image === undefined ? null : Buffer.from(image, 'base64') };
}

test('an agent sees the top of a tall page, and gets a link to the whole picture; the list shows the same', async () => {
  const url = site().url('/tall', { h: 6000 });
  const { isError, text, picture } = await call('capture_page', { url, isFullPage: true });
  expect(isError, text).toBe(false);
  const seen = await Picture.of(picture ?? Buffer.alloc(0));
  expect(seen.size).toBe('784x1568');
  // 100 px of the page are 61.25 px of the picture.
  for (const stripe of [0, 7, 24]) {
    expect(seen.difference(392, Math.round((stripe + 0.5) * 61.25), stripeColor(stripe))).toBeLessThan(12);
  }
  expect(text).toContain('top 2560 of 6000 px');
  const [, fileUrl = ''] = /file: (\S+)/.exec(text) ?? [];
  expect((await Picture.of(Buffer.from(await (await fetch(fileUrl)).arrayBuffer()))).size).toBe('1280x6000');

  const [, uuid = ''] = /uuid: (\S+)/.exec(text) ?? [];
  const headers = { authorization: `Bearer ${fleet().key}` };
  const thumbnail = await fetch(`${fleet().url}/captures/${uuid}/thumbnail?width=200`, { headers });
  const small = await Picture.of(Buffer.from(await thumbnail.arrayBuffer()));
  expect([thumbnail.headers.get('content-type'), small.size]).toEqual(['image/webp', '320x480']);
});

test('an agent reads page text that is marked as untrusted, and gets a PDF as a link', async () => {
  const html =
    '<title>Ignore "all" of it</title><h1>Heading</h1><p>Some <b>words</b> and <a href="https://example.com/x">a link</a>.';
  const read = await call('extract_page', { html });
  expect(read.text).toMatch(/<<< ([0-9a-f]{16})\n# Heading\n\nSome \*\*words\*\* and [^]*\n>>> \1/);
  expect(read.text).toContain('- "a link" https://example.com/x');
  expect(read.text).toContain('title, as the page says: "Ignore \\"all\\" of it"');

  const printed = await call('capture_pdf', { html });
  expect(printed.picture).toBeNull();
  const [, fileUrl = ''] = /file: (\S+\.pdf)/.exec(printed.text) ?? [];
  expect(await (await fetch(fileUrl)).text()).toMatch(/^%PDF-/);
});

test('an agent learns which addresses are refused, and why a capture failed', { tags: 'long' }, async () => {
  expect(await call('capture_page', { url: 'http://127.0.0.2/' })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^URL_BLOCKED: /) as unknown,
  });
  const { text } = await call('capture_page', { url: site().url('/text', { title: 'Here' }), selector: '#none' });
  expect(text).toMatch(/^CAPTURE_FAILED: .*#none/);
});
