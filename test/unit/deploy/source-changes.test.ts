import { describe, expect, test } from 'vitest';
import { affectedBy, describeEdit } from '../../../deploy/local/source-changes.ts';

const affected = (...paths: string[]) => {
  const { services, dashboard } = affectedBy(paths);
  return [...services, ...(dashboard ? ['dashboard'] : [])];
};

describe('affectedBy', () => {
  test.each<[string, string[]]>([
    ['front/api/capture.ts', ['front']],
    ['front/plugins/status-page/style.css', ['front']],
    ['renderer/page/render.ts', ['renderer']],
    ['controller/main.ts', ['controller']],
    ['shared/runtime/env.ts', ['front', 'controller', 'renderer', 'dashboard']],
    ['dashboard/pages/usage.tsx', ['dashboard']],
    ['client/client.ts', ['dashboard']],
    ['cli/main.ts', []],
  ])('%s affects %j', (path, expected) => {
    expect(affected(path)).toEqual(expected);
  });

  test('several files affect the union of their services', () => {
    expect(affected('renderer/main.ts', 'front/main.ts', 'dashboard/app.tsx')).toEqual([
      'front',
      'renderer',
      'dashboard',
    ]);
  });

  test.each([
    'dashboard/dist/index.html',
    'front/node_modules/a/index.js',
    'front/.main.ts.swp',
    'front/.git/index',
    'front/main.ts~',
    'front/4913',
    'renderer/README.md',
    'front',
  ])('%s affects nothing', (path) => {
    expect(affected(path)).toEqual([]);
  });
});

test('an edit is described by its first source and the number of other sources', () => {
  expect(describeEdit(['front/.a.swp', 'front/a.ts'])).toBe('services/front/a.ts');
  expect(describeEdit(['front/a.ts', 'front/b.ts', 'shared/c.ts'])).toBe('services/front/a.ts and 2 more');
});
