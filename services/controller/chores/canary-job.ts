import { randomUUIDv7 } from 'node:crypto';
import { captureJobVersion, type CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { newFileName } from '@webcapture/shared/storage/file-name.ts';

/** Whom the service's own captures belong to. They cost nothing. */
export const systemAccount = 'system';

export const canaryViewport = { width: 320, height: 200, deviceScaleFactor: 1 } as const;

/** What a canary leaves in the store, when it is not removed, expires after this. */
const fileLifetimeMs = 10 * 60_000;

const html = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>webcapture canary</title>
  <style>body { background: #0b7285; color: #fff; font: 20px sans-serif; padding: 2em }</style>
  <p>All is well.</p>
</html>`;

const options: RenderOptions = {
  format: 'png',
  viewport: canaryViewport,
  isFullPage: false,
  quality: 80,
  colorScheme: 'light',
  timeout: 5000,
  waitUntil: 'load',
  imageTimeout: 0,
  delay: 0,
  antiBot: false,
  block: { ads: false, trackers: false, media: false, cookieBanners: false },
  pdf: {
    paper: 'A4',
    landscape: false,
    margin: { top: 10, right: 10, bottom: 10, left: 10 },
    printBackground: true,
    scale: 1,
  },
};

/** A small capture of our own html, as a front would queue it. */
export function newCanary(
  region: Region,
  deadlineMs: number,
  resultSubject: string,
): { readonly job: CaptureJob; readonly record: CaptureRecord } {
  const uuid = randomUUIDv7();
  const acceptedAt = Date.now();
  const deadline = acceptedAt + deadlineMs;
  const common = {
    uuid,
    account: systemAccount,
    region,
    lane: 'interactive',
    fileName: newFileName(uuid, options.format),
    acceptedAt,
    startBy: deadline,
    deadline,
    options,
  } as const;
  return {
    job: {
      ...common,
      version: captureJobVersion,
      revision: 0,
      resultSubject,
      wantsBytes: false,
      source: { kind: 'html', html },
    },
    record: {
      ...common,
      status: 'queued',
      url: 'about:blank',
      askedRegion: region,
      tokenCost: 0,
      lifetimeMs: fileLifetimeMs,
      expiresAt: acceptedAt + fileLifetimeMs,
    },
  };
}
