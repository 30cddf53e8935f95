/**
 * Where a browser's traffic goes that belongs to no proxy session: nowhere. Launch the browser with this as its own proxy, and
 * each context with that of its session; whatever a future browser sends outside of a context then fails at a port where
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
  // Components are also fetched on demand (models, at each start; translation, at a click in a page), whether updates are disabled or not.
  `--component-updater=url-source=${deadProxy}/`,
  // Full Chromium asks which accounts are logged in.
  `--gaia-url=${deadProxy}/`,
];

/** The window of a browser whose page has no size of its own yet: the default viewport of a capture. */
export const windowSize = { width: 1280, height: 720 } as const;

/**
 * Playwright turns these features off. Chromium obeys only the last `--disable-features`, so that ours has to name them
 * again; a test holds the list against the installed Playwright.
 */
const disabledByPlaywright = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'TcpPortRandomizationWin',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'msForceBrowserSignIn',
  'msEdgeUpdateLaunchServicesPreferredVersion',
];

const disabledFeatures = [
  ...disabledByPlaywright,
  // Asks Google about each form of a page, through the proxy session of its capture.
  'AutofillServerCommunication',
  // Supplied html renders at an https origin; its http images are to be fetched as they are named.
  'AutoupgradeMixedContent',
  // Asks the user before a page reaches into a private network. Nobody is there to ask, and the egress policy decides.
  'LocalNetworkAccessChecks',
  // Has WebRTC ask the local network for names over multicast. The addresses that it hides are not told anyway: without
  // UDP there are no candidates.
  'WebRtcHideLocalIpsWithMdns',
  // Draws boxes that scroll with the offset that the compositor has, which may be an outdated one: after scrolling to the end and back, a
  // box that covers the viewport shows its end in the first 520 px of a picture (half of the captures; Chromium 156).
  'RasterInducingScroll',
];

/** Chromium obeys the last of these switches only. */
function disabling(features: readonly string[]): string {
  return `--disable-features=${features.join(',')}`;
}

/** Playwright sets these. Chromium obeys only the last `--blink-settings`, so that ours has to repeat them; a test compares the two. */
const settingsOfPlaywright = [
  'primaryHoverType=2',
  'availableHoverTypes=2',
  'primaryPointerType=4',
  'availablePointerTypes=4',
];

const blinkSettings = [
  ...settingsOfPlaywright,
  // The page is painted below the viewport too, so that a screenshot with a clip can show it. `captureBeyondViewport` sets the same, but
  // in a roundabout way: it shows the page in a viewport of 1 × 1 px for a moment (page_handler.cc). Media queries change in it, and
  // images of `<source media>` are loaded again: they were missing from up to a tenth of the pictures.
  'mainFrameClipsContent=false',
];

/** Switches of both browsers, beside Playwright's own. */
export const commonSwitches: readonly string[] = [
  ...egressSwitches,
  disabling(disabledFeatures),
  `--blink-settings=${blinkSettings.join(',')}`,
  `--window-size=${windowSize.width},${windowSize.height}`,
  '--lang=en-US',
  // A page whose scripts hold more than this is ended by V8, before it takes the memory of the others.
  '--js-flags=--max-old-space-size=512',
  // Else large images may be missing from the first frame.
  '--disable-checker-imaging',
  // An animation that was brought to its end may still be drawn at its beginning by the thread that draws.
  '--disable-threaded-animation',
];

/** Switches of Playwright's that both browsers do without. */
export const withoutCommonSwitches: readonly string[] = [
  // A page could then send messages, and change its address, as fast as it can.
  '--disable-ipc-flooding-protection',
];

/** Switches of the headless shell. */
export const headlessShellSwitches: readonly string[] = [
  ...commonSwitches,
  disabling([
    ...disabledFeatures,
    // Gives each document a frame and a view of its own, so that the about:blank which a page is opened with has both made twice, in
    // the same process: 7% of a small page's time. Which sites share a process does not depend on it.
    'RenderDocument',
  ]),
  // window.open returns null; full Chromium has a popup blocker for that.
  '--block-new-web-contents',
];
