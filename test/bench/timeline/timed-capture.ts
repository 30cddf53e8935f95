import type { CaptureResult } from '@webcapture/shared/api/capture.ts';
import type { Format } from '@webcapture/shared/api/formats.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import type { Fleet } from '../../harness/fleet.ts';
import { benchViewport } from '../speed/contender.ts';
import type { TimedCapture } from './captures.ts';

/** Captures a page with the whole service, and reads the time of each step from the report. */
export async function timedCapture(
  { url, key }: Fleet,
  body: { readonly url: string; readonly format?: Format },
): Promise<TimedCapture> {
  const start = now();
  const response = await fetch(`${url}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ viewport: benchViewport, ...body }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  const end = now();
  if (!response.ok) throw new Error(`webcapture returned ${response.status}: ${text}`);
  const { data } = JSON.parse(text) as { data: CaptureResult };
  const {
    queueMs,
    openMs = 0,
    navigateMs,
    settleMs,
    shootMs,
    storeMs,
    resultMs = 0,
    answerMs = 0,
  } = data.report.timings;
  // The server runs on this machine, so its clock is that of this process.
  const request = Math.max(0, (timeOfUuid(data.uuid) ?? start) - start);
  const reported = {
    request,
    queue: queueMs,
    open: openMs,
    navigate: navigateMs,
    settle: settleMs,
    shoot: shootMs,
    store: storeMs,
    result: resultMs,
    answer: answerMs,
  };
  const rest = end - start - Object.values(reported).reduce((sum, ms) => sum + ms, 0);
  return { start, end, times: { ...reported, response: Math.max(0, rest) } };
}

const now = () => performance.timeOrigin + performance.now();
