/** Requires a scheme and two slashes. The URL parser alone also accepts `http:host` and leading blanks. */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/\\]/i.test(text) && URL.parse(text) !== null;
}

/** Whether an http or https address contains a user name or a password. */
export function hasUser(address: string): boolean {
  if (!isHttpUrl(address)) return false;
  const { username, password } = new URL(address);
  return username !== '' || password !== '';
}
