import { tableOf } from '../markdown.ts';
import type { BenchFormat, BenchTask, Contender } from './contender.ts';
import { totalOf, type SaturatedResult, type SequentialResult } from './measure.ts';
import { ownTimeOf, withoutIdle, type ProcessorTime } from './process-cost.ts';
import { meanOf } from './turns.ts';

export const mebibyte = 1024 ** 2;

/** The results of the contenders for one task. */
export interface Measured<Result> {
  readonly task: BenchTask;
  readonly results: ReadonlyMap<Contender, Result>;
}

export interface Field {
  readonly fleet: Contender;
  readonly script: Contender;
  readonly floor: Contender;
  readonly protocol: Contender;
  readonly contenders: readonly Contender[];
}

const goals = {
  script: 'at most 0.75',
  scriptEach: 'at most 0.95',
  floor: 'at most 1.35',
  saturated: 'at least 1.2',
  saturatedPng: 'at least 1.4',
  saturatedEach: 'at least 0.95',
  account: 'at most 0.45',
  accountSaturated: 'at least 2.0',
  ownMs: 'at most 20',
  memory: 'at most 343 MiB',
} as const;

/**
 * Columns: p50 with the p50 of the fastest and the slowest block, and p99. Then follow the ratios of our p50 to that of the script, and to
 * that of the floor.
 */
export function sequentialTable(field: Field, rows: readonly Measured<SequentialResult>[]): string {
  const [toScript, toFloor] = shares(field, rows);
  return tableOf(
    ['page', 'format', ...namesOf(field.contenders), 'of the script', 'of the floor'],
    [
      ...rows.map(({ task, results }, index) => [
        ...titleOf(task),
        ...field.contenders.map((contender) => spreadCell(results.get(contender))),
        ratio(toScript[index]),
        ratio(toFloor[index]),
      ]),
      ...meanRows(rows, field.contenders.length, [toScript, toFloor]),
      ['most', '', ...blank(field.contenders), ratio(Math.max(...toScript)), ratio(Math.max(...toFloor))],
      ['goal, mean', '', ...blank(field.contenders), goals.script, goals.floor],
      ['goal, each', '', ...blank(field.contenders), goals.scriptEach, ''],
    ],
  );
}

/** The same ratios, measured in blocks and by capture. */
export function turnsTable(
  field: Field,
  blocks: readonly Measured<SequentialResult>[],
  captures: readonly Measured<SequentialResult>[],
): string {
  const columns = [...shares(field, blocks), ...shares(field, captures)];
  return tableOf(
    [
      'page',
      'format',
      'of the script, in blocks',
      'of the floor, in blocks',
      'of the script, by capture',
      'of the floor, by capture',
    ],
    [
      ...blocks.map(({ task }, index) => [...titleOf(task), ...columns.map((column) => ratio(column[index]))]),
      ...meanRows(blocks, 0, columns),
    ],
  );
}

/** Captures per second with the slowest and fastest round, latency, and processor time of a capture. */
export function saturatedTable(field: Field, rows: readonly Measured<SaturatedResult>[]): string {
  const multiples = rows.map(({ results }) => rateOf(results.get(field.fleet)) / rateOf(results.get(field.script)));
  return tableOf(
    ['page', 'format', ...namesOf(field.contenders), 'times the script'],
    [
      ...rows.map(({ task, results }, index) => [
        ...titleOf(task),
        ...field.contenders.map((contender) => saturatedCell(results.get(contender))),
        ratio(multiples[index]),
      ]),
      ...meanRows(rows, field.contenders.length, [multiples]),
      ['least', '', ...blank(field.contenders), ratio(Math.min(...multiples))],
      ['goal, mean', '', ...blank(field.contenders), goals.saturated],
      ['goal, mean', 'png', ...blank(field.contenders), goals.saturatedPng],
      ['goal, each', '', ...blank(field.contenders), goals.saturatedEach],
    ],
  );
}

