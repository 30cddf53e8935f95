import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Rendering } from '../../../services/renderer/page/engine.ts';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';
import { Picture } from '../../harness/picture.ts';
import { browsersOf } from '../../harness/processes.ts';
import { until } from '../../harness/until.ts';

const lost = { name: 'BrowserLostError' };
const held: (() => void)[] = [];
let site: TestSite;

const browsers = () => browsersOf(process.pid);

let engine: TestEngine;
let others: number[];

const ours = async () => (await browsers()).filter((pid) => !others.includes(pid));

beforeAll(async () => {
  site = await TestSite.start({
    '/held': html('<body style="background:#0a0"><img src="/image">'),
    '/image': (_, response) => void held.push(() => response.writeHead(404).end()),
  });
  others = await browsers();
  engine = await TestEngine.start({ slots: 2, antiBotIdleTimeoutMs: 1000 });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

beforeEach(async () => {
  // A spare browser for antiBot of an earlier test ends soon.
  await until('a browser for each slot, and one more', async () => (await ours()).length === 3);
});

const isGreen = async ({ bytes }: Rendering) => (await Picture.of(bytes)).at(300, 300) === '#00aa00';

test('concurrent captures share no browser: when one is lost, the others succeed', { tags: 'long' }, async () => {
  const captures = Array.from({ length: 3 }, () => engine.render(site.url('/held')));
  const ending = Promise.allSettled(captures);
  await until('all to be under way', () => held.length === 3);
  const [victim = 0] = await ours();
  process.kill(victim, 'SIGKILL');
  await Promise.any(captures.map((capture) => expect(capture).rejects.toMatchObject({ cause: lost })));
  for (const answer of held.splice(0)) answer();
  const ended = await ending;
  expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  for (const end of ended) if (end.status === 'fulfilled') expect(await isGreen(end.value)).toBe(true);
  await until('another one in its place', async () => (await ours()).length === 3);
});

test.each([false, true])('a capture with its own browser ends that browser (antiBot: %s)', async (antiBot) => {
  const warm = await ours();
  const capturing = engine.render(site.url('/held'), { antiBot }, { ownBrowser: true });
  await until('it to be under way', () => held.length === 1);
  const used = await ours();
  expect(used).toHaveLength(antiBot ? 4 : 3);
  for (const answer of held.splice(0)) answer();
  expect(await isGreen(await capturing)).toBe(true);
  const left = await until('it to be gone', async () => {
    const now = await browsers();
    const stay = used.filter((pid) => now.includes(pid));
    return stay.length === used.length - 1 ? stay : undefined;
  });
  // The browser that ended was a separate one: all browsers for captures without antiBot still run.
  if (antiBot) expect(left).toEqual(warm);
});
