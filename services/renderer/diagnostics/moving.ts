import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { RenderDiagnostics } from '@webcapture/shared/api/diagnostics.ts';
import { callExpression, evaluate, openIsolatedWorld } from '../browser/isolated-world.ts';
import type { PageSession } from '../browser/driver.ts';
import type { Redactor } from './redact.ts';

type Moving = NonNullable<RenderDiagnostics['moving']>;

const worldName = 'webcapture-diagnostics';

/**
 * Maximum number of characters of a text that the page sends. It exceeds the number that is kept, so that cutting the text off here does
 * not split a secret before it is removed.
 */
const maxSent = 65_536;

/** Reads the resources that have not loaded and the running animations of a document. */
export async function readMoving(
  { cdp, frameId }: { readonly cdp: PageSession; readonly frameId: string },
  redactor: Redactor,
): Promise<Moving> {
  const contextId = await openIsolatedWorld(cdp, frameId, worldName);
  const expression = callExpression(listMoving, [limits.moving, maxSent]);
  const { readyState, images, fonts, animations } = (await evaluate(cdp, { contextId, expression })) as Moving;
  const name = (text: string) => redactor.text(text, limits.name);
  return {
    readyState,
    images: images.map((url) => redactor.url(url)),
    fonts: fonts.map(name),
    animations: animations.map((animation) => ({ name: name(animation.name), element: name(animation.element) })),
  };
}

/** Returns the resources that have not loaded and the running animations. Runs in the page. */
function listMoving(maxItems: number, maxLength: number): Moving {
  const nameOf = (element: Element | null | undefined) => {
    if (!element) return '';
    const { id, classList } = element;
    return `${element.localName}${id ? `#${id}` : ''}${[...classList].map((name) => `.${name}`).join('')}`;
  };
  // An image has no `currentSrc` while it loads.
  const sourceOf = (image: HTMLImageElement) => {
    const { srcset = image.srcset } = image.closest('picture')?.querySelector('source') ?? {};
    const [candidate = ''] = srcset.trim().split(/[\s,]/, 1);
    return image.currentSrc || image.src || (URL.parse(candidate, document.baseURI)?.href ?? candidate);
  };
  const running = document.getAnimations().filter(({ playState }) => playState === 'running');
  return {
    readyState: document.readyState,
    images: [...document.images]
      .filter((image) => !image.complete)
      .slice(0, maxItems)
      .map((image) => sourceOf(image).slice(0, maxLength)),
    fonts: [...document.fonts]
      .filter(({ status }) => status === 'loading')
      .slice(0, maxItems)
      .map(({ family }) => family.slice(0, maxLength)),
    animations: running.slice(0, maxItems).map((animation) => {
      const { animationName, transitionProperty } = animation as Partial<CSSAnimation & CSSTransition>;
      const { target } = (animation.effect ?? {}) as Partial<KeyframeEffect>;
      return {
        name: String(animationName ?? transitionProperty ?? animation.id).slice(0, maxLength),
        element: nameOf(target).slice(0, maxLength),
      };
    }),
  };
}
