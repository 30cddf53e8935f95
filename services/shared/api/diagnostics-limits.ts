// Separate from diagnostics.ts, because renderers do not validate diagnostics.

/** Limits of the lists and texts of diagnostics. The renderer applies them; the front refuses diagnostics that exceed them. */
export const diagnosticsLimits = {
  steps: 20,
  waits: 50,
  console: 200,
  requests: 200,
  blocked: 100,
  /** Maximum number of items in each list of things that were still moving. */
  moving: 20,
  /** Maximum number of characters of a text, such as a console message. */
  text: 1000,
  /** Maximum number of characters of an address. */
  url: 2048,
  /** Maximum number of characters of a name. */
  name: 200,
} as const;
