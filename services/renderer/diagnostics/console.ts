import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { ConsoleEntry } from '@webcapture/shared/api/diagnostics.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Page } from 'playwright';
import { attachSession } from '../browser/page.ts';
import type { Redactor } from './redact.ts';

/** The part of the protocol's description of a value that a message shows. */
interface RemoteValue {
  readonly type: string;
  readonly value?: unknown;
  readonly unserializableValue?: string;
  readonly description?: string;
}

/**
 * Reads what the document of a page has logged. Chromium keeps the latest 1000 messages of a document itself and sends them to whoever
 * enables the domain, so that nothing listens before, which would cost each capture time and which a page could notice.
 *
 * @param startedAt of the rendering, Unix milliseconds
 */
export async function readConsole(
  page: Page,
  startedAt: number,
  redactor: Redactor,
  timeoutMs: number,
): Promise<ConsoleEntry[]> {
  const entries: (ConsoleEntry & { readonly time: number })[] = [];
  const note = (time: number, level: string, text: string, url?: string, line?: number) => {
    entries.push({
      time,
      level: level.slice(0, limits.name),
      text: redactor.text(text),
      url: url === undefined || url === '' ? null : redactor.url(url),
      line: line === undefined || line < 0 ? null : line + 1,
      atMs: Math.max(0, Math.round(time - startedAt)),
    });
    if (entries.length > 2 * limits.console) entries.splice(0, limits.console);
  };
  const session = await withDeadline(attachSession(page), timeoutMs, 'the console');
  try {
    session.on('Runtime.consoleAPICalled', ({ type, args, timestamp, stackTrace }) => {
      const at = stackTrace?.callFrames[0];
      note(timestamp, type, args.map(shownValue).join(' '), at?.url, at?.lineNumber);
    });
    session.on('Runtime.exceptionThrown', ({ timestamp, exceptionDetails: { exception, text, url, lineNumber } }) => {
      note(
        timestamp,
        'exception',
        exception?.description?.split('\n    at ')[0] ?? shownError(text, exception),
        url,
        lineNumber,
      );
    });
    session.on('Log.entryAdded', ({ entry: { timestamp, level, text, url, lineNumber } }) => {
      note(timestamp, level, text, url, lineNumber);
    });
    // What is kept is sent before the answers.
    const enabled = Promise.all([session.send('Runtime.enable'), session.send('Log.enable')]);
    await withDeadline(enabled, timeoutMs, 'the console').catch(() => undefined);
  } finally {
    session.detach().catch(() => undefined);
  }
  const sorted = entries.toSorted((a, b) => a.time - b.time).slice(-limits.console);
  return sorted.map(({ time: _own, ...entry }) => entry);
}

const shownValue = ({ type, value, unserializableValue, description }: RemoteValue) =>
  String(value ?? unserializableValue ?? description ?? type);

const shownError = (text: string, exception: RemoteValue | undefined) =>
  exception === undefined ? text : `${text} ${shownValue(exception)}`;
