import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import sharp from 'sharp';
import { render, type RenderRequest } from '../../services/renderer/page/render.ts';
import { defaultOptions } from './records.ts';
import { StandInBrowsers } from './stand-in-browsers.ts';

const viewport = { width: 64, height: 48, deviceScaleFactor: 1 };
/** The command that takes the picture. */
export const shotName = 'Page.captureScreenshot';

const plain = sharp({ create: { width: 64, height: 48, channels: 3, background: '#00aa00' } });
const dot = { create: { width: 9, height: 9, channels: 3, background: '#aa0000' } } as const;
/** Pictures of the page, in base64: of a single color, and with a dot. */
export const blank = (await plain.clone().png().toBuffer()).toString('base64');
export const drawn = (
  await plain
    .composite([{ input: dot, left: 1, top: 1 }])
    .png()
    .toBuffer()
).toString('base64');

export interface Rendered extends Partial<RenderOptions> {
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly parts?: ConstructorParameters<typeof StandInBrowsers>[1];
  readonly request?: Partial<RenderRequest>;
  readonly deadlineMs?: number;
  readonly responseTimeoutMs?: number;
  /** Maximum time for the page to respond. */
  readonly answerTimeoutMs?: number;
}

export const requestOf = (options: Partial<RenderOptions>, deadlineMs = 60_000): RenderRequest => ({
  source: { kind: 'url', url: 'http://page.test/' },
  options: { ...defaultOptions, viewport, ...options },
  ownBrowser: false,
  signal: new AbortController().signal,
  deadline: Date.now() + deadlineMs,
  takenAt: performance.now(),
});

/** Renders a page without a browser. Returns the rendering or the error that was thrown. */
export async function rendered({
  answers,
  parts,
  request,
  deadlineMs,
  responseTimeoutMs,
  answerTimeoutMs,
  ...options
}: Rendered = {}) {
  const stand = new StandInBrowsers({ [shotName]: () => ({ data: drawn }), ...answers }, parts);
  const deps = { browsers: stand.browsers, blocker: undefined as never, responseTimeoutMs, answerTimeoutMs };
  const work = render({ ...requestOf(options, deadlineMs), ...request }, deps);
  const [rendering, failure] = await work.then(
    (done) => [done, undefined] as const,
    (error: unknown) => [undefined, error as ServiceError] as const,
  );
  return { stand, rendering, failure };
}

/** An answer that does not come. */
export const never = new Promise<never>(() => undefined);
/** Fails one script or command. */
export const failing = (error: Error, name = shotName) => ({ answers: { [name]: () => Promise.reject(error) } });
