import { afterAll, beforeAll, expect, test } from 'vitest';
import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
beforeAll(async () => {
  front = await startTestFront({ WEBCAPTURE_SECRETS_KEY: 'a'.repeat(64) });
});
afterAll(() => front[Symbol.asyncDispose]());

type Fields = Readonly<Record<string, unknown>>;

interface DefaultOption {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Returns all options of the schema that have a default, at any depth. */
function optionsWithDefaults(schema: JsonSchema, path: readonly string[] = []): DefaultOption[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const own = [...path, name];
    const here = child.default === undefined ? [] : [{ path: own, value: child.default }];
    return [...here, ...optionsWithDefaults(child, own)];
  });
}

/** Fields that a request must have to set an option, by the start of the option's path. */
const needs: Readonly<Record<string, Fields>> = {
  pdf: { format: 'pdf' },
  'pdf.encryption': { format: 'pdf', pdf: { encryption: { userPassword: 'a' } } },
  waitFor: { waitFor: { selector: 'p' } },
  resize: { resize: { width: 100 } },
  freeze: { freeze: {} },
  'persistence.schedule': { persistence: { enabled: true, schedule: { cron: '0 6 * * *' } } },
  'persistence.compare': { persistence: { enabled: true, refreshInterval: 86_400, compare: {} } },
  geolocation: { geolocation: { latitude: 1, longitude: 2 } },
};

function requestFor({ path }: DefaultOption): Fields {
  const starts = path.map((_, index) => path.slice(0, index + 1).join('.'));
  return needs[starts.findLast((start) => start in needs) ?? ''] ?? {};
}

function withOption(request: Fields, [name = '', ...inside]: readonly string[], value: unknown): Fields {
  const child = (request[name] ?? {}) as Fields;
  return { ...request, [name]: inside.length === 0 ? value : withOption(child, inside, value) };
}

/** Excludes `responseCache.enabled`, which cannot have its default in a cached request. */
const options = optionsWithDefaults(captureRequestSchema as object).filter(
  ({ path }) => path.join('.') !== 'responseCache.enabled',
);

let pages = 0;
async function isEqual(one: Fields, other: Fields): Promise<boolean> {
  const common = { url: `https://example.com/${++pages}` };
  const capture = async (request: Fields) => {
    const cached = { responseCache: { enabled: true, ...(request['responseCache'] as object) } };
    const response = await front.capture({ ...common, ...request, ...cached });
    const { data, error } = (await response.json()) as { data?: { fromCache: boolean }; error?: object };
    return data?.fromCache ?? expect.fail(JSON.stringify(error));
  };
  expect(await capture(one)).toBe(false);
  return capture(other);
}

test.each(options.map((option) => [`${option.path.join('.')}: ${JSON.stringify(option.value)}`, option] as const))(
  'a request with %s gets the capture of one without it',
  async (_name, option) => {
    const without = requestFor(option);
    expect(await isEqual(without, withOption(without, option.path, option.value))).toBe(true);
  },
);

test('the schema has optional and required options with defaults', () => {
  const paths = options.map(({ path }) => path.join('.'));
  expect(paths).toEqual(expect.arrayContaining(['javaScript', 'failOn.blank', 'pdf.tagged', 'viewport.width']));
});

test.each<[what: string, one: Fields, other: Fields, equal: boolean]>([
  ['media screen of an image', {}, { media: 'screen' }, true],
  ['media print of an image', {}, { media: 'print' }, false],
  ['media print of a PDF', { format: 'pdf' }, { format: 'pdf', media: 'print' }, true],
  ['media screen of a PDF', { format: 'pdf' }, { format: 'pdf', media: 'screen' }, false],
  ['paper A4', { format: 'pdf' }, { format: 'pdf', pdf: { paper: 'A4' } }, true],
  ['pdf.fixed once with a url', { format: 'pdf' }, { format: 'pdf', pdf: { fixed: 'once' } }, true],
  ['a device and its viewport', { device: 'Desktop Chrome' }, withDevice({ width: 1280, height: 720 }), true],
  ['no scripts', {}, { javaScript: false }, false],
  ['a frozen clock', {}, { freeze: {} }, false],
  ['the same time with another offset', { freeze: {} }, { freeze: { time: '2026-01-01T02:00+02:00' } }, true],
  // Without a locale, the browser sends no Accept-Language.
  ['locale en-US', {}, { locale: 'en-US' }, false],
])('%s is equal to the default: %#', async (_what, one, other, equal) => {
  expect(await isEqual(one, other)).toBe(equal);
});

function withDevice(viewport: Fields): Fields {
  return { device: 'Desktop Chrome', viewport };
}
