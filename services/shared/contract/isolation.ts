/**
 * What the captures of an account share with others: `context`, a browser, in which each has a context of its own;
 * `browser`, nothing: each has a browser of its own.
 */
export const isolations = ['context', 'browser'] as const;
export type Isolation = (typeof isolations)[number];
