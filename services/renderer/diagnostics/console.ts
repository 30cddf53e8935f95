import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { ConsoleEntry } from '@webcapture/shared/api/diagnostics.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Page } from 'playwright';
import { attachSession } from '../browser/driver.ts';
import type { Redactor } from './redact.ts';

/** A message as Chromium sends it. */
interface Message {
  /** Unix milliseconds. */
  readonly time: number;
  readonly level: string;
  readonly text: string;
  readonly url?: string | undefined;
  /** Counts from 0. */
  readonly line?: number | undefined;
}

/** Those parts of the protocol's description of a value that a message shows. */
interface RemoteValue {
  readonly type: string;
  /** The value of a primitive. */
  readonly value?: string | number | boolean | null;
  readonly description?: string;
}

/**
 * Reads what the document of a page has logged. Chromium keeps the latest 1000 messages of a document and sends them when the domains are
 * enabled. No session listens during rendering, because that would cost time and the page could detect it.
 *
 * @param startedAt start of the rendering, Unix milliseconds
 */
export async function readConsole(
  page: Page,
  startedAt: number,
  redactor: Redactor,
  timeoutMs: number,
): Promise<ConsoleEntry[]> {
  const messages: Message[] = [];
  const session = await withDeadline(attachSession(page), timeoutMs, 'the console');
  try {
    session.on('Runtime.consoleAPICalled', ({ type, args, timestamp, stackTrace }) => {
      const at = stackTrace?.callFrames[0];
      const text = args.map(shownValue).join(' ');
      messages.push({ time: timestamp, level: type, text, url: at?.url, line: at?.lineNumber });
    });
    session.on(
      'Runtime.exceptionThrown',
      ({ timestamp, exceptionDetails: { exception, text: summary, url, lineNumber } }) => {
        const text = exception?.description?.split('\n    at ')[0] ?? shownError(summary, exception);
        messages.push({ time: timestamp, level: 'exception', text, url, line: lineNumber });
      },
    );
    session.on('Log.entryAdded', ({ entry: { timestamp, level, text, url, lineNumber } }) => {
      messages.push({ time: timestamp, level, text, url, line: lineNumber });
    });
    // Chromium sends the stored messages before it answers.
    const enabled = Promise.all([session.send('Runtime.enable'), session.send('Log.enable')]);
    await withDeadline(enabled, timeoutMs, 'the console').catch(() => undefined);
  } finally {
    session.detach().catch(() => undefined);
  }
  const latest = messages.toSorted((a, b) => a.time - b.time).slice(-limits.console);
  return latest.map(({ time, level, text, url = '', line = -1 }) => ({
    level: level.slice(0, limits.name),
    text: redactor.text(text),
    url: url === '' ? null : redactor.url(url),
    line: line < 0 ? null : line + 1,
    atMs: Math.max(0, Math.round(time - startedAt)),
  }));
}

const shownValue = ({ type, value, description }: RemoteValue) =>
  String(value === undefined ? (description ?? type) : value);

const shownError = (summary: string, exception: RemoteValue | undefined) =>
  exception === undefined ? summary : `${summary} ${shownValue(exception)}`;
