import { TestSite } from '../../harness/test-site.ts';
import { tableOf } from '../markdown.ts';
import type { BenchTask, Contender } from '../speed/contender.ts';
import { CapturedPdf, CapturedPicture } from './captured-file.ts';
import { paperCases } from './paper-cases.ts';
import { pictureCases } from './picture-cases.ts';
import type { QualityCase } from './quality-case.ts';

export const qualityGroups: Readonly<Record<string, readonly QualityCase[]>> = {
  ...pictureCases,
  'PDF on paper': paperCases,
};

/** The cases of a group that each contender gets right. */
export interface GroupResult {
  readonly group: string;
  readonly cases: number;
  readonly right: ReadonlyMap<Contender, number>;
}

/**
 * Captures each case with each contender, sequentially, and checks the files.
 *
 * @param log receives a line for each file
 */
export async function measureQuality(
  contenders: readonly Contender[],
  groups: Readonly<Record<string, readonly QualityCase[]>>,
  log: (line: string) => void,
): Promise<GroupResult[]> {
  const results: GroupResult[] = [];
  for (const [group, cases] of Object.entries(groups)) {
    const right = new Map(contenders.map((contender) => [contender, 0]));
    for (const one of cases) {
      for (const contender of contenders) {
        const wrong = await whatIsWrong(contender, one);
        log(`${one.name}, ${contender.name}: ${wrong ?? 'right'}`);
        if (wrong === undefined) right.set(contender, (right.get(contender) ?? 0) + 1);
      }
    }
    results.push({ group, cases: cases.length, right });
  }
  return results;
}

/** Returns why the file of a case is wrong, or missing; undefined if it is right. */
async function whatIsWrong(contender: Contender, one: QualityCase): Promise<string | undefined> {
  const site = await TestSite.start({ ...one.site });
  try {
    const task: BenchTask = {
      page: { name: one.name, path: '/', isFullPage: true },
      url: site.url(),
      format: 'checkPdf' in one ? 'pdf' : 'png',
      isChecked: true,
    };
    const file = await contender.capture(task);
    await ('checkPdf' in one ? one.checkPdf(await CapturedPdf.of(file)) : one.check(await CapturedPicture.of(file)));
    return undefined;
  } catch (error) {
    return (error as Error).message.replaceAll(/\s+/g, ' ').slice(0, 200);
  } finally {
    await site.close();
  }
}

/** A row for each group, and the share of all cases. */
export function qualityTable(contenders: readonly Contender[], results: readonly GroupResult[]): string {
  const all = results.reduce((sum, { cases }) => sum + cases, 0);
  const share = (contender: Contender) => {
    const right = results.reduce((sum, result) => sum + (result.right.get(contender) ?? 0), 0);
    return `${right} (${((right / all) * 100).toFixed(0)} %)`;
  };
  return tableOf(
    ['right captures', 'cases', ...contenders.map(({ name }) => name)],
    [
      ...results.map(({ group, cases, right }) => [
        group,
        String(cases),
        ...contenders.map((contender) => String(right.get(contender) ?? 0)),
      ]),
      ['all', String(all), ...contenders.map(share)],
    ],
  );
}
