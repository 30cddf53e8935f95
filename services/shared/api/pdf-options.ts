import { type Static, Type } from 'typebox';
import {
  attachmentsSchema,
  encryptionSchema,
  metadataSchema,
  type PdfAttachment,
  type PdfMetadata,
} from './document-options.ts';
import { oneOf } from './one-of.ts';
import { optionalSwitch } from './option-schemas.ts';
import {
  fixedModes,
  type FixedMode,
  maxPaperMm,
  minPaperMm,
  paperNames,
  type PaperName,
  type PaperSize,
} from './paper.ts';

/** Maximum margin of a PDF in millimeters. */
export const maxMarginMm = 1000;

/** Maximum size of a header or footer in UTF-8, with room for a logo. */
export const maxTemplateBytes = 65_536;

const marginInMm = Type.Number({ minimum: 0, maximum: maxMarginMm });
const lengthPattern = '\\d{1,4}(\\.\\d{1,4})? ?(mm|cm|in|px)';
const marginLengthSchema = Type.Union([
  marginInMm,
  Type.String({ pattern: `^${lengthPattern}$`, examples: ['12.5mm'] }),
]);

const marginSchema = Type.Union(
  [
    marginInMm,
    Type.String({ pattern: `^(css|${lengthPattern})$`, examples: ['12.5mm', 'css'] }),
    Type.Object(
      {
        top: Type.Optional(marginLengthSchema),
        right: Type.Optional(marginLengthSchema),
        bottom: Type.Optional(marginLengthSchema),
        left: Type.Optional(marginLengthSchema),
      },
      { additionalProperties: false },
    ),
  ],
  {
    default: 10,
    description:
      'Page margins: a number in millimeters, a string with a unit (mm, cm, in, px), an object {top, right, bottom, left} of these, or "css" for the margins of the page\'s own @page rules. A side that is not set is 10 mm.',
  },
);

const paperSide = (description: string) =>
  Type.Optional(
    Type.Union(
      [
        Type.Number({ minimum: minPaperMm, maximum: maxPaperMm }),
        Type.String({ pattern: '^\\d{1,5}(\\.\\d{1,4})? ?(mm|cm|in|px)$', examples: ['62mm'] }),
      ],
      { description },
    ),
  );

const template = (place: string) =>
  Type.Optional(
    Type.String({
      maxLength: maxTemplateBytes,
      description: `HTML in the ${place} margin of every page, up to 64 KiB. Elements of the classes date, title, url, pageNumber and totalPages are filled in. Scripts do not run, images must be data URLs, and fonts must be installed ones.`,
    }),
  );

const range = '[1-9]\\d{0,4}(-([1-9]\\d{0,4})?)?';

/** The page set-up of a PDF. Optional fields are absent from the job if they have their default. */
export const pdfSchema = Type.Object(
  {
    paper: Type.Optional(
      oneOf(paperNames, {
        description: 'Paper size. A4 if neither paper nor width and height are set. Ignored with isFullPage.',
      }),
    ),
    landscape: Type.Boolean({ default: false, description: 'Use landscape orientation.' }),
    margin: marginSchema,
    printBackground: Type.Boolean({ default: true, description: 'Print background colors and images.' }),
    scale: Type.Number({ minimum: 0.1, maximum: 2, default: 1, description: 'Scale of the rendering.' }),
    width: paperSide(
      'Width of the paper, with height and in place of paper: a number in millimeters or a string with a unit (mm, cm, in, px), 10 to 5080 mm.',
    ),
    height: paperSide('Height of the paper, like width.'),
    preferCssPageSize: optionalSwitch(
      'Let the size of an @page rule of the page, where there is one, take precedence over the paper. The margins are those of pdf.margin.',
    ),
    pageRanges: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1000,
        pattern: `^ *${range}( *, *${range})* *$`,
        examples: ['1-3, 5, 8-'],
        description:
          'Pages to print, in their order, such as "1-3, 5, 8-". Pages beyond the end of the document are left out; the capture fails if no page remains.',
      }),
    ),
    headerTemplate: template('top'),
    footerTemplate: template('bottom'),
    tagged: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Write tags for screen readers. The file is smaller without them.',
      }),
    ),
    outline: optionalSwitch('Write bookmarks made of the headings of the page.'),
    fixed: Type.Optional(
      oneOf(fixedModes, {
        description:
          'Elements with position: fixed: on every page (repeat), or once (once), except for those that only the print styles fix. repeat for html, once for a url, if not set.',
      }),
    ),
    metadata: metadataSchema,
    attachments: attachmentsSchema,
    encryption: encryptionSchema,
  },
  { additionalProperties: false, description: 'PDF options. Allowed with format pdf only.' },
);

type PdfRequest = Static<typeof pdfSchema>;

/** The validated page set-up of a PDF with defaults; lengths in millimeters. */
export interface PdfOptions extends Readonly<
  Pick<PdfRequest, 'landscape' | 'printBackground' | 'scale' | 'pageRanges' | 'headerTemplate' | 'footerTemplate'>
> {
  /** A paper name, or a custom size. */
  readonly paper: PaperName | PaperSize;
  readonly margin: { readonly top: number; readonly right: number; readonly bottom: number; readonly left: number };
  /** Set if the margins of the page's @page rules apply, if the page has such rules. */
  readonly hasCssMargin?: true;
  readonly preferCssPageSize?: true;
  readonly tagged?: false;
  readonly outline?: true;
  /** If absent, `defaultFixed` applies. */
  readonly fixed?: FixedMode;
  readonly metadata?: PdfMetadata;
  readonly attachments?: readonly PdfAttachment[];
}
