import type { Format } from '@webcapture/shared/api/formats.ts';
import type { FailOn } from '@webcapture/shared/api/option-schemas.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Page } from 'playwright';
import { callTimeoutMs } from './deadline.ts';
import type { OpenPage } from './open.ts';
import type { RenderReport } from './report.ts';

/** Maximum length of an error message of the page. */
const maxErrorCharacters = 200;

/** The first error of a page's scripts. */
export interface ConsoleWatch {
  readonly error: string | undefined;
}

/** Records the first error of the page's scripts: `console.error`, a failed `console.assert` or an uncaught exception. */
export async function watchConsole({ page, deadline }: OpenPage): Promise<ConsoleWatch> {
  return deadline.run(listen(page), callTimeoutMs, 'listening to the console');
}

async function listen(page: Page): Promise<ConsoleWatch> {
  // The session is separate, so that other sessions get no events for the page's log.
  const session = await page.context().newCDPSession(page);
  let first: string | undefined;
  const note = (text: string) => {
    if (first !== undefined) return;
    first = text;
    // Further errors are not needed, and a page may log errors endlessly.
    session.send('Runtime.disable').catch(() => undefined);
  };
  session.on('Runtime.consoleAPICalled', ({ type, args }) => {
    if (type !== 'error' && type !== 'assert') return;
    note(args.map(({ value, description }) => String(value ?? description ?? '')).join(' '));
  });
  session.on('Runtime.exceptionThrown', ({ exceptionDetails: { exception, text } }) => {
    note(exception?.description?.split('\n')[0] ?? text);
  });
  await session.send('Runtime.enable');
  return {
    get error() {
      return first;
    },
  };
}

/**
 * Compares a capture with the `failOn` conditions of its request.
 *
 * @throws ServiceError CAPTURE_FAILED that names the condition
 */
export function assertWanted(
  { status = [], blank, challenge }: FailOn,
  report: Pick<RenderReport, 'httpStatus' | 'blank' | 'challenge'> & { readonly format: Format },
  errors: ConsoleWatch | undefined,
): void {
  const { httpStatus } = report;
  if (httpStatus !== null && status.some((one) => one === httpStatus || one === `${Math.floor(httpStatus / 100)}xx`)) {
    throw unwanted(`the page answered with status ${httpStatus}`, 'status');
  }
  if (challenge === true && report.challenge) throw unwanted('the page shows a bot check', 'challenge');
  if (errors?.error !== undefined) {
    const said = [...errors.error].slice(0, maxErrorCharacters).join('');
    throw unwanted(`a script of the page failed: ${said}`, 'consoleErrors');
  }
  if (blank === true && report.blank) {
    const what = report.format === 'pdf' ? 'the pages of the pdf are empty' : 'the image has a single color';
    throw unwanted(what, 'blank');
  }
}

function unwanted(what: string, option: keyof FailOn): ServiceError {
  return new ServiceError('CAPTURE_FAILED', `failOn.${option}: ${what}.`, { causedBy: 'client' });
}
