/** Unix milliseconds as ISO 8601, or null for what has not happened and never will. */
export const dateOrNull = (time: number | undefined) => (time === undefined ? null : new Date(time).toISOString());
