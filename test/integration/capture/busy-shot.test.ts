import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { startBrowsers, type Browsers } from '../../../services/renderer/browser/browsers.ts';
import type { PageSession } from '../../../services/renderer/browser/driver.ts';
import { loadBlocker } from '../../../services/renderer/blocking/blocker.ts';
import { render } from '../../../services/renderer/page/render.ts';
import { startEgressProxy } from '../../../services/renderer/egress/proxy.ts';
import { engineConfig, html, log } from '../../harness/engine.ts';
import { Picture } from '../../harness/picture.ts';
import { defaultOptions } from '../../harness/records.ts';

let parts: AsyncDisposableStack;
let browsers: Browsers;

beforeAll(async () => {
  parts = new AsyncDisposableStack();
  const egress = await startEgressProxy({ policy: createEgressPolicy({ allow: [] }), log });
  parts.defer(() => egress.close());
  const config = {
    antiBotIdleTimeoutMs: 1000,
    livenessTimeoutMs: 30_000,
    stealthProvider: undefined,
  };
  browsers = await startBrowsers({ ...engineConfig, ...config }, { log, egress });
  parts.defer(() => browsers.close());
});

afterAll(() => parts.disposeAsync());

/** A session whose page starts an endless loop when its screenshot is taken. */
function busyAtTheShot(cdp: PageSession): PageSession {
  let shots = 0;
  const send = async (method: Parameters<PageSession['send']>[0], params?: object) => {
    if (method === 'Page.captureScreenshot' && (shots += 1) === 1) {
      await cdp.send('Runtime.evaluate', { expression: 'requestAnimationFrame(() => { for (;;); }); 0' });
    }
    return cdp.send(method, params as never);
  };
  return new Proxy(cdp, {
    get: (target, name) => (name === 'send' ? send : (Reflect.get(target, name) as () => void).bind(target)),
  });
}

test(
  'a full page that becomes busy during its screenshot is captured in its previous state',
  { tags: 'long' },
  async () => {
    const acquiring: Pick<Browsers, 'acquire'> = {
      acquire: async (wanted) => {
        const acquired = await browsers.acquire(wanted);
        return { ...acquired, cdp: busyAtTheShot(acquired.cdp) };
      },
    };
    const { bytes, report } = await render(
      {
        source: { kind: 'html', html: html('<body style="margin:0;background:#0a0;height:2000px">') },
        options: { ...defaultOptions, isFullPage: true },
        ownBrowser: false,
        signal: new AbortController().signal,
        deadline: Date.now() + 60_000,
        takenAt: performance.now(),
      },
      {
        browsers: {
          state: 'up',
          pageBytes: browsers.pageBytes,
          stealth: browsers.stealth,
          close: () => Promise.resolve(),
          ...acquiring,
        },
        blocker: await loadBlocker({ path: undefined, log }),
        responseTimeoutMs: undefined,
      },
    );
    const picture = await Picture.of(bytes);
    expect(picture.at(100, 100)).toBe('#00aa00');
    expect(report.softTimeouts).toEqual(['settle']);
  },
);
