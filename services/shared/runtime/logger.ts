import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/**
 * Creates the log of a process: JSON lines on stdout. Query strings, userinfo, HTML, bearer tokens and webhook
 * addresses never appear: secrets are removed by path, and {@link redactUrls} cuts addresses in any string.
 */
export function createLogger(options: { service: string; pod: string; level: string }): Logger {
  return pino({
    level: options.level,
    base: { service: options.service, pod: options.pod },
    timestamp: pino.stdTimeFunctions.isoTime,
    // Errors are described below, with their causes apart; the built-in serialiser would come first.
    serializers: { err: (error: unknown) => error },
    redact: {
      paths: ['html', '*.html', 'authorization', '*.authorization', 'apiKey', '*.apiKey', 'webhook', '*.webhook'],
      // A count under such a name, e.g. of webhooks, is no secret.
      censor: (value) => (typeof value === 'number' ? value : '[redacted]'),
    },
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => redactFields(fields),
    },
    hooks: {
      logMethod(args, method) {
        method.apply(this, args.map((arg) => (typeof arg === 'string' ? redactUrls(arg) : arg)) as typeof args);
      },
    },
  });
}

function redactFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, redactValue(value, 0)]));
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactUrls(value);
  if (value instanceof Error) return describeError(value, depth);
  if (depth < 4 && Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1));
  if (depth < 4 && value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactValue(item, depth + 1)]));
  }
  return value;
}

function describeError(error: Error, depth: number): Record<string, unknown> {
  return {
    type: error.name,
    message: redactUrls(error.message),
    ...('code' in error ? { code: error.code } : {}),
    ...(error.stack === undefined ? {} : { stack: redactUrls(error.stack) }),
    ...(error.cause === undefined || depth >= 4 ? {} : { cause: redactValue(error.cause, depth + 1) }),
  };
}

const address = /\b(?:https?|wss?):\/\/[^\s"'<>`)\]}]+/gi;
/** Servers come in lists with commas, which an address of the web may hold. */
const broker = /\b(?:nats|tls):\/\/[^\s"'<>`)\]},]+/gi;
/** A client may put the scheme before a token that has it already. */
const bearer = /\bBearer(?:\s+Bearer)*\s+[^\s"',]+/gi;

/** The text with every address in it, of the web or of a broker, cut to scheme, host and path, and every bearer token removed. */
export function redactUrls(text: string): string {
  if (!text.includes('://') && !/bearer/i.test(text)) return text;
  return text.replace(address, redactUrl).replace(broker, redactUrl).replace(bearer, 'Bearer [redacted]');
}

/** Scheme, host and path of an address: no userinfo, no query, no fragment. */
function redactUrl(value: string): string {
  const url = URL.parse(value);
  if (url === null) return value.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//');
  return `${url.protocol}//${url.host}${url.pathname}`;
}
