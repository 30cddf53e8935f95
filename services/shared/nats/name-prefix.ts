/** What a prefix of the names of a fleet may be, for messages. */
export const namePrefixRule = '1 to 32 letters, digits, "-" or "_"';

/** Whether a text is a prefix of the names of a fleet, or empty: no prefix. NATS allows more, but not in all names. */
export const isNamePrefix = (text: string): boolean => /^[A-Za-z0-9_-]{0,32}$/.test(text);

/** Returns what precedes each name of a fleet with the prefix: `<prefix>-`, or an empty text. */
export const beforeNames = (prefix: string): string => (prefix === '' ? '' : `${prefix}-`);
