/** What our scripts keep between two calls, on the global object of our own world in the page. */
export interface PageState {
  webcaptureScroller?: {
    readonly element: Element;
    /** The scroller and its ancestors, innermost first, with their heights in CSS pixels as they were at first. */
    readonly chain: readonly { readonly element: HTMLElement; readonly height: number }[];
  };
  webcaptureSizes?: {
    /** The height of the viewport then. */
    readonly viewHeight: number;
    readonly elements: readonly RememberedSize[];
    readonly pseudos: readonly RememberedPseudo[];
  };
  webcaptureMotion?: {
    /** What we change ourselves is to be taken from it. */
    readonly observer: MutationObserver;
    readonly nodes: Map<Node, Motion>;
  };
  /** When all of the page had come into sight, by `performance.now()`. */
  webcaptureShownAt?: number;
}

export interface RememberedSize {
  readonly element: HTMLElement;
  /** Of its box, in CSS pixels. */
  readonly height: number;
  /** Its class attribute. */
  readonly classes: string;
  /** Computed values, in the order of the properties asked for; empty for those that mean nothing to it. */
  readonly values: readonly string[];
}

export interface RememberedPseudo {
  readonly element: HTMLElement;
  readonly pseudo: 'before' | 'after';
  /** Used values, in the order of the properties asked for. */
  readonly values: readonly string[];
}

/** A row of changes to one node, each soon after the one before. */
export interface Motion {
  readonly since: number;
  readonly last: number;
  /** Changed more than once. */
  readonly isRepeated: boolean;
}
