import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchTask, Contender } from './contender.ts';

/** A request to a script process, which responds when the file is complete. */
export interface ScriptRequest extends BenchTask {
  readonly id: number;
}
export interface ScriptAnswer {
  readonly id: number;
  readonly error?: string;
  /** The file of a checked task, in base64. */
  readonly file?: string;
}

const scripts = {
  /** A script as a user would write it: a new context for each page, `page.screenshot`. */
  script: 'Playwright script',
  /** A script that waits for an idle network, and scrolls through the page. */
  careful: 'careful script',
  /** The minimum for isolated captures: contexts and pages created in advance, the screenshot of CDP. */
  floor: 'floor',
  /** Chromium without a driver: a new context, one navigation and one file, controlled by messages through a pipe. */
  protocol: 'protocol',
} as const;

export type ScriptKind = keyof typeof scripts;

/** Starts a script in a separate process, which discards the files of tasks that are not checked. */
export async function startScriptContender(
  parts: AsyncDisposableStack,
  {
    kind,
    headlessShell,
    spares,
  }: { readonly kind: ScriptKind; readonly headlessShell: string; readonly spares: number },
): Promise<Contender> {
  const child = fork(fileURLToPath(new URL(`${kind}-process.ts`, import.meta.url)), [headlessShell, String(spares)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  parts.defer(async () => {
    const exit = once(child, 'exit');
    child.disconnect();
    await exit;
  });
  await once(child, 'message');

  const waiting = new Map<number, PromiseWithResolvers<Buffer>>();
  child.on('message', ({ id, error, file = '' }: ScriptAnswer) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) one?.resolve(Buffer.from(file, 'base64'));
    else one?.reject(new Error(error));
  });
  let last = 0;
  return {
    name: scripts[kind],
    capture: (task) => {
      const one = Promise.withResolvers<Buffer>();
      last += 1;
      waiting.set(last, one);
      child.send({ id: last, ...task } satisfies ScriptRequest);
      return one.promise;
    },
    processes: () => (child.pid === undefined ? [] : [{ part: 'driver', pid: child.pid }]),
  };
}
