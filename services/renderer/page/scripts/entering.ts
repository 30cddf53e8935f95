/// <reference lib="dom" />
import type { ParsedSelector } from '@webcapture/shared/api/selector.ts';
import type { isVisible as IsVisible, scrollToBox as ScrollToBox } from './boxes.ts';
import type { own as Own } from './own.ts';
import type { selectAll as SelectAll } from './selecting.ts';
import type { PageWaits } from './waits.ts';

declare const waits: PageWaits;
declare const own: typeof Own;
/** Functions of other files that the calls use. */
declare const isVisible: typeof IsVisible;
declare const scrollToBox: typeof ScrollToBox;
declare const selectAll: typeof SelectAll;

/** Why a step cannot use an element. `elsewhere` means that the document does not have the expected origin. */
export type UseObstacle =
  'elsewhere' | 'missing' | 'unfocusable' | 'disabled' | 'readOnly' | 'noField' | 'invalid' | 'noSelect' | 'noOption';
type Used = 'done' | UseObstacle;

/** Calls a function with the first visible match until it succeeds, for at most `timeoutMs`. */
async function untilUsed(parts: ParsedSelector, timeoutMs: number, use: (element: Element) => Used): Promise<Used> {
  const lookIntervalMs = 100;
  const end = performance.now() + timeoutMs;
  for (;;) {
    const element = selectAll(parts, { enters: isVisible }).elements.find(isVisible);
    const used = element === undefined ? 'missing' : use(element);
    if (used === 'done' || used === 'elsewhere' || performance.now() >= end) return used;
    await waits.sleep(lookIntervalMs);
  }
}

/** Scrolls to an element and focuses it, or an editable element around it. Returns whether this succeeded. */
function takeFocus(element: Element): boolean {
  scrollToBox(element, 'center', 'center');
  const { isContentEditable } = own(element as HTMLElement);
  const host = isContentEditable ? own(element).closest('[contenteditable]') : null;
  const target = host ?? element;
  own(target as HTMLElement).focus({ preventScroll: true });
  return (own(target).getRootNode() as Document | ShadowRoot).activeElement === target;
}

/** Fires the events that follow a change of a value by a person. */
function fireChange(element: Element): void {
  own(element).dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  own(element).dispatchEvent(new Event('change', { bubbles: true }));
}

export function focusElement(parts: ParsedSelector, timeoutMs: number): Promise<Used> {
  return untilUsed(parts, timeoutMs, (element) => (takeFocus(element) ? 'done' : 'unfocusable'));
}

/**
 * Replaces the content of a field. The page gets the same `beforeinput` and `input` events as for pasted text. It gets no keyboard events:
 * if a frame of another site took the focus meanwhile, that frame would receive them.
 *
 * @param origin the origin that the document must have to get the text
 */
export function enterText(parts: ParsedSelector, text: string, origin: string, timeoutMs: number): Promise<Used> {
  /** Types of fields whose values have a format that typing does not produce. */
  const formatted = ['color', 'date', 'datetime-local', 'month', 'range', 'time', 'week'];
  const untyped = ['button', 'checkbox', 'file', 'image', 'radio', 'reset', 'submit'];
  return untilUsed(parts, timeoutMs, (element) => {
    if (location.origin !== origin) return 'elsewhere';
    const { localName } = own(element);
    const field = element as HTMLInputElement;
    const isField = localName === 'input' || localName === 'textarea';
    if (isField ? untyped.includes(field.type) : !own(element as HTMLElement).isContentEditable) return 'noField';
    if (own(field).matches(':disabled')) return 'disabled';
    if (own(field).readOnly) return 'readOnly';
    if (!takeFocus(element)) return 'unfocusable';
    if (isField && formatted.includes(field.type)) {
      field.value = text;
      if (field.value !== text) return 'invalid';
      fireChange(element);
      return 'done';
    }
    const { ownerDocument } = own(element);
    if (isField) field.select();
    else ownerDocument.getSelection()?.selectAllChildren(element);
    // All calls after the focus check are synchronous, and the command affects only this document. Another document can therefore not get
    // the text.
    if (text === '') ownerDocument.execCommand('delete');
    else if (!ownerDocument.execCommand('insertText', false, text)) return 'invalid';
    return isField && text !== '' && field.value === '' ? 'invalid' : 'done';
  });
}

/**
 * Chooses the option of a select element that has a value or a label.
 *
 * @param origin the origin that the document must have to get the value
 */
export function chooseOption(parts: ParsedSelector, value: string, origin: string, timeoutMs: number): Promise<Used> {
  return untilUsed(parts, timeoutMs, (element) => {
    if (location.origin !== origin) return 'elsewhere';
    if (own(element).localName !== 'select') return 'noSelect';
    const select = element as HTMLSelectElement;
    if (select.matches(':disabled')) return 'disabled';
    const options = [...select.options].filter((option) => !option.matches(':disabled'));
    const wanted = options.find((option) => option.value === value) ?? options.find(({ label }) => label === value);
    if (wanted === undefined) return 'noOption';
    takeFocus(element);
    for (const option of select.options) option.selected = option === wanted;
    fireChange(element);
    return 'done';
  });
}

/**
 * Scrolls an element into view. With `by` or `to`, scrolls its content instead.
 *
 * @param parts null for the page
 */
export async function scrollElement(
  parts: ParsedSelector | null,
  { by = 0, to }: { readonly by?: number; readonly to?: 'top' | 'bottom' },
  isInside: boolean,
  timeoutMs: number,
): Promise<Used> {
  const scroll = (element: Element): Used => {
    if (!isInside) scrollToBox(element, 'center', 'center');
    else if (to === undefined) own(element).scrollBy({ top: by, behavior: 'instant' });
    else own(element).scrollTo({ top: to === 'top' ? 0 : own(element).scrollHeight, behavior: 'instant' });
    return 'done';
  };
  return parts === null
    ? scroll(document.scrollingElement ?? document.documentElement)
    : untilUsed(parts, timeoutMs, scroll);
}

/** Functions that must be sent to the page together with a function of this file. */
export const entering = [untilUsed, takeFocus, fireChange] as const;
