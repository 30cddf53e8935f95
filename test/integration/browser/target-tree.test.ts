import { setTimeout as sleep } from 'node:timers/promises';
import { chromium, type Browser, type Page } from 'playwright';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { messagesOf, sharedSessionOf } from '../../../services/renderer/browser/driver.ts';
import { evaluate } from '../../../services/renderer/browser/isolated-world.ts';
import { type Target, TargetTree } from '../../../services/renderer/browser/target-tree.ts';
import { TestSite } from '../../harness/engine.ts';

/** Full Chromium has a target for each frame of another site. */
const { chromium: executablePath } = inject('tools');
const parts = new AsyncDisposableStack();
let browser: Browser;
let site: TestSite;
let page: Page;
let targets: TargetTree;
/** Addresses that the service worker has requested. */
const told: unknown[] = [];

beforeAll(async () => {
  site = await TestSite.start({
    '/': '<!doctype html>',
    '/worker.js': (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(`fetch('/told?' + navigator.language)`);
    },
    '/told': (request, response) => {
      told.push(request.url);
      response.end();
    },
    '/frame': '<!doctype html><script>document.title = navigator.language</script>',
  });
  parts.defer(() => site.close());
  const args = ['--no-sandbox', '--host-resolver-rules=MAP *.test 127.0.0.1'];
  browser = await chromium.launch({ executablePath, args });
  parts.defer(() => browser.close());
  // Also makes Playwright's session with a service worker wait for other sessions, as in a browser for captures.
  messagesOf(browser);
});

afterAll(() => parts.disposeAsync());

beforeEach(async () => {
  page = await browser.newPage();
  targets = new TargetTree(page);
  await page.goto(site.url('/'));
  return () => page.close();
});

/** Evaluates an expression in the page. Playwright's own method needs events that {@link messagesOf} omits. */
const evaluateInPage = (expression: string) => evaluate(sharedSessionOf(page).cdp, { expression });

/** Adds a frame of another site, and resolves when its document has loaded. */
async function addFrame(): Promise<void> {
  const frame = `document.createElement('iframe')`;
  const src = JSON.stringify(site.url('/frame', 'other.test'));
  await evaluateInPage(
    `new Promise((loaded) => document.body.append(Object.assign(${frame}, { src: ${src}, onload: () => loaded() })))`,
  );
}

const setLanguage = (target: Target, acceptLanguage: string) =>
  target.send('Emulation.setUserAgentOverride', { userAgent: '', acceptLanguage });

const titleOf = async (target: Target) =>
  (await target.send('Runtime.evaluate', { expression: 'document.title' })).result.value as string;

test('a frame of another site begins its steps in their order, and runs when all have ended', async () => {
  const begun: string[] = [];
  await targets.add({
    frame: async (target) => {
      begun.push('language');
      await sleep(200);
      await setLanguage(target, 'de-DE');
    },
  });
  await targets.add({
    frame: async () => {
      begun.push('failing');
      if (targets.targets.length > 1) throw new Error('fails in the frame');
    },
  });
  expect(begun.splice(0)).toEqual(['language', 'failing']);
  await addFrame();
  expect(begun).toEqual(['language', 'failing']);
  const [own, frame] = targets.targets as [Target, Target];
  expect([await titleOf(own), await titleOf(frame)]).toEqual(['', 'de-DE']);
});

test('a service worker runs when its steps have ended', async () => {
  await targets.add({
    frame: async () => undefined,
    worker: async (target) => {
      await sleep(200);
      await setLanguage(target, 'de-DE');
    },
  });
  await evaluateInPage(`navigator.serviceWorker.register('/worker.js')`);
  await expect.poll(() => told).toEqual(['/told?de-DE']);
});

test('a step also applies to the frames that exist when it is added', async () => {
  await targets.follow();
  await addFrame();
  const taken: Target[] = [];
  await targets.add({ frame: async (target) => void taken.push(target) });
  expect(taken).toHaveLength(2);
  expect(taken).toEqual(targets.targets);
});

test('a step that is added while a frame is prepared delays this frame, too', async () => {
  const added: Promise<void>[] = [];
  await targets.add({
    frame: async () => {
      if (targets.targets.length < 2 || added.length > 0) return;
      added.push(
        targets.add({
          frame: async (target) => {
            await sleep(200);
            await setLanguage(target, 'fr-FR');
          },
        }),
      );
    },
  });
  await addFrame();
  await Promise.all(added);
  expect(await titleOf(targets.targets[1] as Target)).toBe('fr-FR');
});

test('adding a step fails if it fails in the page itself', async () => {
  const failing = targets.add({ frame: () => Promise.reject(new Error('fails in the page')) });
  await expect(failing).rejects.toThrow('fails in the page');
});

test('the settings of the steps end when the tree is detached', async () => {
  await targets.add({ frame: (target) => setLanguage(target, 'de-DE') });
  expect(await evaluateInPage('navigator.language')).toBe('de-DE');
  await targets.detach();
  await page.reload();
  expect(await evaluateInPage('navigator.language')).not.toBe('de-DE');
});
