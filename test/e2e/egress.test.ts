import { describe, expect, test } from 'vitest';
import { outcomeOf } from '../harness/api.ts';
import { readPdf } from '../harness/pdf.ts';
import { useFleet, useSite } from '../harness/use.ts';

// On loopback only 127.0.0.1 is open: 127.0.0.2 represents an internal machine that responds to every request.
const fleet = useFleet();
const site = useSite();
const inside = useSite('127.0.0.2');

describe('addresses that the front refuses immediately', () => {
  test.for([
    'http://127.0.0.2/',
    'http://127.0.0.2./',
    'http://127.2/',
    'http://2130706434/',
    'http://0x7f000002/',
    'http://0177.0.0.2/',
    'http://127。0。0。2/',
    'http://１２７.0.0.2/',
    'http://127.0.0.4:8080/',
    'http://0.0.0.0/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::]/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://[::ffff:7f00:2]/',
    'http://[64:ff9b::a00:1]/',
    'http://[2002:a00:1::]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    'http://[ff02::1]/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://127.0.0.1:22/',
    'http://127.0.0.1:4222/',
    'https://127.0.0.1:6379/',
  ])('%s', async (url) => {
    const refusal = await fleet().api.refused({ url });
    expect(refusal).toMatchObject({ status: 400, code: 'URL_BLOCKED' });
    expect(refusal.message).toMatch(/egress policy/);
  });

  test('before it checks the key', async () => {
    const refusal = await fleet().api.refused({ url: 'http://10.0.0.1/' }, { key: null });
    expect(refusal.status).toBe(400);
  });
});

describe.concurrent('redirects to refused addresses', () => {
  test('after several to allowed ones', { tags: 'long' }, async () => {
    const target = inside().visit('/color');
    const refusal = await fleet().api.refused({ url: site().url('/redirect', { hops: 3, to: target.url }) });
    expect(refusal).toMatchObject({ status: 400, code: 'URL_BLOCKED' });
    expect(target.requests).toEqual([]);
  });

  test('into a range that the operator blocked, but not next to it', async () => {
    const outcome = async (to: string) => (await fleet().api.refused({ url: site().url('/redirect', { to }) })).code;
    expect(await outcome('http://127.0.0.4:8080/')).toBe('URL_BLOCKED');
    expect(await outcome('http://127.0.0.5:8080/')).toBe('NAVIGATION_FAILED');
  });

  test.for(['meta', 'script'])('from the page, by %s', async (by) => {
    const target = inside().visit('/text', { text: 'the inside' });
    const answer = await fleet().api.capture({
      url: site().url('/lead-on', { by, to: target.url }),
      format: 'pdf',
      delay: 500,
      responseType: 'file',
    });
    expect(target.requests).toEqual([]);
    // The result depends on the time of the redirect. If the redirect comes before the page has loaded, the capture follows it.
    if (answer.status === 200) expect((await readPdf(answer.bytes)).text).not.toContain('the inside');
    else expect(outcomeOf(answer)).toBe('URL_BLOCKED');
  });

  test.for(['meta', 'script'])('to a file, from the page, by %s', { tags: 'long' }, async (by) => {
    const url = site().url('/lead-on', { by, to: 'file:///etc/passwd' });
    const answer = await fleet().api.capture({ url, format: 'pdf', delay: 500, responseType: 'file' });
    const text = answer.status === 200 ? (await readPdf(answer.bytes)).text : '';
    expect(text).not.toMatch(/root:|daemon/);
  });
});

describe.concurrent('requests of a page', () => {
  test('do not reach refused addresses in any way, and the page is captured without them', async () => {
    const target = inside().visit('/echo');
    const page = site().url('/reach', { target: `${target.url}&by=` });
    const { data, picture } = await fleet().api.picture({ url: page, delay: 500 });
    expect(picture.at(1000, 600)).toBe('#00ff00');
    expect(target.requests).toEqual([]);
    expect(inside().requests.filter(({ query }) => query.has('by'))).toEqual([]);
    expect(data.report.blockedRequests).toBeGreaterThanOrEqual(5);
  });

  test('reach allowed addresses in every way', async () => {
    const target = site().visit('/echo');
    await fleet().api.picture({ url: site().url('/reach', { target: `${target.url}&by=` }), delay: 500 });
    const ways = new Set(target.requests.map(({ query }) => query.get('by')));
    expect([...ways]).toEqual(expect.arrayContaining(['img', 'frame', 'style', 'fetch']));
  });

  test('supplied html reaches no refused address', { tags: 'long' }, async () => {
    const target = inside().visit('/echo');
    const html = `<body style="background:#00ff00"><img src="${target.url}"><iframe src="${target.url}"></iframe><script>fetch(${JSON.stringify(target.url)}, {mode: 'no-cors'}).catch(() => 0)</script>`;
    const data = await fleet().api.captured({ html, delay: 300 });
    expect(target.requests).toEqual([]);
    expect(data.report.blockedRequests).toBeGreaterThanOrEqual(1);
  });

  test('antiBot applies the same egress policy', { tags: 'long' }, async () => {
    const target = inside().visit('/echo');
    const page = site().url('/reach', { target: `${target.url}&by=` });
    const { picture } = await fleet().api.picture({ url: page, antiBot: true, delay: 500 });
    expect(picture.at(1000, 600)).toBe('#00ff00');
    expect(target.requests).toEqual([]);
    const refusal = await fleet().api.refused({ url: site().url('/redirect', { to: target.url }), antiBot: true });
    expect(refusal.code).toBe('URL_BLOCKED');
  });
});

describe('names', () => {
  test('localhost is allowed if its addresses are allowed', async () => {
    const { picture } = await fleet().api.picture({ url: `http://localhost:${site().port}/color` });
    expect(picture.share('#00ff00')).toBe(1);
  });
});
