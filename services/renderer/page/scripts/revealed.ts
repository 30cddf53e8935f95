/// <reference lib="dom" />
import type { finishAnimations as FinishAnimations } from './animations.ts';
import type { PageState } from './state.ts';
import type { cssMayUse as CssMayUse } from './styles.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;
/** Functions that the caller sends to the page together with the functions of this file. */
declare const finishAnimations: typeof FinishAnimations;
declare const cssMayUse: typeof CssMayUse;

/** Records which elements are visible while the whole page is in view, with their styles, for {@link keepRevealed}. */
export function rememberRevealed(): void {
  /** Maximum number of elements. Reading the styles of more takes too long. */
  const maxElements = 5000;
  if (document.scripts.length === 0) return;
  finishAnimations();
  const revealed = new Map<HTMLElement, Readonly<Record<string, string>>>();
  const plain = { opacity: '1', visibility: 'visible', transform: 'none', translate: 'none', scale: 'none' };
  const isPlain = !cssMayUse(
    ['opacity', 'visibility', 'transform', 'translate', 'scale'],
    '[opacity], [visibility], [transform], animate, animateTransform, set',
  );
  for (const element of [...document.querySelectorAll<HTMLElement>('body *')].slice(0, maxElements)) {
    if (!(own(element).style instanceof CSSStyleDeclaration)) continue;
    if (isPlain) {
      revealed.set(element, plain);
      continue;
    }
    const { opacity, visibility, transform, translate, scale } = getComputedStyle(element);
    if (Number(opacity) < 0.5 || visibility === 'hidden') continue;
    revealed.set(element, { opacity, visibility, transform, translate, scale });
  }
  pageState.webcaptureRevealed = revealed;
}

/** Starts to record attribute changes by scripts, for {@link keepRevealed}. */
export function watchLeaving(): void {
  const records: MutationRecord[] = [];
  const observer = new MutationObserver((those) => void records.push(...those));
  observer.observe(document, { subtree: true, attributes: true, attributeOldValue: true });
  pageState.webcaptureLeaving = { observer, records };
}

/** Reverts attribute changes since {@link watchLeaving} of elements below the viewport, because most of them hide what is out of view. */
function undoLeaving(): void {
  const { webcaptureLeaving: leaving } = pageState;
  if (leaving === undefined) return;
  const { observer, records } = leaving;
  records.push(...observer.takeRecords());
  // A new `style` is kept: it comes from scripts that copy the viewport's height, and they would set it again.
  for (const record of records.splice(0).toReversed()) {
    const [element, name] = [record.target as Element, record.attributeName as string];
    if (name === 'style' || own(element).getBoundingClientRect().top < innerHeight) continue;
    if (record.oldValue === null) own(element).removeAttribute(name);
    else own(element).setAttribute(name, record.oldValue);
  }
  observer.takeRecords();
}

/** Functions of this file that must be sent to the page together with {@link keepRevealed}. */
export const revealedHelpers = [undoLeaving] as const;

/** Restores the styles of elements that scripts have hidden since {@link rememberRevealed}. */
export function keepRevealed(): void {
  undoLeaving();
  const { webcaptureRevealed: revealed } = pageState;
  if (revealed === undefined || !cssMayUse(['opacity', 'visibility'], '[opacity], [visibility], animate, set')) return;
  for (const [element, look] of revealed) {
    const { opacity, visibility } = getComputedStyle(element);
    if (Number(opacity) >= 0.05 && visibility !== 'hidden') continue;
    for (const [name, value] of Object.entries({ ...look, transition: 'none', animation: 'none' })) {
      own(element).style.setProperty(name, value, 'important');
    }
  }
}

/** Finds texts and pictures in the page's flow that are still hidden although they are in view. Returns their number. */
export function countUnseen(): number {
  /** Maximum number of elements. Reading the styles of more takes too long. */
  const maxElements = 5000;
  if (document.scripts.length === 0 || !cssMayUse(['opacity', 'visibility'], '[opacity], [visibility]')) return 0;
  const hidden = new Set<Element>();
  const isPlaced = (element: Element) => {
    for (let at = element; !own(at).matches('body'); at = own(at).parentElement as Element)
      if (['absolute', 'fixed'].includes(getComputedStyle(at).position)) return false;
    return true;
  };
  for (const element of [...document.querySelectorAll('body *')].slice(0, maxElements)) {
    if (hidden.has(own(element).parentElement as Element)) continue;
    const { opacity, visibility } = getComputedStyle(element);
    if (Number(opacity) >= 0.05 && visibility !== 'hidden') continue;
    const { width, height } = own(element).getBoundingClientRect();
    const shows = own(element).textContent.trim() !== '' || own(element).matches('img, :has(img), svg, :has(svg)');
    if (width > 1 && height > 1 && shows && isPlaced(element)) hidden.add(element);
  }
  pageState.webcaptureUnseen = [...hidden];
  return hidden.size;
}
