import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { declareLanguages, type PageSession } from '../browser/driver.ts';
import type { Target } from '../browser/target-tree.ts';
import type { OpenPage } from './open.ts';
import { describeUserAgent } from './user-agent.ts';

/** Removes two properties that browsers have only if they are based on Chromium. Without this script, Chromium leaves an empty object. */
const withoutHintsScript = 'delete Navigator.prototype.userAgentData; delete globalThis.NavigatorUAData;';

/** Number of touch points of phones. */
const maxTouchPoints = 5;

/**
 * Emulates the visitor's language, time zone, location, browser and touch screen in a page before its first navigation. Applies to frames
 * of any process. Dedicated workers get everything except `navigator.platform`. In shared and service workers, Chromium keeps its own user
 * agent. In shared workers it also keeps its own language. Rejects if the page no longer exists.
 */
export async function emulateVisitor({ page, cdp, targets }: OpenPage, options: RenderOptions): Promise<void> {
  const { locale, timezone, geolocation, userAgent, isMobile } = options;
  const acceptLanguage = locale === undefined ? undefined : languagesOf(locale).join();
  const facts = userAgent === undefined ? undefined : describeUserAgent(userAgent);
  const hasAgent = acceptLanguage !== undefined || facts !== undefined;
  if (!hasAgent && timezone === undefined && geolocation === undefined && isMobile === undefined) return;

  const setAgent = async (target: Target) => {
    if (!hasAgent) return;
    await target.send('Emulation.setUserAgentOverride', {
      // An empty text means the browser's own user agent.
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
  await Promise.all([
    targets.add({ frame: setAll, worker: setAgent }),
    geolocation && tellPlace(cdp, geolocation),
    facts && !facts.userAgentMetadata ? page.addInitScript({ content: withoutHintsScript }) : undefined,
  ]);
}

async function tellPlace(session: PageSession, place: NonNullable<RenderOptions['geolocation']>): Promise<void> {
  const { targetInfo } = await session.send('Target.getTargetInfo');
  const { browserContextId } = targetInfo;
  await Promise.all([
    session.send('Emulation.setGeolocationOverride', place),
    // The permission is set for any origin, because the address may redirect to another one. A frame still needs a permission policy of the
    // page. Playwright's own method would deny all other permissions.
    session.send('Browser.setPermission', {
      permission: { name: 'geolocation' },
      setting: 'granted',
      ...(browserContextId === undefined ? {} : { browserContextId }),
    }),
  ]);
}

/** Returns the languages that browsers send for a locale, such as `de-DE, de`. */
function languagesOf(locale: string): readonly string[] {
  const { language } = new Intl.Locale(locale);
  return locale === language ? [locale] : [locale, language];
}
