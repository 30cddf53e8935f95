/** Options of a whole page, in a small viewport: its pictures are quick to make and to read. */
export const whole = { isFullPage: true, viewport: { width: 320, height: 240 } } as const;
