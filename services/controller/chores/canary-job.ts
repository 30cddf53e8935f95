import { systemAccount } from '@webcapture/shared/contract/account.ts';
import { captureJobVersion } from '@webcapture/shared/contract/capture-job.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import type { UnsignedJob } from '@webcapture/shared/state/job-of.ts';
import { newFileName } from '@webcapture/shared/storage/file-name.ts';

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

/** A small capture of our own html, as a front would queue it; times are the server's. It has no record. */
export function newCanary(
  region: Region,
  {
    deadlineMs,
    now,
    replySubject,
  }: { readonly deadlineMs: number; readonly now: number; readonly replySubject: string },
  uuid: string,
): UnsignedJob {
  const deadline = now + deadlineMs;
  const object = newFileName(uuid, options.format);
  return {
    version: captureJobVersion,
    uuid,
    revision: 0,
    region,
    ticket: { account: systemAccount, uuid, revision: 0, region, object },
    reply: { subject: replySubject, wants: 'result' },
    resultTtlSeconds: Math.ceil(deadlineMs / 1000),
    account: systemAccount,
    lane: 'interactive',
    acceptedAt: now,
    startBy: deadline,
    deadline,
    file: { object, lifetimeMs: fileLifetimeMs },
    source: { kind: 'html', html },
    options,
  };
}
