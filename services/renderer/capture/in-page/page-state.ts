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
  };
}

export interface RememberedSize {
  readonly element: HTMLElement;
  /** Of its box, in CSS pixels. */
  readonly height: number;
  /** Computed values, in the order of the properties asked for. */
  readonly values: readonly string[];
}
