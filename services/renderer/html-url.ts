/**
 * Address of supplied HTML: an origin that no server can have. (`.invalid` is reserved by RFC 2606. An https origin has the rights of an
 * ordinary web page, unlike about:blank and file:.)
 */
export const htmlUrl = 'https://html.webcapture.invalid/';
