export { Webcapture, type CaptureCallOptions, type WaitOptions, type WebcaptureOptions } from './client.ts';
export type { Admin } from './admin.ts';
export type { CallOptions, RawClient } from './requests.ts';
export * from './errors.ts';
export type * from './types.ts';
export type { paths } from './openapi.ts';
export * from './webhooks.ts';
