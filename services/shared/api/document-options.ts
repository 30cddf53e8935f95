import { type Static, Type } from 'typebox';
import { oneOf } from './one-of.ts';
import { optionalText } from './option-schemas.ts';

/** Maximum total size of the files of `pdf.attachments`, because a job contains them as base64. */
export const maxAttachmentBytes = 256 * 1024;

/** Maximum size of a password in UTF-8, which ISO 32000-2 defines. */
export const maxPasswordBytes = 127;

export const metadataSchema = Type.Optional(
  Type.Object(
    {
      title: optionalText(512, 'Title, in place of that of the page.'),
      author: optionalText(512, 'Author.'),
      subject: optionalText(1024, 'Subject.'),
      keywords: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
          minItems: 1,
          maxItems: 50,
          description: 'Keywords, without commas and semicolons.',
        }),
      ),
      language: optionalText(35, 'Language tag (BCP 47) such as "de-DE", in place of that of the page.'),
    },
    {
      additionalProperties: false,
      description: 'Metadata of the document, in its information dictionary and as XMP.',
    },
  ),
);

const relationships = ['Alternative', 'Data', 'Source', 'Supplement', 'Unspecified'] as const;

export const attachmentsSchema = Type.Optional(
  Type.Array(
    Type.Object(
      {
        name: Type.String({
          minLength: 1,
          maxLength: 128,
          description: 'File name, which no other attachment of the document has.',
        }),
        content: Type.String({
          minLength: 1,
          maxLength: 393_216,
          description: 'Data URL of the file, or its text, such as HTML or XML.',
        }),
        mimeType: Type.Optional(
          Type.String({
            minLength: 3,
            maxLength: 127,
            pattern: '^[A-Za-z0-9][A-Za-z0-9!$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!$&^_.+-]*$',
            examples: ['application/xml'],
            description: 'Media type. If it is not set: that of the data URL, or text/html for text.',
          }),
        ),
        description: optionalText(512, 'Description that viewers show.'),
        relationship: Type.Optional(
          oneOf(relationships, {
            description:
              'What the file is to the document (AFRelationship); Unspecified if not set. An invoice in XML is an Alternative, or Data.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    {
      minItems: 1,
      maxItems: 10,
      description: 'Files that are attached to the document: up to 10, of up to 256 KiB together.',
    },
  ),
);

const allowed = (description: string) => Type.Optional(Type.Boolean({ default: true, description }));

export const encryptionSchema = Type.Optional(
  Type.Object(
    {
      userPassword: optionalText(maxPasswordBytes, 'Password that opens the document with the permissions.'),
      ownerPassword: optionalText(
        maxPasswordBytes,
        'Password that opens the document without limits. Random if not set.',
      ),
      permissions: Type.Optional(
        Type.Object(
          {
            print: allowed('Print the document.'),
            copy: allowed('Copy text and pictures. Screen readers may read the text in any case.'),
            modify: allowed('Change the document.'),
            annotate: allowed('Add comments and fill in forms.'),
          },
          {
            additionalProperties: false,
            default: {},
            description: 'What viewers allow without the owner password: all that is not false.',
          },
        ),
      ),
    },
    {
      additionalProperties: false,
      writeOnly: true,
      description:
        'Encrypt the document with AES-256 (ISO 32000-2), which viewers of before 2010 do not open. Without userPassword, it opens without a password. The passwords are secrets.',
    },
  ),
);

export type PdfMetadata = Readonly<Static<typeof metadataSchema>>;
export type PdfEncryption = Readonly<Static<typeof encryptionSchema>>;

/** A validated attachment. */
export interface PdfAttachment {
  readonly name: string;
  /** Content in base64. */
  readonly content: string;
  readonly mimeType: string;
  readonly description?: string;
  readonly relationship: (typeof relationships)[number];
}
