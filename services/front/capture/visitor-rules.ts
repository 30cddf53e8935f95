import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { describeValue } from '../validation/explain-errors.ts';

type VisitorRequest = Pick<CaptureRequest, 'locale' | 'timezone' | 'userAgent'>;

/** What is wrong with the values that say who looks at the page, as far as no schema can say it. */
export function* brokenVisitorRules({ locale, timezone, userAgent }: VisitorRequest): Generator<string> {
  if (locale !== undefined && canonicalLocale(locale) === undefined) {
    yield `locale must be a language tag (BCP 47) without extensions like "de-DE", not ${describeValue(locale)}`;
  }
  if (timezone !== undefined && canonicalTimezone(timezone) === undefined) {
    yield `timezone must be a name of the IANA time zone database like "Europe/Berlin", not ${describeValue(timezone)}`;
  }
  if (userAgent !== undefined && !/^[!-~](?:[ -~]*[!-~])?$/.test(userAgent)) {
    yield `userAgent must have visible ASCII characters, and spaces between them, not ${describeValue(userAgent)}`;
  }
}

/**
 * The values under the names that all spellings of them share, so that equal captures meet in the cache. Of values that keep
 * {@link brokenVisitorRules}; those that are absent stay absent.
 */
export function canonicalVisitor({ locale, timezone }: VisitorRequest): { locale?: string; timezone?: string } {
  return {
    ...(locale === undefined ? {} : { locale: canonicalLocale(locale) ?? locale }),
    ...(timezone === undefined ? {} : { timezone: canonicalTimezone(timezone) ?? timezone }),
  };
}

/** Undefined of what is no language tag, or one with extensions: those say how to format, and no browser sends them. */
function canonicalLocale(tag: string): string | undefined {
  try {
    const { baseName, language } = new Intl.Locale(tag);
    const [canonical = ''] = Intl.getCanonicalLocales(tag);
    // Chromium refuses the longer names that the standard sets aside for the future.
    return canonical === baseName && language.length <= 3 ? canonical : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined of an unknown one. Offsets like +01:00 are none: they know no summer time. */
function canonicalTimezone(name: string): string | undefined {
  if (/^[+-]/.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
