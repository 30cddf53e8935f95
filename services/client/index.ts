export type { Admin } from './admin.ts';
export { Webcapture, type WebcaptureOptions } from './client.ts';
export {
  AuthenticationError,
  CaptureFailedError,
  type ClientErrorCode,
  ConflictError,
  type ErrorCode,
  NetworkError,
  NotFoundError,
  PermissionError,
  QuotaExceededError,
  RateLimitError,
  RequestTimeoutError,
  ServiceUnavailableError,
  ValidationError,
  WebcaptureError,
} from './errors.ts';
export type { EventsOptions } from './event-stream.ts';
export { signLink, type SignLinkOptions } from './links.ts';
export type { components, paths } from './openapi.ts';
export type { CallOptions, CaptureCallOptions, FollowCaptureOptions, RawClient, WaitOptions } from './requests.ts';
export type * from './types.ts';
export { verifyWebhook, type VerifyWebhookOptions, type WebhookHeaders, WebhookVerificationError } from './webhooks.ts';
