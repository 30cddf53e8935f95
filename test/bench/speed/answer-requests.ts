import process from 'node:process';
import type { ScriptAnswer, ScriptRequest } from './script-contender.ts';

/** Handles the requests of the parent process until it disconnects, and then exits. */
export function answerRequests(capture: (request: ScriptRequest) => Promise<Buffer>, close: () => Promise<void>): void {
  const answer = (message: ScriptAnswer) => process.send?.(message);
  process.on('message', (request: ScriptRequest) => {
    capture(request).then(
      (bytes) => answer(bytes.length === 0 ? { id: request.id, error: 'an empty file' } : { id: request.id }),
      (error: unknown) => answer({ id: request.id, error: String(error) }),
    );
  });
  process.on('disconnect', () => {
    void close().finally(() => process.exit());
  });
  process.send?.('ready');
}
