import { ServiceError } from '../errors/service-error.ts';

/** The file that was to be read has been removed, or another one is in its place: `stat` tells which. */
export class FileReplacedError extends ServiceError {
  constructor(options?: { cause?: unknown }) {
    super(
      'STORAGE_FAILED',
      'The file was removed or replaced while it was being read. Send the request again.',
      options,
    );
    this.name = 'FileReplacedError';
  }
}
