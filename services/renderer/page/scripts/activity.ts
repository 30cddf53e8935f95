/// <reference lib="dom" />

/** What every script of this folder finds under the name `activity`: see {@link readActivity}. */
type PageActivity = ReturnType<typeof readActivity>;

/**
 * Asks what the page's own scripts are about to do: see `watchActivity` of browser/activity.ts. Where that does not run (with antiBot, or
 * without scripts), the answer is no.
 */
export function readActivity(question: string) {
  return {
    /** Whether nothing calls the scripts any more: no timer, neither scrolling nor another size of the page, and nothing that they have begun. */
    isStill: () => {
      const event = new Event(question, { cancelable: true });
      return !document.dispatchEvent(event);
    },
  };
}

declare const activity: PageActivity;

/**
 * Whether the scripts of the document, where it has any, have come to an end: what they have made is there, all of it has loaded, and they
 * hear neither of scrolling nor of another size of the page.
 */
export function scriptsHaveEnded(): boolean {
  if (document.readyState !== 'complete' || !activity.isStill()) return false;
  // What may call them, or has scripts of its own.
  const calling = 'iframe, frame, object, embed, video, audio, [onscroll], [onscrollend], [onresize], [onmessage]';
  if (document.querySelector(calling) !== null) return false;
  const sheets = document.querySelectorAll<HTMLLinkElement>('link[rel~="stylesheet" i]');
  const hasLoaded =
    document.fonts.status === 'loaded' &&
    [...document.images].every(({ complete }) => complete) &&
    [...sheets].every(({ sheet }) => sheet !== null);
  return hasLoaded && document.getAnimations().length === 0;
}
