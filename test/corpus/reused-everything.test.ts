// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestEngine, TestSite, html } from '../harness/engine.ts';
import {
  exclusions,
  isConstructor,
  isPlatformObject,
  membersOf,
  plantEverything,
  settled,
  surveyPage,
  type Planted,
  type Survey,
} from '../harness/page-survey.ts';
import { queryOf, StateReports } from '../harness/state-pages.ts';
import { until } from '../harness/until.ts';

const secret = 'planted9c1e';

/** Values that differ between two pages although no state was left. Each has its reason. */
const differences: Readonly<Record<string, RegExp>> = {
  'times of the page': /^window\.(performance|document\.(timeline|lastModified))\b/,
  'network measurements of the browser': /^window\.navigator\.connection\b/,
  'the empty document of a used page is an additional entry, whose address is always the same':
    /^window\.navigation\.(canGoBack|entries\(\)(\.|$)|currentEntry\.(index|key|id)$|activation\.from)/,
};

/** Members that the planting pages must have set or called, besides those that they find in the browser. */
const known = [
  'Document.cookie',
  'Storage.setItem',
  'Window.name',
  'Window.resizeTo',
  'Document.title',
  'Document.designMode',
  'History.pushState',
  'History.scrollRestoration',
  'IDBFactory.open',
  'CacheStorage.open',
  'Cache.put',
  'CookieStore.set',
  'StorageManager.getDirectory',
  'FileSystemDirectoryHandle.getFileHandle',
  'FileSystemFileHandle.createWritable',
  'StorageManager.persist',
  'StorageBucketManager.open',
  'StorageBucket.setExpires',
  'BroadcastChannel.constructor',
  'LockManager.request',
  'MediaSession.playbackState',
  'ScreenOrientation.lock',
  'Navigator.registerProtocolHandler',
  'WakeLock.request',
  'CredentialsContainer.get',
  'Element.requestFullscreen',
  'Keyboard.lock',
  'Navigation.updateCurrentEntry',
];

let engine: TestEngine;
let site: TestSite;
let captures = 0;
const reports = new StateReports();

/** A document that runs a function of the survey and reports its result before its load event: an image waits for the report. */
const pageOf = (call: string) =>
  html(`<script>
    ${[membersOf, settled, isPlatformObject, isConstructor, surveyPage, plantEverything].map(String).join('\n')}
    const by = new URLSearchParams(location.search).get('by');
    const [send, write] = [fetch, JSON.stringify];
    const holdsLoadEvent = new Image();
    holdsLoadEvent.src = '/reported?by=' + by;
    (${call}).catch((error) => ({ error: String(error?.stack ?? error) }))
      .then((facts) => send('/report?by=' + by, { method: 'POST', body: write(facts) }));
  </script>`);

beforeAll(async () => {
  site = await TestSite.start({
    ...reports.routes,
    '/look': pageOf('surveyPage().then(({ survey }) => survey)'),
    '/plant': (request, response) => {
      const args = [secret, Object.keys(exclusions), queryOf(request, 'part').split(',').map(Number)];
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(pageOf(`plantEverything(...${JSON.stringify(args)})`));
    },
  });
  engine = await TestEngine.start({ slots: 1 });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

async function capture<T>(path: string, reuseFor?: string) {
  const [before, by] = [engine.pages.length, `capture-${(captures += 1)}`];
  await engine.render(
    `${site.url(path)}${path.includes('?') ? '&' : '?'}by=${by}`,
    { timeout: 120_000 },
    reuseFor === undefined ? { deadlineMs: 180_000 } : { reuseFor, deadlineMs: 180_000 },
  );
  const outcomes = () => engine.pages.slice(before);
  if (reuseFor !== undefined) await until('its page to be settled', () => outcomes().some((one) => one !== 'reused'));
  return { facts: reports.get(by) as T, isReused: outcomes().includes('reused'), outcome: outcomes().at(-1) };
}

/** Returns the differences between two pages. Omits addresses, which contain the name of the capture, and known differences. */
function compare(one: Survey, other: Survey): Survey {
  const isOrdinary = (key: string) => Object.values(differences).some((difference) => difference.test(key));
  const withoutName = (value?: string) => value?.replaceAll(/by=capture-\d+/g, 'by=capture');
  const keys = Object.keys({ ...one, ...other }).filter((key) => !isOrdinary(key));
  const changed = keys.filter((key) => withoutName(one[key]) !== withoutName(other[key]));
  return Object.fromEntries(changed.map((key) => [key, `${one[key]} → ${other[key]}`]));
}

test('a reused page reads nothing that the previous capture has set or called', async () => {
  const { facts: fresh } = await capture<Survey>('/look');
  expect(Object.keys(fresh).length).toBeGreaterThan(1000);
  expect(compare(fresh, (await capture<Survey>('/look')).facts)).toEqual({});

  const [done, interfaces, changed] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let refused = 0;
  /** Plants the members of a part. If a page may not be reused, its members are planted again in halves. */
  const tryPart = async (part: number, parts: number): Promise<void> => {
    const account = `${part} of ${parts}`;
    const planted = await capture<Planted>(`/plant?part=${part},${parts}`, account);
    expect(planted.facts, account).not.toHaveProperty('error');
    for (const member of planted.facts.done) done.add(member);
    for (const name of planted.facts.interfaces) interfaces.add(name);
    for (const key of Object.keys(compare(fresh, planted.facts.survey))) changed.add(key);
    const looked = await capture<Survey>('/look', account);
    expect(looked.isReused, account).toBe(planted.outcome === 'wiped');
    expect(compare(fresh, looked.facts), account).toEqual({});
    if (planted.outcome === 'wiped') return;
    if (parts >= 64) refused += 1;
    else for (const half of [part, part + parts]) await tryPart(half, 2 * parts);
  };
  for (let part = 0; part < 4; part += 1) await tryPart(part, 4);

  expect(refused).toBeLessThanOrEqual(3);
  expect([...done]).toEqual(expect.arrayContaining(known));
  expect(interfaces.size).toBeGreaterThan(200);
  // The planting pages themselves must find the values that they have left.
  for (const key of ['name', 'document.cookie', 'history.length', 'localStorage.length', 'sessionStorage.length'])
    expect(changed).toContain(`window.${key}`);
  expect(changed.size).toBeGreaterThan(200);
});
