import { devices } from 'playwright';

/** Returns the module `services/shared/api/device-list.ts`, generated from the devices of the installed Playwright. */
export function deviceListModule(): string {
  const userAgents = [...new Set(Object.values(devices).map(({ userAgent }) => userAgent))];
  const rows = Object.entries(devices).map(([name, device]) => {
    const { viewport, deviceScaleFactor, isMobile, userAgent } = device;
    const { screen = viewport } = device as { screen?: typeof viewport };
    const sizes = [viewport.width, viewport.height, screen.width, screen.height, deviceScaleFactor];
    return [name, ...sizes, isMobile, userAgents.indexOf(userAgent)];
  });
  const lines = (list: readonly unknown[]) => list.map((each) => `  ${JSON.stringify(each)},\n`).join('');
  return `// Made by \`npm run docs\` of the devices that the installed Playwright knows: do not edit.

export const userAgents: readonly string[] = [
${lines(userAgents)}];

/** Name, width and height of the viewport, then of the screen, device scale factor, whether it is mobile, and which user agent it has. */
export const deviceRows: readonly (readonly [string, number, number, number, number, number, boolean, number])[] = [
${lines(rows)}];
`;
}
