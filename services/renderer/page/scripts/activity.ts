/// <reference lib="dom" />

/** Type of `activity` in the scripts of this folder. See {@link readActivity}. */
export type PageActivity = ReturnType<typeof readActivity>;

/**
 * Pending work of the page's scripts: callbacks that were scheduled with the same function and delay, a navigation that has started, a
 * worker's answer (`worker`), or work that follows from such an answer (`answer`).
 */
export interface DueCallbacks {
  /** The name of the scheduling function, or one of the names above. */
  readonly kind: string;
  /** In milliseconds; 0 for frames and idle time. */
  readonly delay: number;
  /** Milliseconds until the first callback is due; negative if it is late. */
  readonly inMs: number;
  /** Number of callbacks that have run, or answers that have arrived, since the document began. */
  readonly ran: number;
}

/**
 * Asks what the page's scripts are about to do; see `watchActivity` in browser/activity.ts. With antiBot, or without scripts, that function
 * does not run. Nothing is known then, and `scriptsIdle` returns false.
 */
export function readActivity(question: string) {
  return {
    /** Whether no timer, scroll, resize or pending work will call the scripts again. */
    scriptsIdle: () => {
      const event = new Event(question, { cancelable: true });
      return !document.dispatchEvent(event);
    },
    /** Returns the pending work; undefined if unknown. */
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
          const [kind, delay, inMs, ran] = line.split(' ') as [string, string, string, string];
          return { kind, delay: Number(delay), inMs: Number(inMs), ran: Number(ran) };
        });
    },
  };
}

declare const activity: PageActivity;

/**
 * Whether the scripts of the document, if any, have ended. They have ended if everything that they added has loaded, and if they listen
 * neither to scrolling nor to resizing.
 */
export function scriptsHaveEnded(): boolean {
  if (document.readyState !== 'complete' || !activity.scriptsIdle()) return false;
  // Elements that may call the scripts, contain other scripts, or navigate the page.
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

/**
 * Whether scripts or animations may change the document within `ms` milliseconds, as far as is known: a callback is due, an animation with
 * an end is running, or the document is loading. Always true with antiBot, because nothing is known then. Requests are not considered.
 */
export function mayChangeWithin(ms: number): boolean {
  const due = activity.due();
  if (due === undefined || document.readyState !== 'complete' || due.some(({ inMs }) => inMs < ms)) return true;
  return document
    .getAnimations()
    .some(({ playState, effect }) => playState === 'running' && Number.isFinite(effect?.getComputedTiming().endTime));
}
