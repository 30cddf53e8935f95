import { PermissionError, ValidationError, WebcaptureError } from '@webcapture/client';

/** An error for the user: one sentence, and details for the operator. */
export interface ErrorInWords {
  readonly message: string;
  /** Undefined if the error did not come from the service. */
  readonly code: string | undefined;
  readonly requestId: string | null;
}

/** Messages for codes whose message in the client is written for programmers. */
const messages: Readonly<Record<string, string>> = {
  NETWORK_ERROR: 'The service does not respond. Check that it is running, and check your connection.',
  UNEXPECTED_RESPONSE:
    'The response is not from webcapture. A proxy in front of the service may be unable to reach it.',
};

export function errorInWords(error: unknown): ErrorInWords {
  if (error instanceof WebcaptureError) {
    const { message, code, requestId } = error;
    return { message: messages[code] ?? message, code, requestId };
  }
  return { message: error instanceof Error ? error.message : String(error), code: undefined, requestId: null };
}

/** Whether the same request may succeed later without a change, because NATS is down or the front restarts. */
export function isTemporary(error: unknown): boolean {
  return !(error instanceof WebcaptureError) || error.retryable;
}

/** Whether the key or its account may not send the request. A retry does not help. */
export function isForbidden(error: unknown): boolean {
  return error instanceof PermissionError;
}

/** Whether the service refused the values of a request. */
export function isInvalid(error: unknown): boolean {
  return error instanceof ValidationError;
}

/**
 * Splits an error of the service by the fields that it names: “viewport.width must be …; url: The address …”. Messages without
 * a field have the empty key.
 *
 * @param isField whether the request has a field of this name, such as viewport
 */
export function messagesByField(message: string, isField: (name: string) => boolean): ReadonlyMap<string, string> {
  const messages = new Map<string, string>();
  for (const part of message.split('; ')) {
    const [word = '', rest = ''] = /^(\S+?):? (.*)$/s.exec(part)?.slice(1) ?? [];
    const [key, text] = isField(word.split('.')[0] ?? '') ? [word, rest] : ['', part];
    messages.set(key, messages.has(key) ? `${messages.get(key)}; ${text}` : text);
  }
  return messages;
}

export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || isAbort(error.cause));
}
