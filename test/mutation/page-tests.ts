export const pageFolder = 'services/renderer/page';

/** The tests of files without a row: captures of every kind, and no slow ones. */
const others = ['corpus/whole-documents', 'corpus/late-content', 'corpus/documents'];

/**
 * The tests of each file of the page folder. Every capture runs most of these files, so a mutant that no test detects would take hours with
 * all tests that run its file. A mutant that survives these tests may still fail another one.
 */
export const pageTests: Readonly<Record<string, readonly string[]>> = {
  'click.ts': ['corpus/clicking', 'integration/capture/option-payloads'],
  'client-code.ts': ['corpus/client-code'],
  'credentials.ts': ['corpus/credentials'],
  'deadline.ts': ['integration/capture/survive', 'corpus/third-parties'],
  'engine.ts': ['integration/capture/survive', 'integration/capture/open', 'corpus/reused-pages'],
  'extract.ts': ['unit/renderer/extract', 'corpus/extracting'],
  'fail-on.ts': ['corpus/failing'],
  'finish-document.ts': ['integration/renderer/finish-document', 'corpus/finished-pdfs'],
  'follow-move.ts': ['corpus/clicking', 'corpus/client-code', 'corpus/elements'],
  'frame-shots.ts': ['corpus/lazy-images'],
  'frames.ts': ['corpus/frames', 'corpus/ready-frames'],
  'full-page.ts': ['corpus/tall-viewports', 'corpus/viewport-heights', 'corpus/endless', 'corpus/whole-documents'],
  'hiding.ts': ['corpus/elements', 'corpus/consent'],
  'main-document.ts': ['corpus/behaviour', 'integration/capture/navigate', 'corpus/documents'],
  'miss.ts': ['corpus/selectors', 'corpus/elements'],
  'navigate.ts': ['integration/capture/navigate', 'corpus/behaviour', 'corpus/documents'],
  'navigation-failure.ts': ['integration/capture/navigate', 'corpus/behaviour'],
  'network.ts': ['corpus/late-content', 'integration/capture/settle', 'corpus/third-parties'],
  'open.ts': ['integration/capture/open', 'corpus/devices', 'corpus/page-options', 'corpus/visitor'],
  'region.ts': ['corpus/elements'],
  'pdf.ts': ['corpus/pdf-options', 'corpus/paper', 'corpus/single-page-pdf', 'integration/capture/pdf'],
  'pdf-file.ts': ['corpus/pdf-options', 'integration/capture/pdf'],
  'ready.ts': ['corpus/ready', 'corpus/ready-frames'],
  'render.ts': ['integration/capture/survive', 'integration/capture/report', 'corpus/failing', 'corpus/elements'],
  'report.ts': ['integration/capture/report', 'corpus/documents'],
  'reuse.ts': ['corpus/reused-pages'],
  'screenshot.ts': ['unit/capture/encode', 'integration/capture/shoot', 'corpus/final-picture', 'corpus/very-tall'],
  'scroll-page.ts': ['corpus/endless', 'corpus/lazy-images', 'corpus/scrollers'],
  'settle.ts': ['integration/capture/settle', 'corpus/late-content', 'corpus/fonts', 'corpus/hearing'],
  'settle-moves.ts': ['corpus/ready', 'corpus/late-content'],
  'size-limits.ts': ['integration/capture/shoot', 'corpus/very-tall'],
  'template-date.ts': ['corpus/pdf-options'],
  'tiles.ts': ['corpus/tall-viewports', 'corpus/very-tall', 'integration/capture/open'],
  'user-agent.ts': ['unit/renderer/user-agent', 'corpus/visitor'],
  'visitor.ts': ['corpus/visitor', 'corpus/page-options'],
  'wait-for.ts': ['corpus/elements'],
  'world.ts': ['corpus/without-scripts', 'corpus/behaviour', 'corpus/elements'],
  'scripts/activity.ts': ['integration/capture/activity'],
  'scripts/animations.ts': ['corpus/appearing', 'corpus/drawing', 'corpus/tall-viewports'],
  'scripts/assets.ts': ['corpus/images', 'corpus/lazy-images', 'integration/capture/settle'],
  'scripts/boxes.ts': ['corpus/elements', 'corpus/selectors', 'corpus/clicking'],
  'scripts/canvases.ts': ['corpus/drawing', 'corpus/ready'],
  'scripts/clicking.ts': ['corpus/clicking'],
  'scripts/content.ts': ['corpus/late-content', 'corpus/tall-viewports'],
  'scripts/covers.ts': ['corpus/elements'],
  'scripts/effects.ts': ['corpus/appearing', 'corpus/fixed-and-sticky'],
  'scripts/element.ts': ['corpus/elements'],
  'scripts/extraction.ts': ['corpus/extracting'],
  'scripts/finding.ts': ['corpus/elements', 'corpus/clicking'],
  'scripts/fixed.ts': ['corpus/fixed-and-sticky', 'corpus/tall-viewports'],
  'scripts/frame-shots.ts': ['corpus/lazy-images'],
  'scripts/hiding.ts': ['corpus/elements', 'corpus/consent'],
  'scripts/markdown.ts': ['corpus/extracting'],
  'scripts/measures.ts': ['corpus/whole-documents', 'corpus/devices', 'corpus/documents'],
  'scripts/neutrality.ts': ['corpus/tall-viewports', 'corpus/viewport-heights'],
  'scripts/own.ts': ['corpus/named-access'],
  'scripts/print-fixed.ts': ['corpus/paper-fixed'],
  'scripts/print.ts': ['corpus/paper', 'corpus/hearing', 'corpus/appearing'],
  'scripts/ready.ts': ['corpus/ready', 'corpus/ready-frames'],
  'scripts/revealed.ts': ['corpus/paper', 'corpus/appearing'],
  'scripts/scenes.ts': ['corpus/tall-viewports', 'corpus/appearing'],
  'scripts/scrollers.ts': ['corpus/scrollers'],
  'scripts/scrolling.ts': ['corpus/scrollers', 'corpus/endless', 'corpus/tall-viewports'],
  'scripts/selecting.ts': ['corpus/selectors', 'corpus/elements'],
  'scripts/styles.ts': ['corpus/viewport-heights', 'corpus/client-code', 'corpus/lazy-images'],
  'scripts/tiles.ts': ['corpus/tall-viewports'],
  'scripts/tree.ts': ['corpus/viewport-heights', 'corpus/lazy-images'],
  'scripts/viewport-units.ts': ['corpus/viewport-heights', 'corpus/growth'],
  'scripts/waits.ts': ['corpus/late-content', 'corpus/behaviour', 'integration/capture/settle'],
  'scripts/walking.ts': ['corpus/extracting'],
  'scripts/windows.ts': ['corpus/appearing', 'corpus/fixed-and-sticky'],
};

/** Returns the paths of the test files for a file of the page folder. */
export function testsOf(file: string): string[] {
  const tests = pageTests[file.slice(pageFolder.length + 1)] ?? others;
  return tests.map((name) => `test/${name}.test.ts`).toSorted();
}
