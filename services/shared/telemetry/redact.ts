const address = /\b(?:https?|wss?):\/\/[^\s"'<>`)\]}]+/gi;
/** Servers come in lists with commas, which an address of the web may hold. */
const broker = /\b(?:nats|tls):\/\/[^\s"'<>`)\]},]+/gi;
const bearer = /\bBearer\s+[^\s"',]+/gi;

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
