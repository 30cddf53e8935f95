/**
 * The proxy for traffic that belongs to no proxy session. Launch the browser with this proxy, and create each context with the proxy of its
 * session. If a future browser sends requests outside of a context, they fail at a port without a listener and do not leave the machine.
 * The port is 9, the discard port, which no ordinary process can bind.
 */
export const deadProxy = 'http://127.0.0.1:9';

/** Chromium's command-line switches that block the ways around a proxy. They do not change how pages look. */
export const egressSwitches: readonly string[] = [
  // WebRTC sends UDP past the proxy and exposes the addresses of the machine to pages. The headless shell knows only the first name of the
  // switch, full Chromium (156) only the second; both ignore unknown switches.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  // The proxy resolves names. Lookups of the browser itself (prefetching, WebRTC) fail.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  // HTTP/3 and WebTransport use UDP.
  '--disable-quic',
  // Requests of the browser itself: updates, reports, sync, safe browsing, hyperlink auditing.
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-client-side-phishing-detection',
  '--disable-sync',
  '--disable-breakpad',
  '--no-pings',
  // Without this switch, Chromium also downloads components on demand, even if updates are disabled: models at each start, translation
  // after a click in a page.
  `--component-updater=url-source=${deadProxy}/`,
  // Full Chromium requests the list of logged-in accounts.
  `--gaia-url=${deadProxy}/`,
];

/** Initial window size, which is the default viewport of a capture. */
export const windowSize = { width: 1280, height: 720 } as const;

/**
 * Features that Playwright disables. Chromium uses only the last `--disable-features`, so the renderer's switch must repeat them; a test
 * compares the list with the installed Playwright.
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
  // This feature would send each form of a page to Google, through the proxy session of the capture.
  'AutofillServerCommunication',
  // This feature would load http images of supplied HTML by https, because such HTML renders at an https origin.
  'AutoupgradeMixedContent',
  // This feature prompts before a page accesses a private network. A capture has no user, and the egress policy decides.
  'LocalNetworkAccessChecks',
  // This feature makes WebRTC query names in the local network over multicast. The addresses that it hides stay private anyway, because
  // there are no candidates without UDP.
  'WebRtcHideLocalIpsWithMdns',
  // This feature draws boxes that scroll at the offset of the compositor, which may be outdated. After scrolling to the end and back, a box
  // that covers the viewport shows its end in the first 520 px of a picture (half of the captures; Chromium 156).
  'RasterInducingScroll',
];

/** Returns one switch for all features, because Chromium uses only the last of several. */
function disabling(features: readonly string[]): string {
  return `--disable-features=${features.join(',')}`;
}

/**
 * Settings of Playwright. Chromium uses only the last `--blink-settings`, so the renderer's switch must repeat them; a test compares the
 * two.
 */
const settingsOfPlaywright = [
  'primaryHoverType=2',
  'availableHoverTypes=2',
  'primaryPointerType=4',
  'availablePointerTypes=4',
];

const blinkSettings = [
  ...settingsOfPlaywright,
  // Paints the page below the viewport, so that a screenshot with a clip can show it. `captureBeyondViewport` does the same, but for a
  // moment it shows the page in a viewport of 1 × 1 px (page_handler.cc). Media queries then change, and images of `<source media>` load
  // again. They were missing from up to a tenth of the pictures.
  'mainFrameClipsContent=false',
];

/** Switches of both browsers, in addition to Playwright's. */
export const commonSwitches: readonly string[] = [
  ...egressSwitches,
  disabling(disabledFeatures),
  `--blink-settings=${blinkSettings.join(',')}`,
  `--window-size=${windowSize.width},${windowSize.height}`,
  '--lang=en-US',
  // V8 ends a page whose scripts use more memory than this, before it takes memory from other pages.
  '--js-flags=--max-old-space-size=512',
  // Without this switch, large images may be missing from the first frame.
  '--disable-checker-imaging',
  // Without this switch, the compositor thread may still draw the start of an animation that has been set to its end.
  '--disable-threaded-animation',
];

/** Switches of Playwright that both browsers omit. */
export const withoutCommonSwitches: readonly string[] = [
  // With this switch, a page could send messages and change its address without a limit.
  '--disable-ipc-flooding-protection',
];

/** Switches of the headless shell. */
export const headlessShellSwitches: readonly string[] = [
  ...commonSwitches,
  disabling([
    ...disabledFeatures,
    // This feature gives each document a new frame and view, even in the same process. They are then created twice for each page, because
    // it opens with about:blank, which takes 7% of a small page's time. The feature does not affect which sites share a process.
    'RenderDocument',
  ]),
  // This switch makes window.open return null. Full Chromium has a popup blocker instead.
  '--block-new-web-contents',
];
