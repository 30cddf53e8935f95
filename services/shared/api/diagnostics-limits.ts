// Separate from diagnostics.ts, because renderers do not load TypeBox.

/** Limits of the lists and texts of diagnostics. The renderer applies them; the front refuses diagnostics that exceed them. */
export const diagnosticsLimits = {
  steps: 20,
  waits: 50,
  console: 200,
  requests: 200,
  blocked: 100,
  /** Items of each list of what was still moving. */
  moving: 20,
  /** Characters of a text, such as a console message. */
  text: 1000,
  /** Characters of an address. */
  url: 2048,
  /** Characters of a name. */
  name: 200,
} as const;
