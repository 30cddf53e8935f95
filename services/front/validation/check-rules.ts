import { maxViewportPixels, type CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { describeValue } from './describe-schema.ts';

/** What the operator decides about requests. */
export interface RequestLimits {
  readonly minRefreshSeconds: number;
  /** How long persisted files are kept. */
  readonly persistenceSeconds: number;
}

/** A rule that no schema can say: null when it holds, else what is wrong. */
type Rule = (request: CaptureRequest, limits: RequestLimits) => string | null;

const oneSource: Rule = ({ url, html }) => {
  if (url !== undefined && html !== undefined) return 'url and html exclude each other: send one of them';
  return url === undefined && html === undefined ? 'one of url and html is required' : null;
};

const absoluteUrl: Rule = ({ url }) =>
  url === undefined || isHttpUrl(url)
    ? null
    : `url must be an absolute http or https address like "https://example.com/", not ${describeValue(url)}`;

const webhookUrl: Rule = ({ webhook }) =>
  webhook === undefined || isHttpUrl(webhook.url)
    ? null
    : `webhook.url must be an absolute http or https address, not ${describeValue(webhook.url)}`;

/** It is not shown: its password would go to the log with the message. */
const webhookWithoutUser: Rule = ({ webhook }) => {
  if (webhook === undefined || !isHttpUrl(webhook.url)) return null;
  const { username, password } = new URL(webhook.url);
  return username === '' && password === ''
    ? null
    : 'webhook.url must not carry a user or a password; verify the signature of each notice instead (GET /webhooks/secret)';
};

const pixels: Rule = ({ viewport: { width, height, deviceScaleFactor } }) => {
  const asked = width * height * deviceScaleFactor ** 2;
  if (asked <= maxViewportPixels) return null;
  const millions = (number: number) => Number((number / 1e6).toFixed(1));
  return `viewport must hold at most ${millions(maxViewportPixels)} megapixels (width × height × deviceScaleFactor²), not ${millions(asked)}`;
};

const fileNow: Rule = ({ responseType, background }) =>
  responseType === 'file' && background ? 'responseType file needs background false: the file is not there yet' : null;

const webhookLater: Rule = ({ webhook, background }) =>
  webhook !== undefined && !background ? 'webhook needs background true' : null;

const pdfOptions: Rule = ({ pdf, format }) =>
  pdf !== undefined && format !== 'pdf' ? `pdf needs format pdf, not ${format}` : null;

const refreshInterval: Rule = ({ persistence }, { minRefreshSeconds }) => {
  const { refreshInterval: seconds } = persistence;
  return seconds === 0 || seconds >= minRefreshSeconds
    ? null
    : `persistence.refreshInterval must be 0 (never) or at least ${minRefreshSeconds} seconds, not ${seconds}`;
};

const rules = [
  oneSource,
  absoluteUrl,
  webhookUrl,
  webhookWithoutUser,
  pixels,
  fileNow,
  webhookLater,
  pdfOptions,
  refreshInterval,
] as const satisfies readonly Rule[];

/**
 * The rules beyond the schema.
 *
 * @throws ServiceError VALIDATION_ERROR that names every one that is broken
 */
export function checkRules(request: CaptureRequest, limits: RequestLimits): void {
  const broken = rules.flatMap((rule) => rule(request, limits) ?? []);
  if (broken.length > 0) throw new ServiceError('VALIDATION_ERROR', broken.join('; '));
}

/** The URL parser is lenient (`http:host`, leading blanks): an address here has its scheme and its two slashes. */
function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/\\]/i.test(text) && URL.canParse(text);
}
