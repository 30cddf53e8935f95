export const pageFolder = 'services/renderer/page';

/** The tests of files that have no row below: captures of every kind, without slow ones. */
const others = ['corpus/whole-documents', 'corpus/late-content', 'corpus/documents'];

/** The test of the names of waits. Almost every file outside of `scripts` has waits. */
const namesOfWaits = 'integration/capture/wait-names';

/**
 * The tests of each file of the page folder. Every capture runs most of these files, so a mutant that no test detects would take hours with
 * all tests that run its file. A mutant that survives these tests may still fail another one.
 */
export const pageTests: Readonly<Record<string, readonly string[]>> = {
  'click.ts': ['unit/renderer/click', 'corpus/clicking', 'corpus/failed-steps', 'integration/capture/option-payloads'],
  'client-code.ts': ['unit/renderer/client-code', 'corpus/client-code'],
  'credentials.ts': ['unit/renderer/credentials', 'corpus/credentials'],
  'deadline.ts': ['unit/renderer/deadline', 'integration/capture/survive', 'corpus/third-parties'],
  'engine.ts': ['integration/capture/survive', 'integration/capture/open', 'corpus/reused-pages'],
  'extract.ts': ['unit/renderer/extract', 'corpus/extracting'],
  'fail-on.ts': ['unit/renderer/fail-on', 'corpus/failing'],
  'finish-document.ts': ['integration/renderer/finish-document', 'corpus/finished-pdfs'],
  'follow-move.ts': ['unit/renderer/click', 'corpus/clicking', 'corpus/client-code', 'corpus/elements'],
  'frame-shots.ts': ['unit/renderer/frames', 'corpus/lazy-images'],
  'frames.ts': ['unit/renderer/frames', 'corpus/frames', 'corpus/ready-frames'],
  'full-page.ts': [
    'unit/renderer/full-page',
    'corpus/tall-viewports',
    'corpus/viewport-heights',
    'corpus/endless',
    'corpus/whole-documents',
  ],
  'freeze.ts': ['corpus/freezing'],
  'hiding.ts': ['unit/renderer/settle-moves', 'corpus/elements', 'corpus/consent'],
  'main-document.ts': [
    'unit/renderer/main-document',
    'corpus/behavior',
    'integration/capture/navigate',
    'corpus/documents',
  ],
  'miss.ts': ['corpus/selectors', 'corpus/elements'],
  'navigate.ts': [
    'unit/renderer/navigate',
    'unit/renderer/unopened-pages',
    'integration/capture/navigate',
    'corpus/behavior',
    'corpus/documents',
  ],
  'navigation-failure.ts': ['unit/renderer/navigation-failure', 'integration/capture/navigate', 'corpus/behavior'],
  'network.ts': ['unit/renderer/network', 'corpus/late-content', 'integration/capture/settle', 'corpus/third-parties'],
  'open.ts': [
    'unit/renderer/open',
    'integration/capture/open',
    'corpus/devices',
    'corpus/page-options',
    'corpus/visitor',
  ],
  'region.ts': ['unit/renderer/region', 'corpus/elements'],
  'pdf.ts': [
    'unit/renderer/pdf',
    'unit/renderer/paper-layout',
    'corpus/pdf-options',
    'corpus/paper',
    'corpus/paper-fixed',
    'corpus/single-page-pdf',
    'integration/capture/pdf',
  ],
  'pdf-file.ts': ['unit/renderer/pdf-file', 'corpus/pdf-options', 'integration/capture/pdf'],
  'ready.ts': ['unit/renderer/ready', 'corpus/ready', 'corpus/ready-frames'],
  'render.ts': [
    'unit/renderer/render',
    'unit/renderer/render-set-up',
    'integration/capture/survive',
    'integration/capture/report',
    'corpus/failing',
    'corpus/elements',
    'corpus/client-code',
    'corpus/final-picture',
  ],
  'report.ts': ['unit/renderer/report', 'integration/capture/report', 'corpus/documents'],
  'reuse.ts': ['unit/renderer/reuse', 'corpus/reused-pages'],
  'screenshot.ts': [
    'unit/capture/screenshot',
    'unit/capture/encode',
    'integration/capture/shoot',
    'corpus/final-picture',
    'corpus/very-tall',
  ],
  'scroll-page.ts': ['unit/renderer/scroll-page', 'corpus/endless', 'corpus/lazy-images', 'corpus/scrollers'],
  'settle.ts': [
    'unit/renderer/settle',
    'integration/capture/settle',
    'corpus/late-content',
    'corpus/fonts',
    'corpus/hearing',
  ],
  'settle-moves.ts': ['unit/renderer/settle-moves', 'corpus/ready', 'corpus/late-content'],
  'size-limits.ts': ['unit/renderer/size-limits', 'integration/capture/shoot', 'corpus/very-tall'],
  'sites.ts': ['unit/renderer/sites', 'corpus/failed-steps', 'integration/capture/steps'],
  'steps.ts': ['unit/renderer/steps', 'corpus/steps', 'corpus/failed-steps', 'integration/capture/steps'],
  'template-date.ts': ['unit/renderer/template-date', 'corpus/pdf-options'],
  'tiles.ts': ['unit/renderer/tiles', 'corpus/tall-viewports', 'corpus/very-tall', 'integration/capture/open'],
  'user-agent.ts': ['unit/renderer/user-agent', 'corpus/visitor'],
  'visitor.ts': ['corpus/visitor', 'corpus/page-options'],
  'wait-for.ts': ['unit/renderer/wait-for', 'corpus/elements'],
  'world.ts': ['unit/renderer/world', 'corpus/without-scripts', 'corpus/behavior', 'corpus/elements'],
  'scripts/activity.ts': ['integration/page-scripts/activity', 'integration/capture/activity'],
  'scripts/animations.ts': [
    'integration/page-scripts/animations',
    'integration/page-scripts/motions',
    'corpus/appearing',
    'corpus/drawing',
    'corpus/tall-viewports',
  ],
  'scripts/assets.ts': [
    'integration/page-scripts/assets',
    'corpus/images',
    'corpus/lazy-images',
    'integration/capture/settle',
  ],
  'scripts/boxes.ts': ['integration/page-scripts/boxes', 'corpus/elements', 'corpus/selectors', 'corpus/clicking'],
  'scripts/canvases.ts': ['integration/page-scripts/canvases', 'corpus/drawing', 'corpus/ready'],
  'scripts/clicking.ts': ['integration/page-scripts/clicking', 'corpus/clicking', 'corpus/failed-steps'],
  'scripts/content.ts': ['integration/page-scripts/content', 'corpus/late-content', 'corpus/tall-viewports'],
  'scripts/covers.ts': ['integration/page-scripts/covers', 'corpus/elements'],
  'scripts/effects.ts': [
    'integration/page-scripts/effects',
    'integration/page-scripts/scenes',
    'corpus/appearing',
    'corpus/fixed-and-sticky',
  ],
  'scripts/element.ts': ['integration/page-scripts/element', 'corpus/elements'],
  'scripts/entering.ts': ['integration/page-scripts/entering', 'corpus/steps', 'corpus/failed-steps'],
  'scripts/extraction.ts': ['integration/page-scripts/extraction', 'corpus/extracting'],
  'scripts/finding.ts': ['integration/page-scripts/finding', 'corpus/elements', 'corpus/clicking'],
  'scripts/fixed.ts': ['integration/page-scripts/fixed', 'corpus/fixed-and-sticky', 'corpus/tall-viewports'],
  'scripts/frame-shots.ts': ['integration/page-scripts/frame-shots', 'corpus/lazy-images'],
  'scripts/freezing.ts': ['corpus/freezing'],
  'scripts/hiding.ts': ['integration/page-scripts/hiding', 'corpus/elements', 'corpus/consent'],
  'scripts/markdown.ts': ['integration/page-scripts/markdown', 'corpus/extracting'],
  'scripts/measures.ts': [
    'integration/page-scripts/styles',
    'corpus/whole-documents',
    'corpus/devices',
    'corpus/documents',
  ],
  'scripts/resizes-and-panes.ts': [
    'integration/page-scripts/scrolling',
    'corpus/tall-viewports',
    'corpus/viewport-heights',
  ],
  'scripts/own.ts': ['integration/page-scripts/own', 'corpus/named-access'],
  'scripts/print-fixed.ts': ['integration/page-scripts/print-fixed', 'corpus/paper-fixed'],
  'scripts/print.ts': ['integration/page-scripts/print', 'corpus/paper', 'corpus/hearing', 'corpus/appearing'],
  'scripts/ready.ts': [
    'integration/page-scripts/ready',
    'integration/page-scripts/ready-times',
    'corpus/ready',
    'corpus/ready-frames',
    'corpus/late-content',
  ],
  'scripts/revealed.ts': ['integration/page-scripts/revealed', 'corpus/paper', 'corpus/appearing'],
  'scripts/scenes.ts': ['integration/page-scripts/scenes', 'corpus/tall-viewports', 'corpus/appearing'],
  'scripts/scrollers.ts': ['integration/page-scripts/scrollers', 'corpus/scrollers'],
  'scripts/scrolling.ts': [
    'integration/page-scripts/scrolling',
    'corpus/scrollers',
    'corpus/endless',
    'corpus/tall-viewports',
  ],
  'scripts/selecting.ts': ['integration/page-scripts/selecting', 'corpus/selectors', 'corpus/elements'],
  'scripts/styles.ts': [
    'integration/page-scripts/styles',
    'corpus/viewport-heights',
    'corpus/client-code',
    'corpus/lazy-images',
  ],
  'scripts/tiles.ts': ['integration/page-scripts/tiles', 'corpus/tall-viewports'],
  'scripts/tree.ts': ['integration/page-scripts/styles', 'corpus/viewport-heights', 'corpus/lazy-images'],
  'scripts/viewport-units.ts': ['integration/page-scripts/print', 'corpus/viewport-heights', 'corpus/growth'],
  'scripts/waits.ts': [
    'integration/page-scripts/waits',
    'corpus/late-content',
    'corpus/behavior',
    'integration/capture/settle',
  ],
  'scripts/walking.ts': [
    'integration/page-scripts/extraction',
    'integration/page-scripts/markdown',
    'corpus/extracting',
  ],
  'scripts/windows.ts': [
    'integration/page-scripts/effects',
    'integration/page-scripts/windows',
    'corpus/appearing',
    'corpus/fixed-and-sticky',
  ],
};

/** Returns the paths of the test files for a file of the page folder. */
export function testsOf(file: string): string[] {
  const name = file.slice(pageFolder.length + 1);
  const tests = [...(pageTests[name] ?? others), ...(name.startsWith('scripts/') ? [] : [namesOfWaits])];
  return tests.map((name) => `test/${name}.test.ts`).toSorted();
}
