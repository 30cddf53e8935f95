import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import type { IncomingHttpHeaders } from 'node:http';
import { html, TestSite, type Handler } from '../../harness/engine.ts';
import { inspectPage, type Inspection } from './inspect-page.ts';
import { portraySelf, type SelfPortrait } from './portray-self.ts';

/** Facts that a site reads about a browser. */
export interface Findings {
  readonly headers: IncomingHttpHeaders;
  /** The result of BotD. */
  readonly verdict: { readonly bot: boolean; readonly botKind?: string };
  /** Checks of BotD that detect a bot. */
  readonly alarms: readonly string[];
  readonly page: SelfPortrait;
  readonly worker: SelfPortrait;
  readonly sharedWorker: SelfPortrait;
  readonly inspection: Inspection;
}

const require = createRequire(import.meta.url);

/** The page finishes loading when it has reported its findings. */
const probe = html(`<img src="/told.png"><script type="module">
  import { load } from '/botd.js';
  const answer = (port) => new Promise((resolve) => { port.onmessage = ({ data }) => resolve(data); });
  const detector = await load();
  const verdict = detector.detect();
  const alarms = Object.entries(detector.getDetections()).filter(([, { bot }]) => bot).map(([name]) => name);
  const page = await (${portraySelf.toString()})();
  const worker = await answer(new Worker('/worker.js'));
  const sharedWorker = await answer(new SharedWorker('/shared-worker.js').port);
  const inspection = await (${inspectPage.toString()})();
  await fetch('/tell', { method: 'POST', body: JSON.stringify({ verdict, alarms, page, worker, sharedWorker, inspection }) });
</script>`);

/** A site whose page `/` inspects a browser with BotD and other checks. */
export async function startProbeSite(): Promise<{ site: TestSite; findings: () => Findings }> {
  const botd = await readFile(require.resolve('@fingerprintjs/botd/dist/botd.esm.js'), 'utf8');
  let headers: IncomingHttpHeaders = {};
  let told: Findings | undefined;
  let release = () => {};
  const script =
    (source: string): Handler =>
    (_request, response) =>
      void response.writeHead(200, { 'content-type': 'text/javascript' }).end(source);
  const site = await TestSite.start({
    '/': (request, response) => {
      headers = request.headers;
      response.writeHead(200, { 'content-type': 'text/html' }).end(probe);
    },
    '/botd.js': script(botd),
    '/worker.js': script(`(${portraySelf.toString()})().then((portrait) => postMessage(portrait))`),
    '/shared-worker.js': script(
      `onconnect = ({ ports: [port] }) => (${portraySelf.toString()})().then((portrait) => port.postMessage(portrait))`,
    ),
    '/told.png': (_request, response) => {
      release = () => response.end();
    },
    '/tell': (request, response) => {
      void text(request).then((body) => {
        told = { ...(JSON.parse(body) as Omit<Findings, 'headers'>), headers };
        response.end();
        release();
      });
    },
  });
  return {
    site,
    findings: () => {
      if (told === undefined) throw new Error('the page has not reported anything');
      return told;
    },
  };
}
