/// <reference lib="dom" />
import type { ActivityQuestions } from '../../browser/activity.ts';

/** What every script of this folder finds under the name `activity`: see {@link readActivity}. */
export type PageActivity = ReturnType<typeof readActivity>;

/**
 * Asks what the page's own scripts are about to do: see `watchActivity` of browser/activity.ts. Where that does not run (with antiBot, or
 * without scripts), the answer is no.
 */
export function readActivity(questions: ActivityQuestions) {
  const ask = (question: string): boolean => {
    const event = new Event(question, { cancelable: true });
    // By the prototype: a form may have the name of a method of the document.
    return !EventTarget.prototype.dispatchEvent.call(document, event);
  };
  return {
    /** Whether no timer and no frame of the scripts is due. */
    isIdle: () => ask(questions.isIdle),
    /** Whether nothing calls the scripts any more: neither scrolling, nor another size of the page, nor what they have begun. */
    isStill: () => ask(questions.isStill),
  };
}

declare const activity: PageActivity;

/**
 * Whether the document has scripts, which have come to an end: what they have made is there, all of it has loaded, and they hear neither
 * of scrolling nor of another size of the page.
 */
export function hasStillScripts(): boolean {
  if (!activity.isStill()) return false;
  // What may call them, or has scripts of its own.
  const calling = 'iframe, frame, object, embed, video, audio, [onscroll], [onscrollend], [onresize], [onmessage]';
  if (document.querySelector(calling) !== null) return false;
  const hasLoaded = document.fonts.status === 'loaded' && [...document.images].every(({ complete }) => complete);
  return hasLoaded && document.getAnimations().length === 0;
}
