import type { ErrorCode } from '../errors/table.ts';
import type { Format, MimeType } from './formats.ts';
import type { CaptureReport, CaptureStatus } from './capture-result.ts';
import type { Region } from './regions.ts';

/** What a renderer found out about a finished capture. */
export interface CaptureOutcome {
  readonly region: Region;
  readonly mimeType: MimeType;
  readonly fileSizeBytes: number;
  readonly width: number;
  readonly height: number;
  readonly capturedAt: number;
  readonly report: CaptureReport;
}

export interface CaptureFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Nobody waited for it any more: it says nothing about the page. */
  readonly cancelled?: true;
}

/** The state of one capture: the truth about it, kept in `KV_db`. All times are Unix milliseconds. */
export interface CaptureRecord {
  readonly uuid: string;
  readonly account: string;
  readonly status: CaptureStatus;
  /** As asked for; `about:blank` for html. */
  readonly url: string;
  readonly format: Format;
  readonly viewport: { readonly width: number; readonly height: number; readonly deviceScaleFactor: number };
  readonly fullPage: boolean;
  /** What completing it charges. */
  readonly tokenCost: number;
  readonly fileName: string;
  readonly region: Region;
  readonly acceptedAt: number;
  readonly deadline: number;
  /** When the file is removed. Until the capture completes: acceptance plus the lifetime asked for. */
  readonly expiresAt: number;
  readonly endedAt?: number;
  /** The name of the cache entry that it answers from: gone when its file goes. */
  readonly cacheName?: string;
  /** With status `completed`. */
  readonly outcome?: CaptureOutcome;
  /** With status `failed`. */
  readonly failure?: CaptureFailure;
}
