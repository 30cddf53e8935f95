/** State that our scripts keep between calls, as `pageState` in our isolated world. */
export interface PageState {
  /** The element that is captured instead of the viewport. */
  webcaptureElement?: Element;
  webcaptureScroller?: {
    /** The element that scrolls in the box with the most content. */
    readonly scrolled: Element;
    /** All boxes that scroll the content of the page, inner ones first. */
    readonly panes: readonly {
      readonly element: Element;
      /** The element that scrolls in it: for a frame, the root of its document. */
      readonly scrolled: Element;
      /** The box and its ancestors, innermost first. */
      readonly chain: readonly HTMLElement[];
    }[];
  };
  /** Heights of the contents of frames, in CSS pixels. See `PageFrames.noteHeights`. */
  webcaptureFrameHeights?: Map<Element, number>;
  webcaptureMotion?: {
    /** Observes changes by scripts. Our own changes must be removed from its records. */
    readonly observer: MutationObserver;
    readonly nodes: Map<Node, Motion>;
  };
  /** Changes by scripts since the page has loaded. */
  webcaptureChanges?: {
    /** Changes since the last poll: whether content has grown, and nodes whose position shows whether the change is in view. */
    readonly changed: Map<Node, { readonly hasGrown: boolean; readonly places: readonly Node[] }>;
    /** Changes of nodes in the viewport. */
    readonly motions: Map<Node, Motion>;
    /** The highest opacity of elements in view; infinite if the opacity has dropped since. */
    readonly opacities: Map<Element, number>;
    /** Hashes of canvases. */
    readonly prints: Map<HTMLCanvasElement, number>;
    /** Time by `performance.now()`. */
    startedAt: number;
    /** Times of the last change and of the last growth in view. */
    lastChange: number;
    lastGrowth: number;
    /** Numbers of callbacks that had run at the time of a change, by their function and delay. */
    readonly runsAtChange: Map<string, number>;
    readonly runsAtGrowth: Map<string, number>;
    /** Whether the work that was pending at the end of the wait had not changed the view for some time. */
    isIdle?: boolean;
  };
  /** Scratch canvas for comparing canvases. */
  webcaptureScratch?: CanvasRenderingContext2D | null;
  webcaptureEffects?: {
    readonly observer: MutationObserver;
    /** Elements whose style has changed since the last scroll position. */
    readonly restyled: Set<HTMLElement>;
    /** Number of scroll positions at which each element was restyled. */
    readonly stations: Map<HTMLElement, number>;
    /** Elements in boxes fixed to the viewport, and the largest share of the viewport that they covered at a scroll position. */
    readonly fixed: Map<HTMLElement, number>;
  };
  /** Elements fixed to the viewport that appear and disappear on scroll, if they cover much of the viewport. */
  webcaptureScenes?: readonly Scene[];
  /** Scroll containers and their scroll positions. */
  webcapturePanes?: readonly { readonly element: Element; readonly top: number; readonly isAtEnd: boolean }[];
  /**
   * Boxes and heights of pseudo-elements that are fixed to the viewport, measured in a viewport of `viewHeight`, in CSS pixels from its
   * top.
   */
  webcaptureFixed?: {
    readonly viewHeight: number;
    readonly boxes: ReadonlyMap<Element, { readonly top: number; readonly height: number }>;
    readonly pseudoHeights: ReadonlyMap<Element, readonly number[]>;
  };
  /** Elements that the styles for screen fix to the viewport, and those that only the styles for print fix. */
  webcaptureFixedOnScreen?: ReadonlySet<Element>;
  webcaptureFixedByPrint?: ReadonlySet<Element>;
  webcaptureHidesResizes?: boolean;
  webcaptureTiles?: {
    /** Elements in the flow of the page. */
    readonly flow: Map<Element, Place>;
    /** Fixed elements that are in view at the top of the page. */
    readonly fixedAtTop: Set<Element>;
    /** Fixed elements that appeared later and were shown in a tile. */
    readonly shown: Set<Element>;
  };
  /** Elements that were visible while the whole page was in view, and their styles. */
  webcaptureRevealed?: ReadonlyMap<HTMLElement, Readonly<Record<string, string>>>;
  /** Elements that `countUnseen` has found. */
  webcaptureUnseen?: readonly Element[];
  /** Attribute changes since the viewport was reset from its tall height. */
  webcaptureLeaving?: { readonly observer: MutationObserver; readonly records: MutationRecord[] };
  /** Frames that are captured separately, with their `style` attributes. */
  webcaptureFrames?: readonly { readonly element: HTMLIFrameElement; readonly style: string | null }[];
  /** Whether the capture has added a style sheet that the page cannot see. */
  webcaptureHasAddedStyle?: boolean;
  /** Time from the load event to the first content; undefined if the page already had content at the load event. */
  webcaptureFirstContentMs?: number;
  /** Time at which the whole page had come into view, by `performance.now()`. */
  webcaptureShownAt?: number;
}

/** The place of an element in the page, in CSS pixels. */
export interface Place {
  readonly top: number;
  readonly left: number;
  readonly width: number;
}

/** An element fixed to the viewport whose look depends on the scroll position. */
export interface Scene {
  readonly element: HTMLElement;
  /** Share of the viewport that the element covers at its best scroll position, minus the share at the top of the page; from -1 to 1. */
  readonly share: number;
}

/** A series of changes of one node, with short pauses between them. */
export interface Motion {
  readonly since: number;
  readonly last: number;
  /** Whether the node has changed more than once. */
  readonly isRepeated: boolean;
  /** The digits of the node's text as a number, if each change of the series has increased it. */
  readonly count?: number | undefined;
}
