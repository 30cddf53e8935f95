import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { scriptTimeoutMs } from '@webcapture/shared/api/option-table.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import type { CDPSession, Frame } from 'playwright';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { callTimeoutMs } from './deadline.ts';
import { followMove, hasMoved } from './follow-move.ts';
import type { OpenPage } from './open.ts';
import { hasPainted } from './scripts/measures.ts';
import { noteAddedStyle } from './scripts/styles.ts';
import { inAnyDocument, missedInSilence } from './wait-for.ts';

/** Time limit for an answer of the page. A page that answers within it is not in an endless loop. */
const answerTimeoutMs = 1000;
/** Maximum length of the error message of a script. */
const maxErrorCharacters = 500;
/** Maximum length of the error text that is parsed. The page controls its length. */
const maxLookedAt = 10_000;

/** The style sheet that a capture adds to its page. */
export interface AddedStyle {
  /**
   * Adds the style sheet to the current document, if it is missing.
   *
   * @throws DeadlineError, DocumentGoneError
   */
  keep(): Promise<void>;
}

/**
 * Adds a style sheet to every document of the page from now on, with the means of the developer tools. The page cannot see or remove the
 * sheet, and the content security policy of the page does not apply to it.
 */
export async function addStyle(open: OpenPage, css: string): Promise<AddedStyle> {
  const { page, deadline, frameId } = open;
  const session = await page.context().newCDPSession(page);
  let styledLoaderId: string | undefined;
  let last: Promise<void> = Promise.resolve();
  const add = async () => {
    const { loaderId } = (await session.send('Page.getFrameTree')).frameTree.frame;
    // Setting the same sheet again would load its fonts again.
    if (loaderId === styledLoaderId) return;
    await insertSheet(session, frameId, css);
    styledLoaderId = loaderId;
  };
  /** The calls run one after another, because all of them share one session. */
  const addNext = () => (last = last.catch(() => undefined).then(add));
  const onNavigated = (frame: Frame) => {
    // The call rejects if the page has navigated again. That navigation fires another event.
    if (frame === page.mainFrame()) addNext().catch(() => undefined);
  };
  page.on('framenavigated', onNavigated);
  open.onRelease(() => page.off('framenavigated', onNavigated));
  return {
    keep: async () => {
      const added = addNext().catch(() => {
        throw new DocumentGoneError(undefined);
      });
      await deadline.run(added, callTimeoutMs, 'adding the style sheet');
      await open.world.call(noteAddedStyle, [], { timeoutMs: callTimeoutMs, what: 'the style sheet' });
    },
  };
}

async function insertSheet(session: CDPSession, frameId: string, text: string): Promise<void> {
  await Promise.all([session.send('DOM.enable'), session.send('CSS.enable')]);
  const { styleSheetId } = await session.send('CSS.createStyleSheet', { frameId, force: false });
  await session.send('CSS.setStyleSheetText', { styleSheetId, text });
  // The sheet stays after `CSS.disable`. While CSS is enabled, the session gets an event for every sheet of the page.
  await Promise.all([session.send('CSS.disable'), session.send('DOM.disable')]);
}

/**
 * Runs a script in the page as the body of an async function and waits until it ends. If the script starts a navigation, waits for the new
 * document.
 *
 * @returns the message of the script's error if the script failed
 */
export async function runScript(open: OpenPage, script: string, options: RenderOptions): Promise<string | undefined> {
  const { world } = open;
  const answered = await inAnyDocument(performance.now() + callTimeoutMs, (left) =>
    world.call(hasPainted, [], { timeoutMs: left + answerTimeoutMs, what: 'the page' }),
  ).catch(missedInSilence);
  if (answered === 'missed') return 'The script was not run, since the scripts of the page did not pause.';
  const error = await evaluateScript(open, script);
  if (await hasMoved(open)) await followMove(open, options);
  return error;
}

async function evaluateScript(open: OpenPage, script: string): Promise<string | undefined> {
  // With the line breaks, a comment at the end of the script cannot hide the end of the wrapper. In strict mode, functions of the page that
  // the script calls cannot read the source of their caller.
  const expression = `(async () => { 'use strict'; await (async () => {\n${script}\n})(); })()`;
  // The page's content security policy and its changes to globals do not affect code that the protocol evaluates.
  const evaluated = open.cdp.send('Runtime.evaluate', { expression, awaitPromise: true, silent: true }).then(
    ({ exceptionDetails }) => exceptionDetails && describeError(exceptionDetails),
    // The document no longer exists.
    () => undefined,
  );
  try {
    return await open.deadline.run(evaluated, scriptTimeoutMs, 'the script');
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    await endLoop(open);
    return `The script timed out after ${scriptTimeoutMs / 1000} s.`;
  }
}

/** Terminates a script that blocks the page. A script that only waits continues. */
async function endLoop({ world, cdp, deadline }: OpenPage): Promise<void> {
  try {
    await world.callInAny(hasPainted, [], { timeoutMs: answerTimeoutMs, what: 'the page' });
  } catch (error) {
    if (error instanceof DocumentGoneError) return;
    if (!(error instanceof DeadlineError)) throw error;
    const ended = cdp.send('Runtime.terminateExecution').catch(() => undefined);
    await deadline.run(ended, callTimeoutMs, 'ending the script');
  }
}

/** Fields of an error in the protocol. */
interface ExceptionDetails {
  readonly text: string;
  readonly lineNumber: number;
  readonly exception?: { readonly subtype?: string; readonly description?: string; readonly value?: unknown };
}

/** Returns the message of the error, with the line of the script if known. */
function describeError({ exception, lineNumber, text }: ExceptionDetails): string {
  const { description, subtype, value } = exception ?? { description: text };
  const said = (description ?? String(value)).slice(0, maxLookedAt);
  const [message = said, frame] = subtype === 'error' ? said.split('\n    at ') : [said];
  // The evaluated code has no URL and starts one line before the script. A syntax error has no stack frame, but a line number.
  const line = frame === undefined ? lineNumber : Number(/<anonymous>:(\d+):\d+\)?$/.exec(frame)?.[1] ?? 1) - 1;
  const start = [...message].slice(0, maxErrorCharacters).join('');
  return line > 0 ? `${start} (line ${line})` : start;
}
