import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';
import { Picture } from '../../harness/picture.ts';
import { descendantsOf } from '../../harness/processes.ts';
import { until } from '../../harness/until.ts';

const held: (() => void)[] = [];
let site: TestSite;

beforeAll(async () => {
  site = await TestSite.start({
    '/held': html('<body style="background:#0a0"><img src="/image">'),
    '/image': (_, response) => void held.push(() => response.writeHead(404).end()),
  });
});

afterAll(() => site.close());

/** Browsers, not the processes that each has for its parts. */
async function browsers(): Promise<number[]> {
  const all = await descendantsOf(process.pid);
  return all
    .filter(({ command }) => /^\S*(chrom|headless)/.test(command) && !command.includes('--type='))
    .map(({ pid }) => pid);
}

test.each([false, true])(
  'a capture that is to have a browser of its own has one, and outlives the shared one (antiBot: %s)',
  async (antiBot) => {
    const others = await browsers();
    const engine = await TestEngine.start({ slots: 2 });
    onTestFinished(() => engine.close());
    const shared = (await browsers()).filter((pid) => !others.includes(pid));
    expect(shared).toHaveLength(1);
    const capturing = engine.render(site.url('/held'), { antiBot }, { ownBrowser: true });
    const beside = engine.render(site.url('/held'));
    await until('both to be under way', () => held.length === 2);
    const own = (await browsers()).filter((pid) => ![...others, ...shared].includes(pid));
    expect(own).toHaveLength(1);
    for (const pid of shared) process.kill(pid, 'SIGKILL');
    await expect(beside).rejects.toMatchObject({ cause: { name: 'BrowserLostError' } });
    for (const answer of held.splice(0)) answer();
    expect((await Picture.of((await capturing).bytes)).at(300, 300)).toBe('#00aa00');
    // It ends with its capture.
    await until('it to be gone', async () => !(await browsers()).includes(own[0] ?? 0));
    await until('the shared one to be there again', () => engine.engine.browserState() === 'up');
  },
);
