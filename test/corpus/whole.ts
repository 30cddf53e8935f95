/** Options of a whole page, in a small viewport: its pictures are quick to make and to read. */
export const whole = { isFullPage: true, viewport: { width: 320, height: 240 } } as const;

/**
 * For pages that differ in their layout only: the images of all formats are taken of the same layout, as others of the
 * same kind show in each; a pdf has one of its own.
 */
export const layouts = ['png', 'pdf'] as const;
