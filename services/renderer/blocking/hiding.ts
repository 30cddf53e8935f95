import { Request, type FiltersEngine } from '@ghostery/adblocker';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Blocker } from './blocker.ts';
import { listOf, listOptionsOf } from './filter-set.ts';
import { applyHiding, collectFeatures, hideOverlays, type PageFeatures } from './scripts/hiding.ts';
import type { Target } from '../browser/target-tree.ts';
import { callInFrame, type Frame } from './frames.ts';

/** Timeout of one script in one frame. */
const scriptTimeoutMs = 1500;

/**
 * Hides in one frame the elements that the lists hide, the boxes of blocked images and, for cookieBanners and newsletters,
 * elements that look like a consent banner or ask for an email address. Resolves to the number of hidden overlays, which may
 * have locked scrolling. Rejects if the frame no longer exists or is too busy.
 */
export async function hideLeftovers(
  frame: Frame,
  block: RenderOptions['block'],
  options: {
    readonly blocker: Blocker;
    /** Addresses of blocked images. */
    readonly images: readonly string[];
    /** When to stop, on the clock of `performance.now()`. */
    readonly end: number;
  },
): Promise<number> {
  const { engines } = options.blocker;
  const left = () => Math.max(1, Math.min(scriptTimeoutMs, options.end - performance.now()));

  const features = await callInFrame(frame, collectFeatures, [], left());
  const styles: Record<string, string> = {};
  for (const option of listOptionsOf(block)) {
    const text = cosmeticStyles(engines[listOf[option]], features);
    if (text !== '') styles[option] = text;
  }
  if (block.cookieBanners) {
    styles['dialogs'] = features.dialogs.map((selector) => `${selector} {display: none !important}`).join('\n');
  }
  const removed = await callInFrame(frame, applyHiding, [styles, options.images], left());
  const { cookieBanners, newsletters = false } = block;
  if (!cookieBanners && !newsletters) return 0;
  const listed = ['cookieBanners', 'dialogs', 'newsletters'].reduce((sum, name) => sum + (removed[name] ?? 0), 0);
  return callInFrame(frame, hideOverlays, [{ cookieBanners, newsletters }, listed], left());
}

/** Returns the style sheet that hides the elements of a filter list in a document with these features. */
function cosmeticStyles(engine: FiltersEngine, features: PageFeatures): string {
  const { url, classes, ids, hrefs } = features;
  const { hostname, domain } = Request.fromRawDetails({ url, type: 'main_frame' });
  return engine.getCosmeticsFilters({
    url,
    hostname,
    domain,
    classes,
    ids,
    hrefs,
    getInjectionRules: false,
    getExtendedRules: false,
  }).styles;
}

/** Maximum number of frames that are removed. */
const maxFrames = 100;

/**
 * Removes frames whose documents were blocked: they would show the browser's error page or an empty box. Skips frames
 * that no longer exist; never rejects.
 */
export async function collapseFrames(
  frameIds: readonly string[],
  targets: readonly Target[],
  timeoutMs: number,
): Promise<void> {
  const all = Promise.all(frameIds.slice(0, maxFrames).map((frameId) => collapseFrame(frameId, targets)));
  await withDeadline(all, timeoutMs, 'removing blocked frames').catch(() => undefined);
}

async function collapseFrame(frameId: string, targets: readonly Target[]): Promise<void> {
  for (const target of targets) {
    try {
      // Only the target of the frame's parent knows the element.
      const { backendNodeId } = await target.send('DOM.getFrameOwner', { frameId });
      const { object } = await target.send('DOM.resolveNode', { backendNodeId });
      if (object.objectId === undefined) return;
      await target.send('Runtime.callFunctionOn', {
        objectId: object.objectId,
        functionDeclaration: `function () { this.style.setProperty('display', 'none', 'important'); }`,
        silent: true,
      });
      return;
    } catch {
      continue;
    }
  }
}
