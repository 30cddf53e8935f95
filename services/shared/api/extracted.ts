import { type Static, Type } from 'typebox';
import { fieldValuesSchema } from './extract-fields.ts';
import { partNames } from './formats.ts';
import { oneOf } from './one-of.ts';

const linkSchema = Type.Object({
  url: Type.String({ description: 'Absolute URL (http, https, mailto or tel).' }),
  text: Type.String({ description: 'Text of the link, at most 256 characters.' }),
});

const iconSchema = Type.Object({
  url: Type.String({ description: 'Absolute URL.' }),
  sizes: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
});

const metadataSchema = Type.Object({
  title: Type.String(),
  description: Type.Union([Type.String(), Type.Null()]),
  language: Type.Union([Type.String(), Type.Null()], { description: 'Attribute lang of the html element.' }),
  canonicalUrl: Type.Union([Type.String(), Type.Null()]),
  openGraph: Type.Record(Type.String(), Type.String(), {
    description: 'Open Graph properties by name, such as og:title: the first of each name, at most 100.',
  }),
  icons: Type.Array(iconSchema, { description: 'Icons that the page links to, at most 50.' }),
});

/** `data.extracted` of a capture. */
export const extractedSchema = Type.Object(
  {
    text: Type.Optional(Type.String({ description: 'Text that can be seen on the page.' })),
    html: Type.Optional(
      Type.String({ description: 'The document as HTML, after its scripts have run, with its open shadow roots.' }),
    ),
    markdown: Type.Optional(Type.String({ description: 'What can be seen on the page, as Markdown (GFM).' })),
    links: Type.Optional(
      Type.Array(linkSchema, { description: 'Links of the document, each URL once, in document order.' }),
    ),
    metadata: Type.Optional(metadataSchema),
    fields: Type.Optional(fieldValuesSchema),
    truncated: Type.Optional(
      Type.Array(oneOf(partNames), {
        description: 'Parts that are not complete: over 1 MiB, or the page is too large to be read in time.',
      }),
    ),
  },
  { title: 'Extracted' },
);

export type Extracted = Static<typeof extractedSchema>;
