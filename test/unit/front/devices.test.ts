import { readFile } from 'node:fs/promises';
import { devices as installed } from 'playwright';
import { expect, test } from 'vitest';
import { devices } from '@webcapture/shared/api/devices.ts';
import { nearestNames } from '@webcapture/shared/runtime/nearest-names.ts';
import { fillInDevice, visitorOf } from '../../../services/front/capture/visitor-rules.ts';
import { deviceListModule } from '../../../deploy/docs/device-list.ts';

test('the list of devices is that of the installed Playwright (npm run docs writes it)', async () => {
  const file = new URL('../../../services/shared/api/device-list.ts', import.meta.url);
  expect(await readFile(file, 'utf8')).toBe(deviceListModule());
  expect([...devices.keys()]).toEqual(Object.keys(installed));
});

test('in the list of Playwright a device has touch exactly if it is mobile', () => {
  for (const { isMobile, hasTouch } of Object.values(installed)) expect(hasTouch).toBe(isMobile);
});

test('a device is as in Playwright, except for scales that a request may not have', () => {
  const { viewport, deviceScaleFactor, userAgent } = installed['iPhone 15'];
  expect(devices.get('iPhone 15')).toEqual({
    name: 'iPhone 15',
    viewport: { ...viewport, deviceScaleFactor },
    screen: { width: 393, height: 852 },
    isMobile: true,
    userAgent,
  });
  expect(installed['Pixel 7 Pro'].deviceScaleFactor).toBe(3.5);
  expect(devices.get('Pixel 7 Pro')?.viewport.deviceScaleFactor).toBe(3);
});

test('a device sets viewport, screen and user agent, and fields of the request override them', () => {
  const body = { url: 'x', device: 'iPhone 15', viewport: { width: 500 } };
  fillInDevice(body);
  expect(body.viewport).toEqual({ width: 500, height: 659, deviceScaleFactor: 3 });
  const { userAgent } = installed['iPhone 15'];
  const screen = { width: 393, height: 852 };
  expect(visitorOf({ device: 'iPhone 15' })).toStrictEqual({ userAgent, isMobile: true, screen });
  expect(visitorOf({ device: 'iPhone 15', userAgent: 'x' })).toMatchObject({ userAgent: 'x' });
  expect(visitorOf({ device: 'Desktop Chrome' })).not.toHaveProperty('isMobile');
});

test.each([null, 'text', [], {}, { device: 7 }, { device: 'no such' }, { device: 'iPhone 15', viewport: null }])(
  'fillInDevice leaves the body %j unchanged',
  (body) => {
    const copy = structuredClone(body);
    fillInDevice(copy);
    expect(copy).toStrictEqual(body);
  },
);

test.each([
  ['iphone-15-pro', 'iPhone 15 Pro'],
  ['Pixel 7a ', 'Pixel 7a'],
  ['ipad', 'iPad (gen 5)'],
  ['iphon 15', 'iPhone 15'],
])('the suggestions for the device %s include %s', (unknown, meant) => {
  expect(nearestNames([...devices.keys()], unknown)).toContain(meant);
});

test('there are no suggestions for a name that is unlike any device', () => {
  expect(nearestNames([...devices.keys()], 'toaster')).toEqual([]);
  expect(nearestNames([...devices.keys()], '')).toEqual([]);
});
