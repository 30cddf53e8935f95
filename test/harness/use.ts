import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { bucketSetUpMs } from './bucket.ts';
import { startFleet, testSites, type Fleet, type FleetOptions } from './fleet.ts';
import { Site } from './site/site.ts';
import { workerWide } from './worker-wide.ts';

/** Token of the operator of the shared fleet. */
export const adminToken = 'the-admin-token-of-the-fleet';

/** One renderer and one front. Some files need these settings, and the others are not affected by them. */
const sharedFleet = workerWide(
  () =>
    startFleet(
      { tools: inject('tools'), tempFolder: inject('tempFolder') },
      {
        slots: 3,
        env: {
          WEBCAPTURE_ADMIN_TOKEN: adminToken,
          WEBCAPTURE_MIN_REFRESH_INTERVAL: '1',
          WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS: 'true',
          // Egress rules: the operator has allowed 127.0.0.4 and its neighbor, and then blocked 127.0.0.4 again.
          WEBCAPTURE_EGRESS_ALLOW: `${testSites},127.0.0.4/31`,
          WEBCAPTURE_EGRESS_DENY: '127.0.0.4',
        },
      },
    ),
  (fleet) => fleet.stop(),
);

/**
 * Gives the tests of a file one fleet: with options a new one, otherwise the shared fleet of the worker, which no test may
 * damage. When a test fails, the last log lines of every process go to stderr. Call the returned function inside of tests,
 * because the fleet starts after the file is read.
 */
export function useFleet(options?: FleetOptions): () => Fleet {
  let fleet: Fleet | undefined;
  beforeAll(async () => {
    fleet =
      options === undefined
        ? await sharedFleet()
        : await startFleet({ tools: inject('tools'), tempFolder: inject('tempFolder') }, options);
  }, bucketSetUpMs);
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail' && fleet !== undefined) {
      // A response may arrive before the log lines of its services.
      await sleep(200);
      process.stderr.write(`\nThe fleet when "${task.name}" failed:\n${troubles(fleet)}\n`);
    }
  });
  afterAll(async () => {
    if (options !== undefined) await fleet?.stop();
    const violations = fleet === undefined ? [] : newViolations(fleet);
    if (violations.length > 0) {
      throw new Error(
        `a service needs permissions that its NATS user does not have (nats-permissions.json):\n${violations.join('\n')}`,
      );
    }
  });
  return () => {
    if (fleet === undefined) throw new Error('the fleet is available only inside tests');
    return fleet;
  };
}

/** Number of violations already reported, by fleet. A violation of the shared fleet therefore fails only the test file that caused it. */
const violationsTold = new WeakMap<Fleet, number>();

function newViolations(fleet: Fleet): readonly string[] {
  const all = fleet.nats.violations();
  const told = violationsTold.get(fleet) ?? 0;
  violationsTold.set(fleet, all.length);
  return all.slice(told);
}

/** Gives the tests of a file one test site. */
export function useSite(host?: string): () => Site {
  let site: Site | undefined;
  beforeAll(async () => {
    site = await Site.start(host);
  });
  afterAll(async () => {
    await site?.[Symbol.asyncDispose]();
  });
  return () => {
    if (site === undefined) throw new Error('the site is available only inside tests');
    return site;
  };
}

/** Returns the state of each process, with its last warnings and errors in short. */
function troubles(fleet: Fleet): string {
  return [fleet.controller, ...fleet.fronts, ...fleet.renderers]
    .map((part) => {
      const lines = part.logs().split('\n').flatMap(describeTrouble).slice(-5);
      const end = part.exit === undefined ? '' : ` (ended: ${JSON.stringify(part.exit)})`;
      return `${part.name}${end}\n${lines.map((line) => `  ${line}\n`).join('')}`;
    })
    .join('');
}

/** Shortens a log line; returns nothing for a line without a warning or error. A line that is not JSON is returned whole. */
function describeTrouble(line: string): string[] {
  try {
    const { level, time, msg, err } = JSON.parse(line) as LogLine;
    if (!/warn|error|fatal/.test(level ?? '')) return [];
    const causes = [err?.message, err?.cause?.message].filter((message) => message !== undefined);
    return [`${time?.slice(11, 23)} ${level} ${msg} ${causes.join(' < ')}`.replaceAll(/\s+/g, ' ').slice(0, 400)];
  } catch {
    return line === '' ? [] : [line];
  }
}

interface LogLine {
  readonly level?: string;
  readonly time?: string;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly cause?: { readonly message?: string } };
}
