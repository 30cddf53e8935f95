import { afterAll, beforeAll, expect, test } from 'vitest';
import { diagnosticsOf } from '../../../services/renderer/diagnostics/trace.ts';
import { html, sharedEngine, TestSite } from '../../harness/engine.ts';
import { Picture } from '../../harness/picture.ts';

const engine = await sharedEngine();
const password = 'hunter2-of-the-page';

const authorizations: string[] = [];
let site: TestSite;
beforeAll(async () => {
  const noted =
    (body: string): Parameters<typeof TestSite.start>[0][string] =>
    (request, response) => {
      authorizations.push(`${request.headers.host?.split(':')[0]} ${request.headers.authorization ?? 'none'}`);
      response.writeHead(200, { 'content-type': 'text/html' }).end(body);
    };
  site = await TestSite.start({
    '/': noted(html('<style>html { background: #ff0000 }</style>')),
    '/next': noted(html('<style>html { background: #00aa00 }</style><img src="/late.png">')),
    '/late.png': (_request, response) => void setTimeout(() => response.writeHead(404).end(), 500),
    '/form': html(`<input id="user"><script>
      user.addEventListener('input', () => { console.log(user.value); document.body.style.background = '#0000ff'; history.replaceState(null, '', '?' + user.value); });
    </script>`),
    '/leaves': (request, response) => {
      const other = `http://other.test:${request.headers.host?.split(':')[1]}/next`;
      response.writeHead(302, { location: other }).end();
    },
  });
});
afterAll(() => site.close());

test('goto opens a page of the site, with the headers of its origin only, and waits for the page', async () => {
  const secrets = { headers: { Authorization: 'Bearer abc' } };
  const steps = [{ goto: site.url('/next', 'a.shop.test') }, { goto: site.url('/next', 'b.shop.test') }];
  const { bytes, report } = await engine.render(site.url('/', 'a.shop.test'), { steps }, { secrets });
  expect((await Picture.of(bytes)).share('#00aa00')).toBeGreaterThan(0.9);
  expect(report).toMatchObject({ httpStatus: 200, finalUrl: site.url('/next', 'b.shop.test'), softTimeouts: [] });
  expect(report.images).toEqual({ loaded: 0, failed: 1, pending: 0 });
  expect(authorizations).toEqual(['a.shop.test Bearer abc', 'a.shop.test Bearer abc', 'b.shop.test none']);
});

test('goto to a page with an error status shows that page', async () => {
  const { report } = await engine.render(site.url('/'), { steps: [{ goto: site.url('/missing') }] });
  expect(report).toMatchObject({ httpStatus: 404, responseUrl: site.url('/'), finalUrl: site.url('/missing') });
});

test('goto to a page that redirects to another site fails', async () => {
  const rendered = engine.render(site.url('/', 'shop.test'), { steps: [{ goto: site.url('/leaves', 'shop.test') }] });
  await expect(rendered).rejects.toMatchObject({
    code: 'CAPTURE_FAILED',
    causedBy: 'client',
    message: expect.stringMatching(/^Step 1 \(goto ".+"\) failed: it leads to another site, other\.test\./),
  });
});

test('a failed step is in the diagnostics, with a picture of the page and without the values of steps', async () => {
  const steps = [{ type: { selector: '#user' } }, { press: { key: 'Tab' } }, { select: { selector: '#user' } }];
  const secrets = { stepValues: [password, password] };
  const thrown: unknown = await engine
    .render(site.url('/form'), { steps }, { secrets })
    .catch((error: unknown) => error);
  expect(thrown).toMatchObject({
    code: 'CAPTURE_FAILED',
    message: 'Step 3 (select "#user") failed: its selector matched an element that is not a select element.',
  });
  const { diagnostics, picture } = diagnosticsOf(thrown) ?? expect.fail('there are no diagnostics');
  expect(diagnostics.steps.at(-1)).toMatchObject({ name: 'steps', failed: true });
  expect(diagnostics.console.map(({ text }) => text)).toContain('[redacted]');
  expect(diagnostics.pageUrl).toBe(site.url('/form?[redacted]'));
  expect(JSON.stringify(diagnostics)).not.toContain(password);
  const shown = await Picture.of(Buffer.from(picture ?? '', 'base64'));
  expect(shown.difference(300, 300, '#0000ff')).toBeLessThan(10);
});

test('the page of a capture with steps is not reused', async () => {
  const before = engine.pages.length;
  await engine.render(site.url('/next'), { steps: [{ wait: 0 }] }, { reuseFor: 'an-account' });
  expect(engine.pages.length).toBe(before);
});

test('steps that take more than a minute in all end the capture', { tags: 'long', timeout: 120_000 }, async () => {
  const appearing = html(`<script>
    let count = 0;
    setInterval(() => { count += 1; document.body.insertAdjacentHTML('beforeend', '<p class="p' + count + '">x') }, 8000);
  </script>`);
  const steps = Array.from({ length: 9 }, (_, index) => ({ waitFor: `.p${index + 1}` }));
  const rendered = engine.render({ kind: 'html', html: appearing }, { steps }, { deadlineMs: 100_000 });
  await expect(rendered).rejects.toMatchObject({
    message: expect.stringMatching(/^Step [89] \(waitFor "\.p[89]"\) failed: /),
  });
});
