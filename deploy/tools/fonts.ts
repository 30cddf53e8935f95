import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { aptInstall } from './strategies/apt-install.ts';
import type { Strategy, Tool } from './tool.ts';

const packages = ['fontconfig', 'fonts-liberation', 'fonts-noto-core', 'fonts-noto-cjk', 'fonts-noto-color-emoji'];

/** Languages of pages, by the names that fontconfig uses for scripts. */
const languages = 'en el ru zh-cn zh-tw ja ko ar fa he hi bn pa gu ta te kn ml si th lo km my ka hy am'.split(' ');

/** Matches fonts with emoji in color. Several other fonts contain only black and white ones. */
const emoji = ':charset=1f600:color=true';

const fontconfig: Strategy = {
  title: 'fontconfig',
  // Systems other than Linux include fonts for all of these languages.
  candidates: async () => (process.platform === 'linux' ? installedFonts() : ['the system']),
};

/** Fonts for most scripts, and emoji in color; without them, pages show empty boxes. */
export const fonts: Tool = {
  name: 'fonts',
  inspect: () => Promise.resolve('complete'),
  find: [fontconfig],
  install: [aptInstall({ packages, candidates: (tool, context) => fontconfig.candidates(tool, context) })],
  byHand: (platform) =>
    platform === 'linux' ? `sudo apt-get install -y ${packages.join(' ')}` : 'install the Noto fonts',
};

/** Returns the file of one of the fonts. */
async function installedFonts(): Promise<readonly string[]> {
  const [all, colored] = await Promise.all([list(':', '%{file}\t%{lang}\n'), list(emoji, '%{file}\n')]);
  const known = new Set(all.flatMap((font) => (font.split('\t')[1] ?? '').split('|')));
  const missing = languages.filter((language) => !known.has(language));
  if (missing.length > 0) throw new Error(`no font for the language ${missing.join(', ')}`);
  if (colored.length === 0) throw new Error('no font with emoji in color');
  return all.slice(0, 1).map((font) => font.split('\t')[0] ?? '');
}

/** Returns one line for each installed font that matches. */
async function list(pattern: string, format: string): Promise<string[]> {
  const limits = { timeout: 30_000, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)('fc-list', ['--format', format, pattern], limits).catch(() => {
    throw new Error('fc-list (package fontconfig) does not run');
  });
  return stdout.split('\n').filter((line) => line !== '');
}
