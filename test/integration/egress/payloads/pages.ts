import { notations, trickyUrls } from './addresses.ts';
import { pathOf, type Served } from './payload-site.ts';
import { needsOwnDocument, ways } from './ways.ts';

/** A page with many payloads. */
export interface PayloadPage {
  readonly body: string;
  readonly payloads: number;
}

/** Number of payloads per frame. A frame costs the browser far more than a payload. */
const waysInOne = 10;

/** Returns documents that together try all methods of sending a request. The path of a request contains the name of the method. */
function documentsOf(origin: string): readonly Served[] {
  const alone: Served[] = [];
  const together: string[] = [];
  for (const [name, way] of Object.entries(ways)) {
    const document = way(`${origin}/${name}/x`);
    if (typeof document !== 'string') alone.push(document);
    else if (needsOwnDocument(name)) alone.push({ body: document });
    else together.push(document);
  }
  const groups = together.flatMap((_, index) =>
    index % waysInOne === 0 ? [together.slice(index, index + waysInOne)] : [],
  );
  return [...alone, ...groups.map((group) => ({ body: `<body>${group.join('\n')}` }))];
}

/** Returns a page that tries every method of sending a request to a host. */
export function everyWay(origin: string): PayloadPage {
  const frames = documentsOf(origin).map((document) => `<iframe src="${pathOf(document)}"></iframe>`);
  return { body: `<!doctype html><title>ways</title>${frames.join('')}`, payloads: Object.keys(ways).length };
}

/** Returns a page that uses each notation of each host over http, https and WebSocket. The browser rejects invalid addresses itself. */
export function everyNotation(port: number): PayloadPage {
  const urls = [
    ...notations.flatMap((host) => ['http', 'https'].map((scheme) => `${scheme}://${host}:${port}/n/x`)),
    ...trickyUrls(port),
  ];
  const sockets = notations.map((host) => `ws://${host}:${port}/n/x`);
  const body = `<!doctype html><title>notations</title><script>
    const quietly = (start) => { try { Promise.resolve(start()).catch(() => 0) } catch {} };
    for (const url of ${JSON.stringify(urls).replaceAll('<', '\\u003c')}) {
      quietly(() => fetch(url, { mode: 'no-cors' }));
      new Image().src = url;
    }
    for (const url of ${JSON.stringify(sockets)}) quietly(() => new WebSocket(url));
    </script><body>x`;
  return { body, payloads: 2 * urls.length + sockets.length };
}

/** Returns the same page as supplied HTML. Omits the methods that need a site. */
export function everyWayInHtml(origin: string): PayloadPage {
  const documents = Object.entries(ways).flatMap(([name, way]) => {
    const document = way(`${origin}/${name}/x`);
    return typeof document === 'string' && !document.includes('/serve?') ? [{ name, document }] : [];
  });
  const framed = documents.filter(({ name }) => needsOwnDocument(name));
  const frames = framed.map(
    ({ document }) => `<iframe srcdoc="${document.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></iframe>`,
  );
  const others = documents.filter(({ name }) => !needsOwnDocument(name));
  const body = `<!doctype html><title>html</title>${frames.join('')}${others.map(({ document }) => document).join('\n')}`;
  return { body, payloads: documents.length };
}
