// Prints a signed capture link that works for a week:
// SECRET=wcs_... node link.mjs http://127.0.0.1:3000 <key id> url=https://example.com viewport.width=800
import { createHmac } from 'node:crypto';

function captureLink(base, key, secret, options) {
  const inAWeek = Math.floor(Date.now() / 1000) + 7 * 86_400;
  const pairs = [['key', key], ...options];
  if (!options.some(([name]) => name === 'expires')) pairs.push(['expires', String(inAWeek)]);
  const query = pairs
    .map(([name, value]) => [encode(name), encode(value)])
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const signature = createHmac('sha256', secret).update(`GET /capture?${query}`).digest('hex');
  return `${base}/capture?${query}&signature=${signature}`;
}

// RFC 3986: everything but letters, digits and -._~ is percent-encoded.
const encode = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

const [base, key, ...texts] = process.argv.slice(2);
if (texts.length === 0 || !process.env.SECRET) {
  process.stderr.write(
    'Usage: SECRET=<signing secret> node link.mjs <address of the service> <key id> url=<page> [<option>=<value> ...]\n',
  );
  process.exit(2);
}
const options = texts.map((text) => [text.split('=', 1)[0], text.slice(text.indexOf('=') + 1)]);
process.stdout.write(`${captureLink(base, key, process.env.SECRET, options)}\n`);
