/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/**
 * Observes the changes of the document. Many scripts set an attribute or a text to the value that it has already; such mutations are left
 * out.
 */
export function observeChanges(handle: (changes: readonly MutationRecord[]) => void): MutationObserver {
  const isChange = (record: MutationRecord): boolean => {
    const { type, target, oldValue, attributeName, attributeNamespace, addedNodes, removedNodes } = record;
    if (type === 'attributes')
      return own(target as Element).getAttributeNS(attributeNamespace, attributeName as string) !== oldValue;
    if (type === 'characterData') return (target as CharacterData).data !== oldValue;
    const isReplaced = addedNodes.length === 1 && removedNodes.length === 1;
    return !(isReplaced && (addedNodes[0] as Node).isEqualNode(removedNodes[0] as Node));
  };
  const observer = new MutationObserver((records) => handle(records.filter(isChange)));
  observer.observe(document, {
    subtree: true,
    childList: true,
    attributes: true,
    attributeOldValue: true,
    characterData: true,
    characterDataOldValue: true,
  });
  return observer;
}

/**
 * Whether a node moves without end, as far as `untilNothingIsDue` has found: scripts have changed it for 1.5 s without a pause, which is
 * longer than fades and charts take. A number that scripts count up does not count as endless.
 */
export function movesEndlessly(node: Node): boolean {
  const endlessMs = 1500;
  const motion = pageState.webcaptureChanges?.motions.get(node);
  return motion !== undefined && motion.count === undefined && motion.last - motion.since > endlessMs;
}
