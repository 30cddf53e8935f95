import sharp from 'sharp';
import { afterAll, beforeAll } from 'vitest';
import { statusKey, type StatusReport } from '@webcapture/shared/api/status.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { sessionOwner } from '@webcapture/shared/captures/sessions.ts';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import type { Api } from '../../harness/api.ts';
import { freePort } from '../../harness/free-port.ts';
import { quietReport } from '../../harness/quiet-report.ts';
import { plainReport } from '../../harness/records.ts';
import type { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { apiOf, presetKey, startTestFront, type TestFront } from '../front/test-front.ts';

export const adminToken = 'the-admin-token-of-the-dashboard';
export const signInCode = 'the-sign-in-code-of-the-dashboard';

const secretsKey = 'the-key-for-secrets-of-the-dashboard';

/** A front that serves the dashboard, its renderer, and a client with its preset key. */
export interface DashboardService {
  readonly url: string;
  readonly key: string;
  readonly api: Api;
  readonly renderer: StandInRenderer;
  /** Writes a status report, as the controller does. */
  readonly report: (report: Partial<StatusReport>) => Promise<unknown>;
}

/** Host of the pages that the renderer can open. */
export const site = 'https://example.com';

/** Title of a page: markup, marks that change the text direction, and no space for a line break, with the maximum length. */
const hostileTitle = `<img src=x onerror=alert(1)> \u202Etxt.exe\u2066 ${'W'.repeat(512)}`.slice(0, 512);

/** Gives the tests of a file a front on a real nats-server. Its stand-in renderer makes real pictures. */
export function useService(): () => DashboardService {
  let front: TestFront | undefined;
  let service: DashboardService | undefined;
  beforeAll(async () => {
    const port = await freePort();
    const env = {
      PORT: String(port),
      WEBCAPTURE_ADMIN_TOKEN: adminToken,
      WEBCAPTURE_SIGN_IN_CODE: signInCode,
      WEBCAPTURE_SECRETS_KEY: secretsKey,
      WEBCAPTURE_CDN_URL: `http://127.0.0.1:${port}/files`,
    };
    front = await startTestFront(env, { statisticsMs: 200 });
    const { url, renderer } = front;
    renderPages(renderer);
    const keys = new SecretsKeys([secretsKey]);
    const origins = [{ origin: site, localStorage: [{ name: 'user', value: 'ann' }], sessionStorage: [] }];
    renderer.sealSession = ({ account, uuid }) => keys.seal({ cookies: [], origins }, sessionOwner(account, uuid));
    const live = new Entries(front.nats.session, 'live');
    const report: DashboardService['report'] = (changes) =>
      live.put(statusKey, { ...quietReport, at: Date.now(), ...changes });
    service = { url, key: presetKey, api: apiOf(front), renderer, report };
  });
  afterAll(() => front?.[Symbol.asyncDispose]());
  return () => {
    if (service === undefined) throw new Error('the service is there only while tests run');
    return service;
  };
}

/** Each page has the title "Page <path>" and a PNG of a square that moves with each rendering. /unreachable fails. */
function renderPages(renderer: StandInRenderer): void {
  let renderings = 0;
  const pictures = new WeakMap<CaptureJob, Buffer>();
  const plainFileOf = renderer.fileOf.bind(renderer);
  renderer.fileOf = (job) => pictures.get(job) ?? plainFileOf(job);
  renderer.reportOf = (job) => ({ ...plainReport, title: titleOf(job) });
  renderer.behavior = async (job) => {
    if (titleOf(job) === 'Page unreachable') return renderer.fail(job, 'NAVIGATION_FAILED', 'The site is unreachable.');
    const { format, viewport } = job.options;
    if (format === 'png') pictures.set(job, await drawSquare(viewport, renderings++));
    await renderer.complete(job);
  };
}

function drawSquare({ width, height }: { width: number; height: number }, place: number): Promise<Buffer> {
  const square = { create: { width: 10, height: 10, channels: 3, background: 'black' } } as const;
  return sharp({ create: { width, height, channels: 3, background: 'white' } })
    .composite([{ input: square, left: (place % 10) * 20, top: 20 }])
    .png()
    .toBuffer();
}

function titleOf({ source }: CaptureJob): string {
  const path = source.kind === 'url' ? new URL(source.url).pathname.slice(1) : 'html';
  return path === 'hostile' ? hostileTitle : `Page ${path}`;
}
