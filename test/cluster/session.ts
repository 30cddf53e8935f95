import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, PodFacts } from './cluster.ts';
import { isReady } from './cluster.ts';

export const release = 'wc';
export const fullname = `${release}-webcapture`;
export const clientPod = 'client';
export const regions = ['us-east', 'eu-west'] as const;

/** The result of a capture, as client.mjs prints it. */
export interface CaptureFact {
  readonly at: number;
  readonly ms: number;
  readonly status: number;
  readonly type?: string;
  readonly code?: string;
  readonly message?: string;
  readonly uuid?: string;
  readonly state?: string;
  readonly region?: string;
  readonly title?: string;
  readonly head?: string;
  readonly size?: number;
}

/** A response of GET /status, printed when it changed. */
export interface StatusFact {
  readonly at: number;
  readonly status?: number;
  readonly overall?: string;
  readonly components?: Readonly<Record<string, string>>;
  readonly messages?: Readonly<Record<string, string>>;
  readonly unreachable?: string;
}

/** An installed release with a client in a separate pod. */
export interface Session {
  readonly cluster: Cluster;
  /** Arguments for helm with the images of the installation. */
  readonly imageArgs: readonly string[];
  readonly chart: string;
  readonly say: (line: string) => void;
  key: string;
}

/** A step of the test. It throws when an expectation is not met; the text that it returns is printed. */
export interface Step {
  readonly title: string;
  readonly run: (session: Session) => Promise<string | undefined>;
  /** Whether the run stops if the step fails. */
  readonly vital?: boolean;
}

class Failure extends Error {}

export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Failure(what);
}

/** Waits for a condition. On timeout it throws with the last error. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  deadlineMs: number,
  everyMs = 500,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  let last = '';
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      last = error instanceof Error ? `; ${error.message}` : '';
    }
    if (Date.now() > end) throw new Failure(`${what}: not within ${deadlineMs / 1000} s${last}`);
    await sleep(everyMs);
  }
}

const script = ['node', '/client/client.mjs'];

/** Runs an action of client.mjs in the client pod and returns the facts that it printed. */
export async function act<T>({ cluster }: Session, args: readonly string[], timeoutMs = 120_000): Promise<T[]> {
  const output = await cluster.exec(clientPod, [...script, ...args], { timeoutMs });
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as T);
}

/** Creates an account, whose key the following captures use. */
export async function makeKey(session: Session): Promise<void> {
  const make = async () => (await act<{ key: string }>(session, ['key']))[0]?.key;
  session.key = await until('an account', make, 60_000);
}

export async function capture(session: Session, request: object): Promise<CaptureFact> {
  const [fact] = await act<CaptureFact>(session, ['capture', session.key, JSON.stringify(request)]);
  check(fact !== undefined, 'the client printed nothing');
  return fact;
}

/** An action that runs in the background; its output is appended to `facts`. */
export interface Watch<T> {
  readonly facts: T[];
  /** Resolves when the action has ended. */
  readonly ended: Promise<void>;
  stop(): void;
  /** Ends an action that prints a last fact, and waits for the end. */
  finish(): Promise<void>;
}

export function watch<T>({ cluster }: Session, args: readonly string[]): Watch<T> {
  const facts: T[] = [];
  const child = cluster.execInBackground(clientPod, [...script, ...args], (line) => {
    if (line.startsWith('{')) facts.push(JSON.parse(line) as T);
  });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  const signal = () => cluster.exec(clientPod, ['sh', '-c', `kill "$(cat /tmp/${args[0]}.pid)"`]);
  const stop = () => {
    child.kill();
    // The action may have ended.
    signal().catch(() => undefined);
  };
  const finish = async () => {
    await signal();
    await ended;
  };
  return { facts, ended, stop, finish };
}

/** Upgrades the release to the default values and the given helm arguments, and waits until it is ready. */
export function upgrade({ cluster, chart, imageArgs }: Session, args: readonly string[]): Promise<string> {
  return cluster.helm(['upgrade', release, chart, ...imageArgs, ...args, '--wait', '--timeout', '9m']);
}

/** Waits until a component has exactly this number of pods and all are ready. */
export async function readyPods(
  { cluster }: Session,
  component: string,
  count: number,
  extra = '',
  deadlineMs = 180_000,
): Promise<readonly PodFacts[]> {
  return until(
    `${count} ready pods of ${component}${extra}`,
    async () => {
      const pods = await cluster.pods(component, extra);
      return pods.length === count && pods.every(isReady) ? pods : undefined;
    },
    deadlineMs,
  );
}

/** Whether a status is not an outage. After an outage, captures that waited long leave a region degraded for minutes, as intended. */
export const isUp = (status: string | undefined) => status === 'operational' || status === 'degraded_performance';

/** Waits until GET /status shows no outage, and returns the overall status. */
export async function noOutage(session: Session, deadlineMs = 120_000): Promise<string> {
  return until(
    'GET /status to show no outage',
    async () => {
      const [fact] = await act<StatusFact>(session, ['status', '0.1']);
      if (isUp(fact?.overall)) return fact?.overall;
      throw new Error(JSON.stringify(fact));
    },
    deadlineMs,
    1000,
  );
}

/** The captures that did not return 200. */
export const failuresOf = (facts: readonly CaptureFact[]) => facts.filter(({ status }) => status !== 200);

export const describe = (facts: readonly CaptureFact[]) =>
  JSON.stringify(facts.slice(0, 3).map(({ status, code, message, ms }) => ({ status, code, message, ms })));
