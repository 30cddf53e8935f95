/**
 * Where supplied html renders: an origin of its own that no server can have. (`.invalid` is reserved, RFC 2606; as https
 * it has the rights of any other web page, and not those of about:blank or file.)
 */
export const htmlUrl = 'https://html.webcapture.invalid/';
