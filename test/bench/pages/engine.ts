import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { createSystemLookup } from '@webcapture/shared/egress/lookup.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { loadBlocker } from '../../../services/renderer/blocking/blocker.ts';
import { startEgressProxy } from '../../../services/renderer/egress/proxy.ts';
import {
  startRenderEngine,
  type RenderEngine,
  type Rendering,
  type RenderSource,
} from '../../../services/renderer/page/engine.ts';
import { defaultOptions } from '../../harness/records.ts';

const captureTimeoutMs = 60_000;

/** Starts an engine with one slot and a real browser. Its captures can reach only this machine. */
export async function startBenchEngine(
  parts: AsyncDisposableStack,
  tools: { readonly headlessShell: string; readonly chromium: string; readonly sandbox: 'on' | 'off' },
): Promise<RenderEngine> {
  const log = createLogger({ service: 'bench', pod: 'bench', level: 'silent' });
  const policy = createEgressPolicy({ allow: ['127.0.0.0/8'] });
  const egress = await startEgressProxy({ policy, log, lookup: createSystemLookup() });
  parts.defer(() => egress.close());
  const blocker = await loadBlocker({ path: undefined, log });
  const engine = await startRenderEngine(
    {
      headlessShellPath: tools.headlessShell,
      chromiumPath: tools.chromium,
      sandbox: tools.sandbox,
      slots: 1,
      capturesPerBrowser: 100,
      browserMemoryBytes: 8 * 1024 ** 3,
    },
    { log, egress, blocker },
  );
  parts.defer(() => engine.close());
  return engine;
}

/** Captures a page with default options except for the given ones. */
export function capturePage(
  engine: RenderEngine,
  source: RenderSource,
  options: Partial<RenderOptions>,
): Promise<Rendering> {
  return engine.render({
    source,
    options: { ...defaultOptions, ...options },
    ownBrowser: false,
    signal: new AbortController().signal,
    deadline: Date.now() + captureTimeoutMs,
    takenAt: performance.now(),
  });
}
