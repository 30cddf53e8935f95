import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { launchBrowser, type LaunchedBrowser } from '../../services/renderer/browser/launch.ts';
import { ResourceGuard } from '../../services/renderer/browser/resource-guard.ts';
import { headlessShellSwitches } from '../../services/renderer/browser/switches.ts';
import { startEgressProxy, type EgressProxy } from '../../services/renderer/egress/proxy.ts';
import { engineConfig, log } from './engine.ts';

/** A pool of two browsers. Limits of time and number have no effect unless a test sets them. */
export const poolDefaults = {
  log,
  maxBrowsers: 2,
  isWarm: true,
  livenessTimeoutMs: 15_000,
  capturesPerBrowser: 100,
  idleTimeoutMs: 60_000,
};

export function launchHeadlessShell(): Promise<LaunchedBrowser> {
  const { headlessShellPath: executablePath } = engineConfig;
  return launchBrowser({ executablePath, sandbox: 'off', switches: headlessShellSwitches });
}

/** An egress policy that allows only this machine. */
export const startLocalEgress = (): Promise<EgressProxy> =>
  startEgressProxy({ policy: createEgressPolicy({ allow: ['127.0.0.0/8'] }), log });

/** A memory guard that stops nothing. */
export function startUnlimitedGuard(): ResourceGuard {
  const unlimited = Number.MAX_SAFE_INTEGER;
  const limits = {
    cpuMs: unlimited,
    memoryBytes: unlimited,
    pageBytes: unlimited,
    diskBytes: unlimited,
    processes: unlimited,
    descriptors: unlimited,
    messages: unlimited,
  };
  return new ResourceGuard({ limits, totalBytes: unlimited, processorShare: 1, log });
}
