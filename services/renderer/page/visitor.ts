import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CDPSession, Page } from 'playwright';
import { declareLanguages } from '../browser/page.ts';
import { TargetTree, type Target } from '../browser/target-tree.ts';
import { describeUserAgent } from './user-agent.ts';

/** Browsers that are not made of Chromium have neither; Chromium itself leaves an empty one behind. */
const withoutHintsScript = 'delete Navigator.prototype.userAgentData; delete globalThis.NavigatorUAData;';

/** Fingers that phones tell apart. */
const maxTouchPoints = 5;

/**
 * Makes a page that has been nowhere yet see the visitor that was asked for: language, time zone, place, browser and touch screen. It
 * holds in frames of any process. Dedicated workers have all of it but `navigator.platform`; in shared and service workers Chromium
 * keeps its own user agent, and in shared ones its own language, too.
 *
 * Rejects when the page is gone.
 */
export async function emulateVisitor(page: Page, options: RenderOptions): Promise<void> {
  const { locale, timezone, geolocation, userAgent, isMobile } = options;
  const acceptLanguage = locale === undefined ? undefined : languagesOf(locale).join();
  const facts = userAgent === undefined ? undefined : describeUserAgent(userAgent);
  const hasAgent = acceptLanguage !== undefined || facts !== undefined;
  if (!hasAgent && timezone === undefined && geolocation === undefined && isMobile === undefined) return;

  const setAgent = async (target: Target) => {
    if (!hasAgent) return;
    await target.send('Emulation.setUserAgentOverride', {
      // Empty: that of the browser.
      userAgent: userAgent ?? '',
      ...(acceptLanguage === undefined ? {} : { acceptLanguage }),
      ...(facts === undefined ? {} : { platform: facts.platform }),
      ...(facts?.userAgentMetadata === undefined ? {} : { userAgentMetadata: facts.userAgentMetadata }),
    });
  };
  const setAll = (target: Target) =>
    Promise.all([
      setAgent(target),
      locale === undefined ? undefined : target.send('Emulation.setLocaleOverride', { locale }),
      timezone === undefined ? undefined : target.send('Emulation.setTimezoneOverride', { timezoneId: timezone }),
      isMobile === undefined
        ? undefined
        : target.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints }),
    ]);
  if (acceptLanguage !== undefined) declareLanguages(page.context(), acceptLanguage);
  const session = await page.context().newCDPSession(page);
  await Promise.all([
    new TargetTree({ frame: setAll, worker: setAgent }).attach(session),
    geolocation && tellPlace(session, geolocation),
    facts && !facts.userAgentMetadata ? page.addInitScript({ content: withoutHintsScript }) : undefined,
  ]);
}

async function tellPlace(session: CDPSession, place: NonNullable<RenderOptions['geolocation']>): Promise<void> {
  const { targetInfo } = await session.send('Target.getTargetInfo');
  const { browserContextId } = targetInfo;
  await Promise.all([
    session.send('Emulation.setGeolocationOverride', place),
    // For any origin, since the address may lead to another one; a frame still needs the page to hand the permission on. Playwright's
    // own way would deny every other permission.
    session.send('Browser.setPermission', {
      permission: { name: 'geolocation' },
      setting: 'granted',
      ...(browserContextId === undefined ? {} : { browserContextId }),
    }),
  ]);
}

/** As browsers have them for a language: `de-DE, de`. */
function languagesOf(locale: string): readonly string[] {
  const { language } = new Intl.Locale(locale);
  return locale === language ? [locale] : [locale, language];
}
