import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { aptInstall } from './strategies/apt-install.ts';
import type { Strategy, Tool } from './tool.ts';

const packages = ['fontconfig', 'fonts-liberation', 'fonts-noto-core', 'fonts-noto-cjk', 'fonts-noto-color-emoji'];

/** What pages are written in, each as fontconfig asks for it: Latin, Chinese, Japanese, Korean, Arabic, Hindi, emoji. */
const samples = [':lang=en', ':lang=zh', ':lang=ja', ':lang=ko', ':lang=ar', ':lang=hi', ':charset=1f600'];

const fontconfig: Strategy = {
  title: 'fontconfig',
  // Elsewhere than on Linux the system brings fonts for all of them.
  candidates: async () => (process.platform === 'linux' ? installedFonts() : ['the system']),
};

/** Fonts for most of the world's scripts; pages show empty boxes without them. */
export const fonts: Tool = {
  name: 'fonts',
  inspect: () => Promise.resolve('complete'),
  find: [fontconfig],
  install: [aptInstall({ packages, candidates: (tool, context) => fontconfig.candidates(tool, context) })],
  byHand: (platform) =>
    platform === 'linux' ? `sudo apt-get install -y ${packages.join(' ')}` : 'install the Noto fonts',
};

/** The file of the first sample's font. */
async function installedFonts(): Promise<readonly string[]> {
  const files = await Promise.all(
    samples.map(async (sample) => {
      const { stdout } = await promisify(execFile)('fc-list', [sample, 'file'], { timeout: 30_000 }).catch(() => {
        throw new Error('fc-list (package fontconfig) does not run');
      });
      if (stdout.trim() === '') throw new Error(`no font for ${sample}`);
      return stdout.split(':')[0] ?? '';
    }),
  );
  return files.slice(0, 1);
}
