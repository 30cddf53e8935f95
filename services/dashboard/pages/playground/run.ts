import type { CaptureOptions, CaptureProgress, CaptureResult } from '@webcapture/client';
import { signal } from '@preact/signals';
import { isAbort } from '../../shell/errors.ts';
import { client, onKeyChange } from '../../shell/session.ts';
import type { Body } from './schema.ts';

/** The state of the latest capture. */
export type Run =
  | { readonly state: 'idle' }
  | {
      readonly state: 'running';
      /** Unix milliseconds. */
      readonly startedAt: number;
      readonly request: Body;
      /** The latest reported step of an interactive capture. */
      readonly progress?: CaptureProgress;
      /** UUID of an accepted background capture. */
      readonly uuid?: string;
      readonly status?: string;
      readonly estimatedWaitSeconds?: number | null;
    }
  | { readonly state: 'done'; readonly request: Body; readonly result: CaptureResult; readonly elapsedMs: number }
  | { readonly state: 'failed'; readonly request: Body; readonly error: unknown; readonly elapsedMs: number };

export const run = signal<Run>({ state: 'idle' });

let current: AbortController | undefined;

onKeyChange(() => {
  current?.abort();
  run.value = { state: 'idle' };
});

/** Starts a capture. Follows a background capture until it ends, even while the user visits another page. */
export async function start(request: Body): Promise<void> {
  current?.abort();
  const life = new AbortController();
  current = life;
  const { signal } = life;
  const startedAt = Date.now();
  const elapsed = () => Date.now() - startedAt;
  run.value = { state: 'running', startedAt, request };
  try {
    const onProgress = (progress: CaptureProgress) => {
      if (!signal.aborted) run.value = { state: 'running', startedAt, request, progress };
    };
    const accepted = await client().capture(request as CaptureOptions, { signal, onProgress });
    const result = 'report' in accepted ? accepted : await followed(accepted, { request, startedAt, signal });
    if (!signal.aborted) run.value = { state: 'done', request, result, elapsedMs: elapsed() };
  } catch (error) {
    if (signal.aborted || isAbort(error)) return;
    run.value = { state: 'failed', request, error, elapsedMs: elapsed() };
  }
}

interface Followed {
  readonly request: Body;
  readonly startedAt: number;
  readonly signal: AbortSignal;
}

async function followed(
  accepted: { readonly uuid: string; readonly status: string; readonly estimatedWaitSeconds?: number | null },
  { request, startedAt, signal }: Followed,
): Promise<CaptureResult> {
  const { uuid, estimatedWaitSeconds = null } = accepted;
  const show = (status: string) => {
    if (!signal.aborted) run.value = { state: 'running', startedAt, request, uuid, status, estimatedWaitSeconds };
  };
  show(accepted.status);
  const ended = await client().waitFor(uuid, { signal, onState: ({ status }) => show(status) });
  if ('report' in ended) return ended;
  throw new Error('The capture was deleted before it had a file.');
}

/** Stops waiting. An interactive capture that has not started ends with its connection; a background capture is deleted. */
export async function cancel(): Promise<void> {
  const { value } = run;
  current?.abort();
  run.value = { state: 'idle' };
  if (value.state === 'running' && value.uuid !== undefined) await client().deleteCapture(value.uuid);
}
