import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take minutes and mostly wait (elections, expiries). They run in parallel with the others of their group. */
const ahead: readonly string[] = ['/chaos/three-nodes.test.ts', '/chaos/front-and-controller.test.ts'];

/** Order of the groups, which are not mixed. Consecutive files of the same project keep their worker, with what its files share. */
const projects: readonly string[] = ['corpus', 'integration', 'unit', 'kube', 'e2e', 'chaos'];

/**
 * The longest files of each project. Files that use much processor time start before files that wait (account life, regions and status),
 * which then run in parallel. The first file is that of the responses of the front: it makes one capture after another and needs low
 * latency.
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

/** Files by project, the longest of each first, so that the last files to start are short. */
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
