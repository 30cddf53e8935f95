import type { Handler } from '../../harness/test-site.ts';
import type { CapturedPdf, CapturedPicture } from './captured-file.ts';

/** A page that is hard to capture, with a check of its file. */
interface HardPage {
  /** The difficulty. */
  readonly name: string;
  /** Responses of its site by path, with `/` as the page itself. */
  readonly site: Readonly<Record<string, string | Handler>>;
}

/** A page of which a picture of the whole page is taken. The check throws if it is wrong. */
export interface PictureCase extends HardPage {
  readonly check: (picture: CapturedPicture) => void;
}

/** A page that is printed on paper. The check throws if the PDF is wrong. */
export interface PaperCase extends HardPage {
  readonly checkPdf: (pdf: CapturedPdf) => void | Promise<void>;
}

export type QualityCase = PictureCase | PaperCase;
