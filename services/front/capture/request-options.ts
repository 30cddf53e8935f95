import { type Device, devices } from '@webcapture/shared/api/devices.ts';
import type { PdfOptions } from '@webcapture/shared/api/pdf-options.ts';
import type { CaptureRecord, Persistence } from '@webcapture/shared/captures/capture-record.ts';
import { isDeepStrictEqual } from 'node:util';
import { omitDefaults } from './omit-defaults.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns the options of the request of a capture that differ from the defaults, as a body of POST /capture without its source. It
 * contains no secrets, and no attachments of a PDF, because they may be large.
 */
export function requestOptions(record: CaptureRecord): Values {
  const { options, requestedRegion, priority, persistence, lifetimeMs, cache, webhook } = record;
  const device = deviceOf(options);
  const given = {
    ...options,
    pdf: options.format === 'pdf' ? pdfRequest(options.pdf) : {},
    region: requestedRegion,
    background: priority === 'background',
    ...(cache === undefined ? {} : { responseCache: { enabled: true, ttl: cache.ttl } }),
    ...(persistence === undefined ? { cdnTtl: lifetimeMs / 1000 } : { persistence: persistenceRequest(persistence) }),
    ...(webhook === undefined ? {} : { webhook: { url: webhook.url } }),
  };
  const { pdf, ...others } = omitDefaults<Values>(given, { isForDisplay: true });
  const changed = { ...others, ...(Object.keys(pdf ?? {}).length === 0 ? {} : { pdf }) };
  return device === undefined ? changed : withDevice(changed, options.viewport, device);
}

const persistenceRequest = ({ refreshIntervalMs, ...others }: Persistence): Values => ({
  ...others,
  enabled: true,
  refreshInterval: refreshIntervalMs / 1000,
});

/** Returns the device of a capture, if its request named one. Records contain only the properties of a device. */
function deviceOf({ viewport, userAgent, screen, isMobile }: CaptureRecord['options']): Device | undefined {
  if (screen === undefined) return undefined;
  const alike = [...devices.values()].filter(
    (each) =>
      each.isMobile === (isMobile === true) && isDeepStrictEqual(each.screen, screen) && each.userAgent === userAgent,
  );
  const distance = (device: Device) => viewportChanges(viewport, device).length;
  return alike.toSorted((a, b) => distance(a) - distance(b))[0];
}

/** Names the device, in place of the values that it determines. */
function withDevice(
  { viewport: _viewport, userAgent: _userAgent, ...others }: Values,
  viewport: Device['viewport'],
  device: Device,
): Values {
  const own = viewportChanges(viewport, device);
  return { ...others, device: device.name, ...(own.length === 0 ? {} : { viewport: Object.fromEntries(own) }) };
}

const viewportChanges = (viewport: Device['viewport'], device: Device) =>
  Object.entries(viewport).filter(([name, value]) => Reflect.get(device.viewport, name) !== value);

/** Returns the page set-up as in a request. Lengths are in millimeters. */
function pdfRequest({ paper, margin, hasCssMargin, attachments: _large, ...others }: PdfOptions): Values {
  const { top, right, bottom, left } = margin;
  const isEven = [right, bottom, left].every((side) => side === top);
  return {
    ...others,
    ...(typeof paper === 'string' ? { paper: paper === 'A4' ? undefined : paper } : paper),
    margin: hasCssMargin === true ? 'css' : isEven ? top : margin,
  };
}
