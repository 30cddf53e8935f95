// @module-tag long
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { loadStealthProvider } from '../../../services/renderer/browser/stealth.ts';
import { stealthSwitches } from '../../../services/renderer/browser/stealth.ts';
import { html, TestEngine } from '../../harness/engine.ts';

/** Writes a module with this source, and returns its path. */
async function moduleOf(source: string): Promise<string> {
  const path = join(await mkdtemp(join(inject('tempFolder'), 'provider-')), 'provider.mjs');
  await writeFile(path, source);
  return path;
}

test('the example of the documentation renders antiBot captures, and no others', async () => {
  const guide = await readFile(new URL('../../../docs/stealth-providers.md', import.meta.url), 'utf8');
  const example = /```js\n(.*?)```/s.exec(guide)?.[1] ?? '';
  const engine = await TestEngine.start({ stealthProvider: await moduleOf(example) });
  try {
    const source = {
      kind: 'html',
      html: html(`<script>
        const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
        // A page learns the size of its window with its first frame.
        requestAnimationFrame(() => {
          document.title = [timeZone, navigator.language, navigator.webdriver, outerHeight - innerHeight].join();
        });
      </script>`),
    } as const;
    // On a busy machine the first frame may be late.
    const { report } = await engine.render(source, { antiBot: true, delay: 1000 });
    expect(report.title).toBe('Europe/Berlin,de-DE,false,87');
    expect((await engine.render(source)).report.title).not.toContain('Berlin');
  } finally {
    await engine.close();
  }
});

/** The first use of the provider by a renderer. */
const start = async (path: string) => stealthSwitches(await loadStealthProvider(path, inject('tools').chromium));

const whole = `{ name: 'mine', executablePath: '/x', switches: () => [], withoutSwitches: [], contextOptions: {}, initScripts: [],
  window: (viewport) => ({ screen: viewport, outer: viewport }) }`;

test.each([
  ['export const other = 1', 'must export a function as its default'],
  ['this is no script', 'cannot be loaded: '],
  [`export default () => { throw new Error('no license') }`, 'failed: Error: no license'],
  ['export default () => undefined', 'must return an object'],
  [
    `export default () => ({ ...${whole}, executablePath: undefined, initScripts: 'x' })`,
    'is invalid: executablePath must be the path of a browser; initScripts must be a list of scripts.',
  ],
  [
    `export default () => ({ ...${whole}, switches: () => ['--proxy-server=x', '--mute-audio'] })`,
    'mine may not set --proxy-server=x.',
  ],
])('not usable: %s', async (source, message) => {
  const path = await moduleOf(source);
  await expect(start(path)).rejects.toThrow(message);
});

test('not usable: a missing module', async () => {
  await expect(start('/nowhere/provider.mjs')).rejects.toThrow(
    /provider \/nowhere\/provider.mjs \(WEBCAPTURE_STEALTH_PROVIDER\) cannot be loaded/,
  );
});