/** Memory per slot by kind of process, at the moment at which the processes together used the most. */
export function memoryTable(
  contenders: readonly Contender[],
  rows: readonly Measured<SaturatedResult>[],
  slots: number,
) {
  const seen = contenders.filter((contender) => contender.processes().length > 0);
  const largest = seen.map((contender) => largestMemoryOf(contender, rows));
  const kinds = [...new Set(largest.flatMap((memory) => [...memory.keys()]))];
  const perSlot = (bytes: number | undefined) => (bytes === undefined ? '' : inMebibytes(bytes / slots));
  return tableOf(
    ['process', ...namesOf(seen)],
    [
      ...kinds.map((kind) => [kind, ...largest.map((memory) => perSlot(memory.get(kind)))]),
      ['all', ...largest.map((memory) => perSlot(totalOf(memory)))],
      ['goal', goals.memory, ...blank(seen.slice(1))],
    ],
  );
}

/** Returns the memory by kind of process at the moment at which the processes of a contender used the most. */
function largestMemoryOf(
  contender: Contender,
  rows: readonly Measured<SaturatedResult>[],
): ReadonlyMap<string, number> {
  const all = rows.map(({ results }) => results.get(contender)?.memory ?? new Map<string, number>());
  return all.toSorted((a, b) => totalOf(b) - totalOf(a))[0] ?? new Map<string, number>();
}

/** Returns the maximum memory of a contender's processes per slot, in bytes. */
export const memoryPerSlot = (contender: Contender, rows: readonly Measured<SaturatedResult>[], slots: number) =>
  totalOf(largestMemoryOf(contender, rows)) / slots;

/** Returns p95 / p50 of a contender's captures at saturation, as the mean of the tasks. */
export const tailOf = (contender: Contender, rows: readonly Measured<SaturatedResult>[]) =>
  meanOf(rows.flatMap(({ results }) => results.get(contender) ?? []).map(({ p50, p95 }) => p95 / p50));

export const inMebibytes = (bytes: number) => `${(bytes / mebibyte).toFixed(0)} MiB`;

export const overviewFormats: readonly BenchFormat[] = ['png', 'pdf'];

/** The figures for a choice between the contenders: p50 of sequential captures, captures per second under load, spread, and memory. */
export function overviewTable(
  { contenders }: Pick<Field, 'contenders'>,
  sequential: readonly Measured<SequentialResult>[],
  saturated: readonly Measured<SaturatedResult>[],
  slots: number,
): string {
  const load = `${slots * 2} clients`;
  const figures = sequential.flatMap(({ task, results }, index) => {
    if (!overviewFormats.includes(task.format)) return [];
    const name = titleOf(task).join(', ');
    const rates = saturated[index]?.results;
    return [
      [`${name}: alone`, ...contenders.map((contender) => `${results.get(contender)?.p50.toFixed(0)} ms`)],
      [`${name}: ${load}`, ...contenders.map((contender) => `${rateOf(rates?.get(contender)).toFixed(1)}/s`)],
    ];
  });
  const memoryOf = (contender: Contender) =>
    contender.processes().length === 0 ? '' : inMebibytes(memoryPerSlot(contender, saturated, slots));
  return tableOf(
    ['capture', ...namesOf(contenders)],
    [
      ...figures,
      [`p95 / p50 with ${load}, mean`, ...contenders.map((contender) => ratio(tailOf(contender, saturated)))],
      ['memory per slot', ...contenders.map(memoryOf)],
    ],
  );
}

/**
 * The processor time of a capture by process of the service, and of Chromium: for the service, for the script, and without a driver. The
 * idle share is in a separate row.
 */
export function ownTimeTable(
  field: Field,
  rows: readonly Measured<SequentialResult>[],
  idle: ReadonlyMap<Contender, ProcessorTime>,
): string {
  const parts = [...new Set(field.fleet.processes().map(({ part }) => part))];
  const cellsOf = (timeOf: (contender: Contender) => ProcessorTime | undefined) => {
    const [ours, scripts, least] = [field.fleet, field.script, field.protocol].map(timeOf);
    return [
      ...parts.map((part) => ours?.own[part]),
      ours && ownTimeOf(ours),
      ours?.browsers,
      scripts && ownTimeOf(scripts),
      scripts?.browsers,
      least?.browsers,
    ];
  };
  const cells = rows.map(({ results }) =>
    cellsOf((contender) => {
      const [cost, atRest] = [results.get(contender)?.cost, idle.get(contender)];
      return cost && atRest && withoutIdle(cost.time, atRest, cost.ms);
    }),
  );
  const columns = [...parts, 'own part', 'Chromium', 'script', 'its Chromium', 'Chromium without a driver'];
  const mean = columns.map(
    (_, column) => cells.reduce((sum, row) => sum + (row[column] ?? Number.NaN), 0) / cells.length,
  );
  const ms = (value: number | undefined) => (value === undefined ? '' : value.toFixed(0));
  const atRest = cellsOf((contender) => idle.get(contender)).map((value) => ms(value && value * 1000));
  return tableOf(
    ['page', 'format', ...columns],
    [
      ...rows.map(({ task }, index) => [...titleOf(task), ...(cells[index] ?? []).map(ms)]),
      ['mean', '', ...mean.map(ms)],
      ['goal', '', ...blank(parts), goals.ownMs, '', '', '', ''],
      ['idle, per second', '', ...atRest],
    ],
  );
}

