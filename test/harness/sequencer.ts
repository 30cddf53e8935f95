import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** These take minutes and wait for most of them (elections, expiries): beside all the others of their group. */
const ahead: readonly string[] = ['/chaos/three-nodes.test.ts', '/chaos/front-and-controller.test.ts'];

/** They go in this order, not mixed: a worker, with what its files share, is kept as long as the next file is of its project. */
const projects: readonly string[] = ['corpus', 'integration', 'unit', 'kube', 'e2e', 'chaos'];

/**
 * The longest files of each project. Those that keep the processors busy come before those that wait (the life of an
 * account, regions and status), which go beside them then; before both the answers of the front, which take one capture
 * after another and are to get them soon.
 */
const longest: readonly string[] = [
  '/corpus/hostile.test.ts',
  '/corpus/lazy-images.test.ts',
  '/corpus/consent.test.ts',
  '/corpus/appearing.test.ts',
  '/webhooks/fairness.test.ts',
  '/egress/payloads/payloads.test.ts',
  '/deploy/run.test.ts',
  '/kube/kube.test.ts',
  '/e2e/answer.test.ts',
  '/e2e/request-bounds.test.ts',
  '/e2e/picture-options.test.ts',
  '/e2e/account-life.test.ts',
  '/e2e/regions-and-status.test.ts',
  '/e2e/real-sites.test.ts',
  '/e2e/load.test.ts',
  '/e2e/errors.test.ts',
  '/chaos/renderer.test.ts',
  '/chaos/background.test.ts',
];

/** Files by their projects, and the longest of each before the others: what begins last is to end soon. */
export class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted
      .map((file) => ({ file, rank: rankOf(file) }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ file }) => file);
  }
}

function rankOf({ moduleId, project: { config, name } }: TestSpecification): number {
  const group = config.sequence.groupOrder * 10_000;
  const first = ahead.findIndex((path) => moduleId.endsWith(path));
  if (first >= 0) return group + first;
  const at = longest.findIndex((path) => moduleId.endsWith(path));
  return group + (projects.indexOf(name) + 1) * 1000 + (at < 0 ? longest.length : at);
}
