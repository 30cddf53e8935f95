import type { Diagnostics } from '@webcapture/client';
import { type Cell, table } from '../text.ts';

const seconds = (ms: number | null) => (ms === null ? null : `${(ms / 1000).toFixed(2)} s`);

/** Returns diagnostics as tables with headings, without empty tables. */
export function describeDiagnostics(diagnostics: Diagnostics, width?: number): string {
  const { refresh, error, steps, waits, console, requests, requestCount, blocked, moving } = diagnostics;
  const section = (title: string, header: readonly string[], rows: readonly (readonly Cell[])[]) =>
    rows.length === 0 ? '' : `\n${title}\n${table(header, rows, width)}`;
  const still = moving === null ? [] : movingRows(moving);
  return [
    refresh === 0 || error === null ? '' : `\nThe diagnostics are about refresh ${refresh}, which failed.\n`,
    section(
      'Steps',
      ['START', 'TIME', 'STEP'],
      steps.map((step) => [
        seconds(step.startMs),
        seconds(step.durationMs),
        step.failed ? `${step.name} (failed)` : step.name,
      ]),
    ),
    section(
      'Waits',
      ['START', 'TIME', 'FOR'],
      waits.map((wait) => [
        seconds(wait.startMs),
        seconds(wait.durationMs),
        wait.timedOut ? `${wait.what} (timed out)` : wait.what,
      ]),
    ),
    section(
      'Console',
      ['TIME', 'LEVEL', 'SOURCE', 'TEXT'],
      console.map(({ atMs, level, url, line, text }) => [
        seconds(atMs),
        level,
        url === null ? null : `${url.slice(-60)}${line === null ? '' : `:${line}`}`,
        text,
      ]),
    ),
    section(
      `Requests (${requests.length} of ${requestCount})`,
      ['START', 'TIME', 'STATUS', 'BYTES', 'TYPE', 'METHOD', 'URL'],
      requests.map(({ startMs, durationMs, error: reason, status, bytes, type, method, url }) => [
        seconds(startMs),
        durationMs === null ? 'not ended' : seconds(durationMs),
        reason ?? status,
        bytes,
        type,
        method,
        url,
      ]),
    ),
    section(
      'Blocked requests',
      ['RULE', 'FILTER', 'TYPE', 'URL'],
      blocked.map(({ rule, filter, type, url }) => [rule, filter, type, url]),
    ),
    section('Still loading or moving', ['WHAT', 'NAME'], still),
  ].join('');
}

function movingRows({ readyState, images, fonts, animations }: NonNullable<Diagnostics['moving']>): Cell[][] {
  return [
    ...(readyState === 'complete' ? [] : [['document', readyState]]),
    ...images.map((url) => ['image', url]),
    ...fonts.map((family) => ['font', family]),
    ...animations.map(({ name, element }) => ['animation', `${name} of ${element}`]),
  ];
}
