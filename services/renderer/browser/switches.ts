import { egressSwitches } from '../egress/chromium-switches.ts';

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
  // Supplied html renders at an https origin; its http images are to be fetched as they are named.
  'AutoupgradeMixedContent',
  // Asks the user before a page reaches into a private network. Nobody is there to ask, and the egress policy decides.
  'LocalNetworkAccessChecks',
  // Has WebRTC ask the local network for names over multicast. The addresses that it hides are not told anyway: without
  // UDP there are no candidates.
  'WebRtcHideLocalIpsWithMdns',
];

/** Switches of both browsers, beside Playwright's own. */
export const commonSwitches: readonly string[] = [
  ...egressSwitches,
  `--disable-features=${disabledFeatures.join(',')}`,
  `--window-size=${windowSize.width},${windowSize.height}`,
  '--lang=en-US',
  // A page whose scripts hold more than this is ended by V8, before it takes the memory of the others.
  '--js-flags=--max-old-space-size=512',
  // Else large images may be missing from the first frame.
  '--disable-checker-imaging',
  // An animation that was brought to its end may still be drawn at its beginning by the thread that draws.
  '--disable-threaded-animation',
];

/** Switches of the headless shell. */
export const headlessShellSwitches: readonly string[] = [
  ...commonSwitches,
  // window.open returns null; full Chromium has a popup blocker for that.
  '--block-new-web-contents',
];
