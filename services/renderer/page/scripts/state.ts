/** What our scripts keep between two calls, under the name `pageState` in our own world in the page. */
export interface PageState {
  /** The one that is captured in place of the viewport. */
  webcaptureElement?: Element;
  webcaptureScroller?: {
    /** What is scrolled in the box with the most content. */
    readonly scrolled: Element;
    /** All boxes that scroll the content of the page, inner ones first. */
    readonly panes: readonly {
      readonly element: Element;
      /** What is scrolled in it: of a frame, the root of its document. */
      readonly scrolled: Element;
      /** The box and those around it, innermost first. */
      readonly chain: readonly HTMLElement[];
    }[];
  };
  /** How tall the contents of frames are, in CSS pixels: see `PageFrames.noteHeights`. */
  webcaptureFrameHeights?: Map<Element, number>;
  webcaptureMotion?: {
    /** What we change ourselves is to be taken from it. */
    readonly observer: MutationObserver;
    readonly nodes: Map<Node, Motion>;
  };
  /** What scripts change in the document from when the page has loaded. */
  webcaptureChanges?: {
    /** Since the last look: whether there is more to see, and the nodes by which it can be told whether that is in view. */
    readonly changed: Map<Node, { readonly hasGrown: boolean; readonly places: readonly Node[] }>;
    /** In view. */
    readonly motions: Map<Node, Motion>;
    /** The greatest opacity that elements in view have had; infinite where it has become less. */
    readonly opacities: Map<Element, number>;
    /** Fingerprints of canvases. */
    readonly prints: Map<HTMLCanvasElement, number>;
    /** By `performance.now()`. */
    startedAt: number;
    /** When something in view last changed, and when there was last more to see. */
    lastChange: number;
    lastGrowth: number;
    /** Numbers of callbacks that had run at these times, by their function and delay. */
    readonly runsAtChange: Map<string, number>;
    readonly runsAtGrowth: Map<string, number>;
    /** What was still due at the end of the wait had changed nothing in view for a while. */
    isIdle?: boolean;
  };
  /** Canvases are drawn on it to be compared. */
  webcaptureScratch?: CanvasRenderingContext2D | null;
  webcaptureEffects?: {
    readonly observer: MutationObserver;
    /** Since the last place. */
    readonly restyled: Set<HTMLElement>;
    /** At how many places, as the page was scrolled, an element was restyled. */
    readonly stations: Map<HTMLElement, number>;
    /** Those that stand in boxes fixed to the viewport, and the greatest share of it that they covered at one of the places. */
    readonly fixed: Map<HTMLElement, number>;
  };
  /** Elements fixed to the viewport that come and go with the scroll position, where they cover much of the viewport. */
  webcaptureScenes?: readonly Scene[];
  /** Elements that scroll by themselves, and where they stood. */
  webcapturePanes?: readonly { readonly element: Element; readonly top: number; readonly isAtEnd: boolean }[];
  /** Boxes that are fixed to the viewport, in CSS pixels from its top, and heights of pseudo-elements that are: in a viewport of that height. */
  webcaptureFixed?: {
    readonly viewHeight: number;
    readonly boxes: ReadonlyMap<Element, { readonly top: number; readonly height: number }>;
    readonly pseudoHeights: ReadonlyMap<Element, readonly number[]>;
  };
  webcaptureHidesResizes?: boolean;
  webcaptureTiles?: {
    /** Elements that take part in the flow of the page. */
    readonly flow: Map<Element, Place>;
    /** Fixed elements that are in sight at the top of the page. */
    readonly fixedAtTop: Set<Element>;
    /** Those that came later, and have been shown. */
    readonly shown: Set<Element>;
  };
  /** Elements that could be seen when all of the page was in sight, and the look that they had. */
  webcaptureRevealed?: ReadonlyMap<HTMLElement, Readonly<Record<string, string>>>;
  /** Changes of attributes since the page left the tall viewport. */
  webcaptureLeaving?: { readonly observer: MutationObserver; readonly records: MutationRecord[] };
  /** Frames that are shown alone in the viewport, with their `style` attributes. */
  webcaptureFrames?: readonly { readonly element: HTMLIFrameElement; readonly style: string | null }[];
  /** There is a style sheet that the page does not know of. */
  webcaptureHasAddedStyle?: boolean;
  /** How long after its load event a page that was empty then was given its first content; undefined for others. */
  webcaptureFirstContentMs?: number;
  /** When all of the page had come into sight, by `performance.now()`. */
  webcaptureShownAt?: number;
}

/** Where an element is in the page, in CSS pixels. */
export interface Place {
  readonly top: number;
  readonly left: number;
  readonly width: number;
}

/** What is fixed to the viewport, and led by the scroll position as by a clock. */
export interface Scene {
  readonly element: HTMLElement;
  /** The share of the viewport by which more of it is in sight somewhere on the way than at the top of the page, from -1 to 1. */
  readonly share: number;
  /** In the page, in CSS pixels from its top, where it was seen. */
  readonly top: number;
}

/** A row of changes to one node, each soon after the one before. */
export interface Motion {
  readonly since: number;
  readonly last: number;
  /** Changed more than once. */
  readonly isRepeated: boolean;
}
