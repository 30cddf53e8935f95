/// <reference lib="dom" />
import type { BackgroundMessage, ContentScriptMessage, default as AutoConsent } from '@duckduckgo/autoconsent';

/** The class AutoConsent. The package's types describe a CommonJS module, in which the class is the property `default`. */
type AutoConsentClass = (typeof AutoConsent)['default'];
type Manager = Awaited<ReturnType<InstanceType<AutoConsentClass>['findCmp']>>[number];

/** A message from the consent script of a frame to the renderer. */
export type ConsentMessage =
  | { readonly type: 'init'; readonly url: string; readonly isTop: boolean }
  | { readonly type: 'eval'; readonly id: string; readonly code: string };

/** State of the consent dialog of a frame. Null means that there is no dialog; false means that the answer failed or is not complete. */
export interface ConsentAnswer {
  readonly answered: boolean | null;
  /** The consent manager, by autoconsent's name for it. */
  readonly manager: string | null;
}

/** The global object of the isolated world in a frame. */
export interface ConsentWorld {
  webcaptureConsent?: {
    receive(message: BackgroundMessage): void;
    awaitAnswer(timeoutMs: number, searchMs: number): Promise<ConsentAnswer>;
    selectors(): string[];
  };
}

/**
 * Runs autoconsent in a frame: searches for a consent dialog from the first content on, opts out, and reports its progress on
 * request.
 *
 * @param post sends a {@link ConsentMessage}, as JSON, to the renderer
 */
export function driveConsent(Library: AutoConsentClass, post: (json: string) => void): void {
  const pause = (ms: number) => new Promise<undefined>((resolve) => setTimeout(resolve, ms));

  // The library hides elements with style elements, which the page's content security policy may forbid. The policy does not apply to
  // constructed style sheets. This code runs in the isolated world, so the page cannot see that the property was replaced.
  const sheets = new WeakMap<HTMLStyleElement, { sheet: CSSStyleSheet; text: string }>();
  Object.defineProperty(HTMLStyleElement.prototype, 'innerText', {
    get(this: HTMLStyleElement) {
      return sheets.get(this)?.text ?? '';
    },
    set(this: HTMLStyleElement, text: string) {
      const known = sheets.get(this);
      const sheet = known?.sheet ?? new CSSStyleSheet();
      sheet.replaceSync(text);
      if (known === undefined) document.adoptedStyleSheets.push(sheet);
      sheets.set(this, { sheet, text });
    },
  });

  class Consent extends Library {
    /** The answer to the dialog that was found; undefined until a dialog is found. */
    handling: Promise<boolean> | undefined;
    #hurried = false;

    /** Replaces the library's loop, which pauses for 0.5 s or more between searches, with a faster one. */
    override async findCmp(retries: number): Promise<Manager[]> {
      for (let look = 0; look <= retries && !this.#hurried; look += 1) {
        const found = await super.findCmp(0);
        if (found.length > 0) return found;
        await pause(look < 8 ? 250 : 1000);
      }
      return [];
    }

    /** Answers each dialog once, even if two searches find it. */
    override handlePopup(manager: Manager): Promise<boolean> {
      this.handling ??= super.handlePopup(manager).catch(() => false);
      return this.handling;
    }

    /** Searches the current page once, without the library's loop. */
    async lookOnce(): Promise<void> {
      this.#hurried = true;
      // The library runs its heuristics on every second search.
      this.state.findCmpAttempts |= 1;
      const found = await super.findCmp(0);
      for (const manager of found.toSorted((a, b) => Number(a.isCosmetic) - Number(b.isCosmetic))) {
        if (this.handling !== undefined) return;
        const isOpen = await Promise.race([manager.detectPopup().catch(() => false), pause(400)]);
        if (isOpen) this.handlePopup(manager).catch(() => undefined);
      }
    }
  }

  let started: () => void;
  const start = new Promise<void>((resolve) => {
    started = resolve;
  });
  const send = (message: ContentScriptMessage): Promise<void> => {
    const posted: ConsentMessage | undefined =
      message.type === 'init'
        ? { type: 'init', url: message.url, isTop: window.top === window }
        : message.type === 'eval'
          ? { type: 'eval', id: message.id, code: message.code }
          : undefined;
    if (posted !== undefined) post(JSON.stringify(posted));
    return Promise.resolve();
  };
  const consent = new Consent(send);

  (globalThis as ConsentWorld).webcaptureConsent = {
    /** Receives the reply to a posted message: the start-up message, or the result of an evaluation. */
    receive(message) {
      consent.receiveMessageCallback(message).catch(() => undefined);
      if (message.type === 'initResp') started();
    },

    /**
     * Waits until an open dialog has been answered, for at most `timeoutMs`. Searches for a dialog once, or for `searchMs` if a dialog is
     * expected.
     */
    async awaitAnswer(timeoutMs, searchMs) {
      const lookedLongEnough = pause(searchMs).then(() => true);
      const answer = async () => {
        await start;
        while (consent.handling === undefined) {
          await consent.lookOnce();
          if (consent.handling === undefined && (await Promise.race([lookedLongEnough, pause(100)]))) return null;
        }
        return consent.handling;
      };
      const late = pause(timeoutMs).then(() => (consent.handling === undefined ? null : false));
      const answered = await Promise.race([answer().catch(() => null), late]);
      return { answered, manager: consent.foundCmp?.name ?? null };
    },

    /** Returns the selectors of the dialogs that the library knows, except those of its test pages. */
    selectors() {
      return consent.rules
        .filter((rule) => rule.checkRunContext() && !/test/i.test(rule.name))
        .flatMap((rule) => rule.prehideSelectors ?? []);
    },
  };
}
