import { inspectProgram } from './inspect-program.ts';
import { aptInstall } from './strategies/apt-install.ts';
import { findAt } from './strategies/find-at.ts';
import { findInPath, programsInPath } from './strategies/find-in-path.ts';
import { downloadByPlaywright, findInPlaywright } from './strategies/playwright.ts';
import { useTool } from './strategies/use-tool.ts';
import type { Tool } from './tool.ts';

/** Since version 132, the headless shell is a separate program, and the headless mode of the full browser is the new one. */
const inspect = inspectProgram({ args: ['--version'], minimum: '132.0' });

const shellNames = ['chromium-headless-shell', 'chrome-headless-shell', 'headless_shell'];
const shellOfPlaywright = {
  name: 'chromium-headless-shell',
  programs: [...shellNames, 'chrome-headless-shell.exe', 'headless_shell.exe'],
  args: [],
};

/** The headless shell, which renders captures. It opens a context in a seventh of the full browser's time. */
export const chromiumHeadlessShell: Tool = {
  name: 'chromium-headless-shell',
  variable: 'WEBCAPTURE_HEADLESS_SHELL_PATH',
  inspect,
  find: [findInPath(...shellNames), findInPlaywright(shellOfPlaywright)],
  install: [
    downloadByPlaywright(shellOfPlaywright),
    aptInstall({
      packages: ['chromium-headless-shell'],
      candidates: (_tool, { env }) => programsInPath(shellNames, env),
    }),
    useTool('chromium'),
  ],
  byHand: (platform) => byHand(platform, 'chromium-headless-shell'),
};

const fullNames = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const fullOfPlaywright = {
  name: 'chromium',
  programs: ['chrome', 'chrome.exe', 'Google Chrome for Testing', 'Chromium'],
  args: ['--no-shell'],
};

/** The full browser, which renders captures in anti-bot mode, because sites recognize the headless shell. */
export const chromium: Tool = {
  name: 'chromium',
  variable: 'WEBCAPTURE_CHROMIUM_PATH',
  inspect,
  find: [
    findInPath(...fullNames),
    findAt(
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
    ),
    findInPlaywright(fullOfPlaywright),
  ],
  install: [
    downloadByPlaywright(fullOfPlaywright),
    aptInstall({ packages: ['chromium'], candidates: (_tool, { env }) => programsInPath(fullNames, env) }),
  ],
  byHand: (platform) => byHand(platform, 'chromium --no-shell'),
};

function byHand(platform: NodeJS.Platform, browser: string): string {
  const download = `node node_modules/playwright/cli.js install ${browser}`;
  return platform === 'linux' ? `${download} --with-deps` : download;
}
