import type { CaptureResult } from '@webcapture/client';
import type { ComponentChildren } from 'preact';
import { download } from '../shell/download.ts';
import { formatBytes, formatNumber } from '../shell/format.ts';
import { Card } from '../widgets/card.tsx';
import { neutralLines, neutralText, truncated } from '../widgets/neutral-text.ts';
import './extracted.css';

type ExtractedParts = NonNullable<CaptureResult['extracted']>;

/** Maximum length of the text that is shown. A part may have a megabyte; the download contains all of it. */
const maxShownLength = 20_000;

interface Part {
  readonly title: string;
  readonly extension: string;
  /** The content of the download. */
  readonly text: string;
  /** The text that is shown. */
  readonly shown: string;
}

/** Shows the extracted parts of a page as text, never as markup or links. */
export function Extracted({ uuid, extracted }: { readonly uuid: string; readonly extracted: ExtractedParts }) {
  return (
    <Card id="extracted" title="Extracted">
      {partsOf(extracted).map((part) => (
        <ExtractedPart key={part.title} uuid={uuid} part={part} />
      ))}
    </Card>
  );
}

function ExtractedPart({
  uuid,
  part: { title, extension, text, shown },
}: {
  readonly uuid: string;
  readonly part: Part;
}) {
  const isCut = truncated(shown, maxShownLength) !== null;
  const blob = () => new Blob([text], { type: 'text/plain;charset=utf-8' });
  return (
    <TextPart title={title} text={shown}>
      <div class="extracted-bar">
        <span class="muted">
          {formatBytes(new TextEncoder().encode(text).length)}
          {isCut && `; the first ${formatNumber(maxShownLength)} characters are shown`}
        </span>
        <button
          type="button"
          class="button is-small"
          aria-label={`Download ${title}`}
          onClick={() => download(blob(), `${uuid}-${title.toLowerCase()}.${extension}`)}
        >
          Download
        </button>
      </div>
    </TextPart>
  );
}

/** Text of a page that is shown on request, or its beginning. */
export function TextPart({
  title,
  text,
  children,
}: {
  readonly title: string;
  /** May contain line breaks, but no other harmful characters; see neutralLines. */
  readonly text: string;
  /** Content above the text. */
  readonly children?: ComponentChildren;
}) {
  return (
    <details class="extracted">
      <summary>{title}</summary>
      {children}
      <pre class="untrusted" dir="auto" tabIndex={0} role="region" aria-label={title}>
        {truncated(text, maxShownLength) ?? text}
      </pre>
    </details>
  );
}

function partsOf({ fields, text, markdown, links, metadata, html }: ExtractedParts): Part[] {
  const parts: Part[] = [];
  const add = (title: string, extension: string, whole: string | undefined, shown = whole) => {
    if (whole !== undefined) parts.push({ title, extension, text: whole, shown: neutralLines(shown ?? '') });
  };
  add('Fields', 'json', json(fields));
  add('Text', 'txt', text);
  add('Markdown', 'md', markdown);
  add('Links', 'json', json(links), links?.map((link) => `${link.url}\n    ${neutralText(link.text)}`).join('\n'));
  add('Metadata', 'json', json(metadata));
  add('HTML', 'html', html);
  return parts;
}

const json = (value: object | undefined) => (value === undefined ? undefined : JSON.stringify(value, null, 2));