/** The contenders that capture the HTML of an account: a script, and others. The last of them has the requested isolation. */
export interface IsolationField {
  readonly script: Contender;
  readonly others: readonly Contender[];
}

export function isolationSequentialTable(field: IsolationField, rows: readonly Measured<SequentialResult>[]): string {
  const p50 = (result: SequentialResult | undefined) => result?.p50 ?? Number.NaN;
  return isolationTable(field, rows, { cell: spreadCell, value: p50, than: 'of the script', goal: goals.account });
}

export function isolationSaturatedTable(field: IsolationField, rows: readonly Measured<SaturatedResult>[]): string {
  const goal = goals.accountSaturated;
  return isolationTable(field, rows, { cell: saturatedCell, value: rateOf, than: 'times the script', goal });
}

function isolationTable<Result>(
  { script, others }: IsolationField,
  rows: readonly Measured<Result>[],
  {
    cell,
    value,
    than,
    goal,
  }: {
    readonly cell: (result: Result | undefined) => string;
    readonly value: (result: Result | undefined) => number;
    readonly than: string;
    readonly goal: string;
  },
): string {
  const contenders = [script, ...others];
  const columns = others.map((other) =>
    rows.map(({ results }) => value(results.get(other)) / value(results.get(script))),
  );
  return tableOf(
    ['page', 'format', ...namesOf(contenders), ...others.map(({ name }) => `${name}, ${than}`)],
    [
      ...rows.map(({ task, results }, index) => [
        ...titleOf(task),
        ...contenders.map((contender) => cell(results.get(contender))),
        ...columns.map((column) => ratio(column[index])),
      ]),
      ...meanRows(rows, contenders.length, columns),
      ['goal, mean', '', ...blank(contenders), ...blank(others.slice(1)), goal],
    ],
  );
}

function shares(field: Field, rows: readonly Measured<SequentialResult>[]): [number[], number[]] {
  const p50 = ({ results }: Measured<SequentialResult>, of: Contender) => results.get(of)?.p50 ?? Number.NaN;
  const share = (of: Contender) => rows.map((row) => p50(row, field.fleet) / p50(row, of));
  return [share(field.script), share(field.floor)];
}

/** Returns the geometric mean of each column of ratios, by format and overall. */
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
  const formats = [...new Set(rows.map(({ task }) => task.format))];
  return [...formats.map((format) => meanRow(format, (task) => task.format === format)), meanRow('all', () => true)];
}

const namesOf = (contenders: readonly Contender[]) => contenders.map(({ name }) => name);
const blank = (columns: readonly unknown[]) => columns.map(() => '');
const titleOf = ({ page, format }: BenchTask) => [page.name, format];
const rateOf = (result: SaturatedResult | undefined) => result?.perSecond ?? Number.NaN;

function spreadCell(result: SequentialResult | undefined): string {
  if (result === undefined) return '';
  const { p50, p99, leastP50, mostP50 } = result;
  return `${p50.toFixed(0)} (${leastP50.toFixed(0)} to ${mostP50.toFixed(0)}) / ${p99.toFixed(0)}`;
}

function saturatedCell(result: SaturatedResult | undefined): string {
  if (result === undefined) return '';
  const { perSecond, leastPerSecond, mostPerSecond, p50, p99, time } = result;
  const cpu = time === undefined ? '' : `, ${(ownTimeOf(time) + time.browsers).toFixed(0)} ms CPU`;
  const spread = `${leastPerSecond.toFixed(1)} to ${mostPerSecond.toFixed(1)}`;
  return `${perSecond.toFixed(1)}/s (${spread}; ${p50.toFixed(0)} / ${p99.toFixed(0)} ms${cpu})`;
}

function ratio(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? '' : value.toFixed(2);
}
