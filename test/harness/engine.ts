import { inject } from 'vitest';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import { createSystemLookup, type Lookup } from '@webcapture/shared/egress/lookup.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { loadBlocker } from '../../services/renderer/blocking/blocker.ts';
import {
  startRenderEngine,
  type RenderEngine,
  type RenderEngineConfig,
  type Rendering,
  type RenderRequest,
  type RenderSource,
} from '../../services/renderer/page/engine.ts';
import type { WipeOutcome } from '../../services/renderer/browser/page-wipe.ts';
import { startEgressProxy, type EgressProxyOptions } from '../../services/renderer/egress/proxy.ts';
import { Picture } from './picture.ts';
import { defaultOptions } from './records.ts';
import { workerWide } from './worker-wide.ts';

export { html, TestSite, type Handler } from './test-site.ts';

type RenderOptions = RenderRequest['options'];

export const log = createLogger({ service: 'test', pod: 'test', level: process.env.TEST_LOG ?? 'silent' });

export const engineConfig: RenderEngineConfig = {
  headlessShellPath: inject('tools').headlessShell,
  chromiumPath: inject('tools').chromium,
  sandbox: 'off',
  slots: 1,
  capturesPerBrowser: 1000,
  browserMemoryBytes: 8 * 1024 ** 3,
};

const defaults: RenderOptions = {
  ...defaultOptions,
  viewport: { width: 640, height: 480, deviceScaleFactor: 1 },
  timeout: 20_000,
};

export interface ShotOptions extends Partial<Omit<RenderOptions, 'viewport' | 'pdf'>> {
  readonly viewport?: Partial<RenderOptions['viewport']>;
  readonly pdf?: Partial<RenderOptions['pdf']>;
}

function renderOptions({ viewport, pdf, ...options }: ShotOptions = {}): RenderOptions {
  return {
    ...defaults,
    ...options,
    viewport: { ...defaults.viewport, ...viewport },
    pdf: { ...defaults.pdf, ...pdf },
  };
}

const systemLookup = createSystemLookup();

/** Hosts of the filter lists: one for advertising, one for tracking, and one of a chat widget. */
export const listedHosts = {
  ads: 'pagead.doubleclick.net',
  tracker: 'static.chartbeat.com',
  chat: 'static.olark.com',
} as const;
const listed: readonly string[] = Object.values(listedHosts);

/**
 * Names under .test and those of the filter lists resolve to this machine. Names under .invalid fail immediately, without a name
 * server, which may be slow.
 */
const testLookup: Lookup = async (name, signal) => {
  if (name.endsWith('.invalid')) throw Object.assign(new Error(`there is no ${name}`), { code: 'ENOTFOUND' });
  const isHere = name.endsWith('.test') || listed.includes(name);
  return isHere ? [{ address: '127.0.0.1', family: 4 }] : systemLookup(name, signal);
};

/** An engine with a real browser, whose captures can reach only this machine. */
export class TestEngine {
  readonly engine: RenderEngine;
  /** The outcome of each page that was selected for reuse, in order; `reused` if it was reused. */
  readonly pages: readonly (WipeOutcome | 'reused')[];
  readonly #close: () => Promise<void>;

  private constructor(engine: RenderEngine, pages: TestEngine['pages'], close: () => Promise<void>) {
    this.engine = engine;
    this.pages = pages;
    this.#close = close;
  }

  static async start(
    config: Partial<RenderEngineConfig> = {},
    allow = ['127.0.0.0/8'],
    { lookup = testLookup, ...options }: Partial<EgressProxyOptions> = {},
  ): Promise<TestEngine> {
    const policy = createEgressPolicy({ allow });
    const egress = await startEgressProxy({ policy, log, lookup, ...options });
    const blocker = await loadBlocker({ path: undefined, log });
    const pages: (WipeOutcome | 'reused')[] = [];
    const engine = await startRenderEngine(
      { ...engineConfig, ...config },
      {
        log,
        egress,
        blocker,
        onPageReused: () => void pages.push('reused'),
        onWipe: (outcome) => void pages.push(outcome),
      },
    );
    return new TestEngine(engine, pages, async () => {
      await engine.close();
      await egress.close();
    });
  }

  render(
    source: RenderSource | string,
    options: ShotOptions = {},
    request: {
      ownBrowser?: boolean;
      reuseFor?: string;
      signal?: AbortSignal;
      deadlineMs?: number;
      secrets?: CaptureSecrets;
      ignore?: readonly string[];
      answered?: Promise<void>;
    } = {},
  ): Promise<Rendering> {
    return this.engine.render({
      source: typeof source === 'string' ? { kind: 'url', url: source } : source,
      options: renderOptions(options),
      ...(request.secrets && { secrets: request.secrets }),
      ...(request.ignore && { ignore: request.ignore }),
      ownBrowser: request.ownBrowser ?? false,
      ...(request.answered && { answered: request.answered }),
      ...(request.reuseFor !== undefined && { reuseFor: request.reuseFor }),
      signal: request.signal ?? new AbortController().signal,
      deadline: Date.now() + (request.deadlineMs ?? 60_000),
      takenAt: performance.now(),
    });
  }

  /** A rendering with its pixels. */
  async shoot(
    source: RenderSource | string,
    options: ShotOptions = {},
  ): Promise<{ rendering: Rendering; picture: Picture; report: Rendering['report'] }> {
    const rendering = await this.render(source, options);
    return { rendering, report: rendering.report, picture: await Picture.of(rendering.bytes) };
  }

  close(): Promise<void> {
    return this.#close();
  }
}

/** All files of a worker that need no other engine share this one, so no test may damage it. It ends with the worker. */
export const sharedEngine = workerWide(
  () => TestEngine.start(),
  (engine) => engine.close(),
);
