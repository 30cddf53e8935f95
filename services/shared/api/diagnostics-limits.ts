// Apart from diagnostics.ts: a renderer does not load TypeBox.

/** Bounds of one list of diagnostics each. The renderer keeps them; the front refuses what exceeds them. */
export const diagnosticsLimits = {
  steps: 20,
  waits: 50,
  console: 200,
  requests: 200,
  blocked: 100,
  /** Of each list of what still moved. */
  moving: 20,
  /** Characters of a text, such as a console message. */
  text: 1000,
  /** Characters of an address. */
  url: 2048,
  /** Characters of a name. */
  name: 200,
} as const;
