/// <reference lib="dom" />

/** What every script of this folder finds under the name `activity`: see {@link readActivity}. */
export type PageActivity = ReturnType<typeof readActivity>;

/**
 * Callbacks that the page's scripts have put off with the same function and the same delay, a navigation that has begun, the answer of a worker
 * (`worker`), or what may follow that (`answer`).
 */
export interface DueCallbacks {
  /** The name of the function, or one of these. */
  readonly kind: string;
  /** In milliseconds; 0 for frames and idle time. */
  readonly delay: number;
  /** Milliseconds until the first of them is due; below 0 where it is late. */
  readonly inMs: number;
  /** How many have run, or answers have come, since the document began. */
  readonly ran: number;
}

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
    /** What is due; undefined where that is not known. */
    due: (): readonly DueCallbacks[] | undefined => {
      let answer: string | undefined;
      const note = ({ detail }: Event & { readonly detail?: string }) => {
        answer = detail;
      };
      document.addEventListener(`${question}-answer`, note);
      document.dispatchEvent(new Event(`${question}-due`));
      document.removeEventListener(`${question}-answer`, note);
      return answer
        ?.split(';')
        .slice(0, -1)
        .map((line) => {
          const [kind = '', ...numbers] = line.split(' ');
          const [delay = 0, inMs = 0, ran = 0] = numbers.map(Number);
          return { kind, delay, inMs, ran };
        });
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
  // Elements that may call the scripts, contain other scripts, or lead to another document.
  const calling =
    'meta[http-equiv="refresh" i], iframe, frame, object, embed, video, audio, [onscroll], [onscrollend], [onresize], [onmessage]';
  if (document.querySelector(calling) !== null) return false;
  const sheets = document.querySelectorAll<HTMLLinkElement>('link[rel~="stylesheet" i]');
  const hasLoaded =
    document.fonts.status === 'loaded' &&
    [...document.images].every(({ complete }) => complete) &&
    [...sheets].every(({ sheet }) => sheet !== null);
  return hasLoaded && document.getAnimations().length === 0;
}
