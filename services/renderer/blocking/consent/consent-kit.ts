import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { filterCompactRules } from '@duckduckgo/autoconsent';
import { driveConsent } from '../in-page/drive-consent.ts';

/** Name of the function by which a page's consent script talks to this process. */
export const consentBinding = 'webcaptureConsentTell';

/** What answers consent dialogs: the script for every frame, and the rules for each. */
export interface ConsentKit {
  readonly script: string;
  /** The start-up message for a frame's script, as JSON: configuration and the rules that matter at its address. */
  readonly startMessage: (url: string, isTop: boolean) => string;
}

type CompactRules = Parameters<typeof filterCompactRules>[0];

/** How often, with pauses in between, a page is looked over for a dialog while it loads. */
const detectRetries = 40;

const config = {
  enabled: true,
  autoAction: 'optOut',
  enablePrehide: false,
  enableCosmeticRules: true,
  enableGeneratedRules: true,
  detectRetries,
  // Dialogs that no rule knows: reject where they have a button for it, acknowledge where that is all they offer.
  heuristicMode: 'tier1',
  logs: { lifecycle: false, rulesteps: false, detectionsteps: false, evals: false, errors: false, messages: false },
};

export async function loadConsentKit(): Promise<ConsentKit> {
  const require = createRequire(import.meta.url);
  const [library, rulesText] = await Promise.all([
    readFile(require.resolve('@duckduckgo/autoconsent'), 'utf8'),
    readFile(require.resolve('@duckduckgo/autoconsent/rules/compact-rules.json'), 'utf8'),
  ]);
  const rules = JSON.parse(rulesText) as CompactRules;
  // The library's CommonJS build, run as a module would be, inside the frame.
  const script = `(() => {
if (!/^https?:$/.test(location.protocol) || globalThis.webcaptureConsent) return;
const module = { exports: {} };
(function (module, exports) {
${library}
})(module, module.exports);
(${driveConsent.toString()})(module.exports.default, globalThis.${consentBinding});
})();`;
  return {
    script,
    startMessage: (url, isTop) =>
      JSON.stringify({
        type: 'initResp',
        config,
        rules: { autoconsent: [], compact: filterCompactRules(rules, { url, mainFrame: isTop }) },
      }),
  };
}
