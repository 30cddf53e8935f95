/** Values that match a user agent, in the shape of `Emulation.setUserAgentOverride`. */
export interface UserAgentFacts {
  /** Value of `navigator.platform`. */
  readonly platform: string;
  /** Client hints; undefined for browsers that are not based on Chromium. */
  readonly userAgentMetadata: UserAgentMetadata | undefined;
}

interface UserAgentMetadata {
  readonly brands: Brand[];
  readonly fullVersionList: Brand[];
  readonly fullVersion: string;
  readonly platform: string;
  readonly platformVersion: string;
  readonly architecture: string;
  readonly bitness: string;
  readonly model: string;
  readonly mobile: boolean;
  readonly wow64: boolean;
  readonly formFactors: string[];
}

interface Brand {
  readonly brand: string;
  readonly version: string;
}

interface System {
  readonly pattern: RegExp;
  /** Value of `navigator.platform`. */
  readonly platform: string;
  /** Name in client hints; undefined if no browser on this system sends them. */
  readonly hint?: string;
  readonly architecture?: 'x86' | 'arm';
  /** Version in client hints. If undefined, the group of the pattern contains it. */
  readonly version?: string;
}

/** The first match counts. The order matters, because iPads and Android devices name other systems as well. */
const systems: readonly System[] = [
  { pattern: /iPhone/, platform: 'iPhone' },
  { pattern: /iPad/, platform: 'iPad' },
  { pattern: /Android(?: (\d+(?:\.\d+)*))?/, platform: 'Linux armv81', hint: 'Android' },
  { pattern: /Windows/, platform: 'Win32', hint: 'Windows', architecture: 'x86', version: '10.0.0' },
  { pattern: /Mac OS X(?: (\d+(?:_\d+)*))?/, platform: 'MacIntel', hint: 'macOS', architecture: 'arm' },
  { pattern: /CrOS/, platform: 'Linux x86_64', hint: 'Chrome OS', architecture: 'x86' },
];
const linux: System = { pattern: /^/, platform: 'Linux x86_64', hint: 'Linux', architecture: 'x86' };

/** Browsers based on Chromium that add their own name. */
const brandTokens: readonly (readonly [token: RegExp, brand: string])[] = [
  [/\bEdgA?\/([\d.]+)/, 'Microsoft Edge'],
  [/\bOPR\/([\d.]+)/, 'Opera'],
  [/\bSamsungBrowser\/([\d.]+)/, 'Samsung Internet'],
];

/** Derives the values that a browser with this user agent reports through other interfaces. */
export function describeUserAgent(userAgent: string): UserAgentFacts {
  const system = systems.find(({ pattern }) => pattern.test(userAgent)) ?? linux;
  const chromium = /\bChrome\/(\d[\d.]*)/.exec(userAgent)?.[1];
  const { platform, hint, architecture } = system;
  if (chromium === undefined || hint === undefined) return { platform, userAgentMetadata: undefined };
  const [, brand = 'Google Chrome', version = chromium] = brandOf(userAgent);
  const isMobile = /\bMobile\b/.test(userAgent);
  const fullVersionList = brandList(chromium, { brand, version });
  return {
    platform,
    userAgentMetadata: {
      brands: fullVersionList.map((each) => ({ brand: each.brand, version: majorOf(each.version) })),
      fullVersionList,
      fullVersion: version,
      platform: hint,
      platformVersion: system.version ?? threeNumbers(system.pattern.exec(userAgent)?.[1]),
      architecture: architecture ?? '',
      bitness: architecture === undefined ? '' : '64',
      model: hint === 'Android' ? (/Android [^;)]*; ([^;)]+?)(?: Build\/[^;)]*)?[;)]/.exec(userAgent)?.[1] ?? '') : '',
      mobile: isMobile,
      wow64: false,
      formFactors: [isMobile ? 'Mobile' : hint === 'Android' ? 'Tablet' : 'Desktop'],
    },
  };
}

function brandOf(userAgent: string): readonly string[] {
  for (const [token, brand] of brandTokens) {
    const version = token.exec(userAgent)?.[1];
    if (version !== undefined) return ['', brand, version];
  }
  return [];
}

/** Converts a version to three numbers: `10_15_7` to 10.15.7, and 14 to 14.0.0. */
const threeNumbers = (version: string | undefined) =>
  version === undefined ? '' : [...version.split(/[._]/), '0', '0'].slice(0, 3).join('.');

const majorOf = (version: string) => version.split('.')[0] ?? '';

const greaseCharacters = [' ', '(', ':', '-', '.', '/', ')', ';', '=', '?', '_'];
const greaseVersions = ['8.0.0.0', '99.0.0.0', '24.0.0.0'];
const orders = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
] as const;

/**
 * Returns the brands of a version in Chromium's order, with the made-up GREASE brand (`GenerateBrandVersionList` in
 * components/embedder_support/user_agent_utils.cc).
 */
function brandList(chromium: string, brand: Brand): Brand[] {
  const seed = Number(majorOf(chromium));
  const at = <T>(list: readonly T[], index: number) => list[index % list.length] as T;
  const grease = {
    brand: `Not${at(greaseCharacters, seed)}A${at(greaseCharacters, seed + 1)}Brand`,
    version: at(greaseVersions, seed),
  };
  const list: Brand[] = [];
  const order = at(orders, seed);
  for (const [index, each] of [grease, { brand: 'Chromium', version: chromium }, brand].entries()) {
    list[order[index] ?? 0] = each;
  }
  return list;
}
