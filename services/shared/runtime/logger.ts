import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/**
 * Creates the logger of a process, which writes JSON lines to stdout. Query strings, userinfo, HTML, bearer tokens and webhook addresses
 * never appear. Secrets are removed by the path of their field, and {@link redactUrls} shortens addresses in all strings. `mixin` returns
 * additional fields for each line.
 */
export function createLogger(options: { service: string; pod: string; level: string; mixin?: () => object }): Logger {
  return pino({
    ...(options.mixin === undefined ? {} : { mixin: options.mixin }),
    level: options.level,
    base: { service: options.service, pod: options.pod },
    timestamp: pino.stdTimeFunctions.isoTime,
    // describeError serializes errors with their causes. If the built-in serializer were used, it would run first.
    serializers: { err: (error: unknown) => error },
    redact: {
      paths: ['html', '*.html', 'authorization', '*.authorization', 'apiKey', '*.apiKey', 'webhook', '*.webhook'],
      // A number in such a field, for example a count of webhooks, is not secret.
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
/** Lists of servers are separated by commas, which web addresses may contain. */
const broker = /\b(?:nats|tls):\/\/[^\s"'<>`)\]},]+/gi;
/** Some clients send `Bearer Bearer <token>`, so the scheme may be repeated. */
const bearer = /\bBearer(?:\s+Bearer)*\s+[^\s"',]+/gi;

/** Shortens every address of the web or of a broker in a text to scheme, host and path, and removes bearer tokens. */
export function redactUrls(text: string): string {
  if (!text.includes('://') && !/bearer/i.test(text)) return text;
  return text.replace(address, redactUrl).replace(broker, redactUrl).replace(bearer, 'Bearer [redacted]');
}

/** Shortens an address to scheme, host and path, without userinfo, query and fragment. */
function redactUrl(value: string): string {
  const url = URL.parse(value);
  if (url === null) return value.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//');
  return `${url.protocol}//${url.host}${url.pathname}`;
}
