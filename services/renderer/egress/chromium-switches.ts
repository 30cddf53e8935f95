/**
 * Where a browser's traffic goes that belongs to no lane: nowhere. Launch the browser with this as its own proxy, and
 * each context with that of its lane; whatever a future browser sends outside of a context then fails at a port where
 * nobody listens, and does not leave by itself. 9 is the discard port, which no ordinary process can bind.
 */
export const deadProxy = 'http://127.0.0.1:9';

/** Chromium's command-line switches that close the ways around a proxy. None of them touches what pages look like. */
export const egressSwitches: readonly string[] = [
  // WebRTC sends UDP past the proxy, and shows the addresses of the machine to pages. The headless shell knows the
  // first name of the switch only, full Chromium (156) the second only; either ignores the other in silence.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  // The proxy resolves names. What the browser would still look up by itself (prefetching, WebRTC) finds nothing.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  // HTTP/3 and WebTransport are UDP.
  '--disable-quic',
  // The browser's own errands: updates, reports, sync, safe browsing, hyperlink auditing.
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-client-side-phishing-detection',
  '--disable-sync',
  '--disable-breakpad',
  '--no-pings',
];
