/**
 * Address of supplied HTML. It has an origin that no server can have, because `.invalid` is reserved by RFC 2606. It is an https origin,
 * because about:blank and file: do not have the rights of an ordinary web page.
 */
export const htmlUrl = 'https://html.webcapture.invalid/';
