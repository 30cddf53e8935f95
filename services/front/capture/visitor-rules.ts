import type { CaptureRequest, RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { type Device, devices } from '@webcapture/shared/api/devices.ts';
import { nearestNames } from '@webcapture/shared/runtime/nearest-names.ts';
import { describeValue } from '../validation/explain-errors.ts';
import { isObject } from '../validation/is-object.ts';

type VisitorRequest = Pick<CaptureRequest, 'locale' | 'timezone' | 'userAgent' | 'device'>;

/** Yields the violated rules for visitor options, as far as a schema cannot express them. */
export function* brokenVisitorRules({ locale, timezone, userAgent, device }: VisitorRequest): Generator<string> {
  if (device !== undefined && !devices.has(device)) yield explainDevice(device);
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

function explainDevice(device: string): string {
  const near = nearestNames([...devices.keys()], device);
  const meant = near.length === 0 ? '' : `; did you mean ${near.map((name) => JSON.stringify(name)).join(' or ')}?`;
  return `device must be a name that GET /devices lists, not ${describeValue(device)}${meant}`;
}

/**
 * Returns the visitor options for the renderer, in canonical form and with the properties of the device, so that equal captures share a
 * cache entry. The request must satisfy {@link brokenVisitorRules}. Absent options stay absent.
 */
export function visitorOf({
  locale,
  timezone,
  userAgent,
  device,
}: VisitorRequest): Pick<RenderOptions, 'locale' | 'timezone' | 'userAgent' | 'isMobile' | 'screen'> {
  const known = device === undefined ? undefined : devices.get(device);
  const agent = userAgent ?? known?.userAgent;
  return {
    ...(locale === undefined ? {} : { locale: canonicalLocale(locale) ?? locale }),
    ...(timezone === undefined ? {} : { timezone: canonicalTimezone(timezone) ?? timezone }),
    ...(agent === undefined ? {} : { userAgent: agent }),
    ...(known?.isMobile ? { isMobile: true } : {}),
    ...(known === undefined ? {} : { screen: known.screen }),
  };
}

/**
 * Sets the viewport of the device that a body names as the default. Must run before the validation, which fills in defaults: afterwards,
 * the fields that the client has sent cannot be distinguished. Leaves invalid bodies unchanged.
 */
export function fillInDevice(body: unknown): void {
  if (!isObject(body)) return;
  const { device, viewport = {} } = body;
  const known: Device | undefined = typeof device === 'string' ? devices.get(device) : undefined;
  if (known !== undefined && isObject(viewport)) body['viewport'] = { ...known.viewport, ...viewport };
}

/** Returns undefined for an invalid language tag, and for one with extensions, which browsers do not send. */
export function canonicalLocale(tag: string): string | undefined {
  try {
    const { baseName, language } = new Intl.Locale(tag);
    const [canonical = ''] = Intl.getCanonicalLocales(tag);
    // Chromium refuses the longer names that the standard reserves for the future.
    return canonical === baseName && language.length <= 3 ? canonical : undefined;
  } catch {
    return undefined;
  }
}

/** Returns undefined for an unknown time zone. Offsets like +01:00 are refused because they have no daylight saving time. */
export function canonicalTimezone(name: string): string | undefined {
  if (/^[+-]/.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
