import process from 'node:process';
import type { ScriptAnswer, ScriptRequest } from './script-contender.ts';

/** Handles the requests of the parent process until it disconnects, and then exits. */
export function answerRequests(capture: (request: ScriptRequest) => Promise<Buffer>, close: () => Promise<void>): void {
  const answer = (message: ScriptAnswer) => process.send?.(message);
  process.on('message', (request: ScriptRequest) => {
    capture(request).then(
      (bytes) => answer(answerOf(request, bytes)),
      (error: unknown) => answer({ id: request.id, error: String(error) }),
    );
  });
  process.on('disconnect', () => {
    void close().finally(() => process.exit());
  });
  process.send?.('ready');
}

function answerOf({ id, isChecked }: ScriptRequest, bytes: Buffer): ScriptAnswer {
  if (bytes.length === 0) return { id, error: 'an empty file' };
  return isChecked === true ? { id, file: bytes.toString('base64') } : { id };
}
