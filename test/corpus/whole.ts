/** Options of a full page in a small viewport, whose pictures are fast to make and to read. */
export const whole = { isFullPage: true, viewport: { width: 320, height: 240 } } as const;
