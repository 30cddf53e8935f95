import type { PageLabels } from '../api/merge-request.ts';
import type { DocumentChanges } from './document-changes.ts';

/** Input of the process that merges documents, apart from the files. */
export interface MergeOrder extends Pick<DocumentChanges, 'metadata' | 'encryption'> {
  /** Titles of the bookmarks, and sizes of the files in bytes, in the order of the files. */
  readonly documents: readonly { readonly title: string; readonly size: number }[];
  readonly pageLabels: PageLabels;
  readonly maxPages: number;
}

/** Exit code of the process if the documents have too many pages together. */
export const tooManyPagesCode = 3;
