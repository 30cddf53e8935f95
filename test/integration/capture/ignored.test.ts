import { beforeAll, describe, expect, test } from 'vitest';
import { html, sharedEngine, type TestEngine } from '../../harness/engine.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await sharedEngine();
});

const box = (name: string, style: string) => `<div class="${name}" style="position:absolute;${style}">x</div>`;
const page = {
  kind: 'html',
  html: html(`<body style="margin:0;height:2000px">
    ${box('ad', 'left:10.5px;top:20px;width:100px;height:30px')}
    ${box('ad', 'left:600px;top:460px;width:100px;height:100px')}
    ${box('far', 'left:0;top:1900px;width:50px;height:50px')}
    ${box('hidden', 'left:0;top:0;width:50px;height:50px;visibility:hidden')}
    <div id="part" style="position:absolute;left:100px;top:1000px;width:300px;height:200px">
      ${box('inner', 'left:-20px;top:30px;width:40px;height:10px')}
    </div></body>`),
} as const;

const areasOf = async (ignore: readonly string[], options: object = {}) =>
  (await engine.render(page, options, { ignore })).ignored;

describe('the areas of ignored elements', () => {
  test('are those in the viewport, cut off at its edges', async () => {
    expect(await areasOf(['.ad', '.far', '.hidden', '.missing'])).toEqual([
      { x: 10, y: 20, width: 101, height: 30 },
      { x: 600, y: 460, width: 40, height: 20 },
    ]);
  });

  test('are in CSS pixels, also with a scale factor', async () => {
    const viewport = { deviceScaleFactor: 2 };
    expect((await areasOf(['.ad'], { viewport }))?.[0]).toEqual({ x: 10, y: 20, width: 101, height: 30 });
  });

  test('of a whole page are those in the page', async () => {
    expect(await areasOf(['.far'], { isFullPage: true })).toEqual([{ x: 0, y: 1900, width: 50, height: 50 }]);
  });

  test('of an element count from its corner', async () => {
    expect(await areasOf(['.inner', '.ad'], { selector: '#part' })).toEqual([{ x: 0, y: 30, width: 20, height: 10 }]);
  });

  test('are not measured without selectors', async () => {
    expect(await engine.render(page, {})).not.toHaveProperty('ignored');
  });

  test('are not more than 200', async () => {
    const many = { kind: 'html', html: html('<p>x</p>'.repeat(300)) } as const;
    const { ignored } = await engine.render(many, { isFullPage: true }, { ignore: ['p'] });
    expect(ignored).toHaveLength(200);
  });

  test('a selector that the browser does not support fails the capture', async () => {
    await expect(areasOf(['p', ':nonsense'])).rejects.toMatchObject({
      code: 'CAPTURE_FAILED',
      causedBy: 'client',
      message: 'persistence.compare.ignore ":nonsense" is not a selector that the browser supports.',
    });
  });
});
