import process from 'node:process';
import type { Percentiles } from '../http-load.ts';
import { benchFormats, type BenchTask, type Contender } from './contender.ts';
import type { SaturatedResult } from './measure.ts';

/** What the contenders made of one task. */
export interface Measured<Results> {
  readonly task: BenchTask;
  readonly results: Results;
}

interface Field {
  readonly fleet: Contender;
  readonly script: Contender;
  readonly floor: Contender;
  readonly contenders: readonly Contender[];
}

const goals = { script: 0.8, floor: 1.3, throughput: 1.3 } as const;

/** A table in Markdown: p50 and p99 of each, and our p50 as a share of the script's and of the floor's. */
export function printSequential(
  field: Field,
  rows: readonly Measured<Map<Contender, Percentiles>>[],
  rounds: number,
): void {
  const { contenders } = field;
  const p50 = (results: Map<Contender, Percentiles>, contender: Contender) => results.get(contender)?.p50 ?? Number.NaN;
  const share = (of: Contender) => rows.map(({ results }) => p50(results, field.fleet) / p50(results, of));
  const [toScript, toFloor] = [share(field.script), share(field.floor)];
  printTable(
    `One at a time: ms, p50 / p99 of ${rounds} captures each, taking turns`,
    ['page', 'format', ...contenders.map(({ name }) => name), 'of the script', 'of the floor'],
    [
      ...rows.map(({ task, results }, index) => [
        task.page.name,
        task.format,
        ...contenders.map((contender) => {
          const { p50: half, p99 } = results.get(contender) ?? { p50: Number.NaN, p99: Number.NaN };
          return `${half.toFixed(0)} / ${p99.toFixed(0)}`;
        }),
        ratio(toScript[index]),
        ratio(toFloor[index]),
      ]),
      ...meanRows(rows, contenders.length, [toScript, toFloor]),
      ['goal', '', ...contenders.map(() => ''), `at most ${goals.script}`, `at most ${goals.floor}`],
    ],
  );
}

/** A table in Markdown: captures a second of each, our rate as a multiple of the script's, and what a capture costs. */
export function printSaturated(
  field: Field,
  rows: readonly Measured<Map<Contender, SaturatedResult>>[],
  { clients, slots, seconds }: { readonly clients: number; readonly slots: number; readonly seconds: number },
): void {
  const { contenders } = field;
  const rate = (results: Map<Contender, SaturatedResult>, of: Contender) => results.get(of)?.perSecond ?? Number.NaN;
  const multiples = rows.map(({ results }) => rate(results, field.fleet) / rate(results, field.script));
  const cell = (result: SaturatedResult | undefined) => {
    if (result === undefined) return '';
    const { perSecond, p50, p99, cpuMsPerCapture } = result;
    const cpu = cpuMsPerCapture === undefined ? '' : `, ${cpuMsPerCapture.toFixed(0)} ms CPU`;
    return `${perSecond.toFixed(1)}/s (${p50.toFixed(0)} / ${p99.toFixed(0)} ms${cpu})`;
  };
  printTable(
    `${clients} clients at once on ${slots} cores: captures a second (p50 / p99, CPU time per capture), ${seconds} s each`,
    ['page', 'format', ...contenders.map(({ name }) => name), 'times the script'],
    [
      ...rows.map(({ task, results }, index) => [
        task.page.name,
        task.format,
        ...contenders.map((contender) => cell(results.get(contender))),
        ratio(multiples[index]),
      ]),
      ...meanRows(rows, contenders.length, [multiples]),
      ['goal', '', ...contenders.map(() => ''), `at least ${goals.throughput}`],
    ],
  );
  const memory = contenders.flatMap((contender) => {
    const most = Math.max(...rows.map(({ results }) => results.get(contender)?.memoryBytes ?? 0));
    return most === 0 ? [] : [`${contender.name} ${(most / slots / 1024 / 1024).toFixed(0)} MiB`];
  });
  process.stdout.write(`\nMost memory per slot, all processes: ${memory.join(', ')}\n`);
}

/** The geometric mean of each column of ratios: of each format, and of all. */
function meanRows(
  rows: readonly { readonly task: BenchTask }[],
  contenders: number,
  columns: readonly (readonly number[])[],
): string[][] {
  const empty = Array.from({ length: contenders }, () => '');
  const meanRow = (name: string, of: (task: BenchTask) => boolean) => [
    'mean',
    name,
    ...empty,
    ...columns.map((column) => ratio(meanOf(column.filter((_, index) => rows[index] && of(rows[index].task))))),
  ];
  return [
    ...benchFormats.map((format) => meanRow(format, (task) => task.format === format)),
    meanRow('all', () => true),
  ];
}

function printTable(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  process.stdout.write(`\n${title}\n\n${line(head)}${line(head.map(() => '---'))}${rows.map(line).join('')}`);
}

function ratio(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? '' : value.toFixed(2);
}

/** Geometric. */
function meanOf(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
