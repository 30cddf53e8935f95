import { errors } from 'playwright';
import { navigate } from '../../services/renderer/page/navigate.ts';
import type { OpenPage } from '../../services/renderer/page/open.ts';
import { AnsweringPage } from './answering-page.ts';
import { defaultOptions } from './records.ts';

export const url = 'http://page.test/';
/** A wait that does not end. */
export const never = new Promise<never>(() => undefined);
/** Resolves after all steps that wait for nothing else. */
export const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

export type LoadState = 'domcontentloaded' | 'load' | 'networkidle';

export interface Site {
  /** The result of `page.goto`. */
  readonly goto?: () => unknown;
  /** The result of a wait for a load state. */
  readonly state?: (state: LoadState) => unknown;
  /** Changes of the {@link MainDocument}. */
  readonly document?: Partial<Record<keyof OpenPage['document'], unknown>>;
  readonly failureOf?: (url: string) => string | undefined;
  readonly wasBlocked?: (url: string) => boolean;
  readonly network?: object;
  /** Answers of scripts. Without one, a page does not report when it is ready. */
  readonly answers?: object;
  readonly shownUrl?: () => string;
  readonly parts?: object;
}

/** A page that navigates without a browser. */
export function pageOf({ goto, state, document, failureOf, wasBlocked, network, answers, shownUrl, parts }: Site = {}) {
  const documentState = {
    moving: false,
    requestedUrl: url,
    failure: undefined,
    answer: undefined,
    isCutOff: false,
    stayed: never,
    cutOff: never,
    settled: async () => undefined,
  };
  const page = new AnsweringPage(
    { untilReady: never, ...answers },
    {
      document: Object.defineProperties(documentState, Object.getOwnPropertyDescriptors(document ?? {})),
      network: { hasStalled: false, untilQuiet: () => never, ...network },
      proxySession: { failureOf: failureOf ?? (() => undefined), wasBlocked: wasBlocked ?? (() => false) },
      ...parts,
    },
  );
  Object.assign(page.events, {
    url: shownUrl ?? (() => url),
    goto: async (...args: readonly unknown[]) => {
      page.calls.push(['goto', ...args]);
      await goto?.();
    },
    waitForLoadState: async (name: LoadState, limit: object) => {
      page.calls.push([name, limit]);
      await state?.(name);
    },
  });
  return page;
}

type WaitUntil = LoadState | 'commit';

/** Opens the page at {@link url}. */
export const open = (site: Site | AnsweringPage = {}, waitUntil: WaitUntil = 'load') =>
  navigate(
    (site instanceof AnsweringPage ? site : pageOf(site)).open,
    { kind: 'url', url },
    { ...defaultOptions, waitUntil },
  );

export const late = () => Promise.reject(new errors.TimeoutError('the page is late'));
/** Rejects the wait for one state. */
export const lateAt = (name: LoadState) => (state: LoadState) => (state === name ? late() : undefined);
export const failed = (message: string) => () => Promise.reject(new Error(message));
