import { chromium, chromiumHeadlessShell } from './chromium.ts';
import { fonts } from './fonts.ts';
import { go } from './go.ts';
import { natsServer } from './nats-server.ts';
import type { Tool } from './tool.ts';

/** Every tool that `npm start` or `npm test` may need. A new one is a file here and a line below. */
export const registry: readonly Tool[] = [natsServer, chromiumHeadlessShell, chromium, fonts, go];
