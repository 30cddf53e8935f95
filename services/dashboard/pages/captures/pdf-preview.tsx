import type { CaptureResult } from '@webcapture/client';
import { useEffect, useState } from 'preact/hooks';
import { formatBytes, formatNumber } from '../../shell/format.ts';
import { TextPart } from '../../views/extracted.tsx';
import { useObjectUrl } from '../../widgets/blob-image.tsx';
import { neutralLines } from '../../widgets/neutral-text.ts';
import { Empty } from '../../widgets/states.tsx';
import { Viewer } from '../../widgets/viewer.tsx';
import type { OpenPdf, PdfPage } from './pdf-document.ts';
import { maxShownBytes } from './picture.ts';

type Preview =
  | { readonly kind: 'loading' }
  | { readonly kind: 'open'; readonly pdf: OpenPdf }
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Shows one page of a PDF at a time, and the text of that page. If the PDF cannot be shown, the component shows the reason and a link to the
 * file. It needs a new key after each refresh.
 */
export function PdfPreview({ capture, title }: { readonly capture: CaptureResult; readonly title: string }) {
  const preview = usePreview(capture);
  const { fileUrl, metadata } = capture;
  if (preview.kind === 'refused') {
    return (
      <Empty title="The PDF cannot be shown here">
        {preview.reason}{' '}
        <a href={fileUrl} target="_blank" rel="noopener noreferrer">
          Open the PDF
        </a>{' '}
        ({formatBytes(metadata.fileSizeBytes)})
      </Empty>
    );
  }
  return <Pages pdf={preview.kind === 'open' ? preview.pdf : undefined} size={metadata} title={title} />;
}

function usePreview(capture: CaptureResult): Preview {
  const [preview, setPreview] = useState<Preview>({ kind: 'loading' });
  useEffect(() => {
    const life = new AbortController();
    const loading = loadPreview(capture, life.signal);
    void loading.then((loaded) => {
      if (!life.signal.aborted) setPreview(loaded);
    });
    return () => {
      life.abort();
      void loading.then((loaded) => loaded.kind === 'open' && loaded.pdf.close());
    };
  }, []);
  return preview;
}

async function loadPreview({ fileUrl, metadata }: CaptureResult, signal: AbortSignal): Promise<Preview> {
  const refused = (reason: string): Preview => ({ kind: 'refused', reason });
  if (metadata.fileSizeBytes > maxShownBytes) return refused(`It is larger than ${formatBytes(maxShownBytes)}.`);
  // The module is loaded on demand, because pdf.js is larger than the rest of the dashboard.
  const [module, response] = await Promise.all([
    import('./pdf-document.ts').catch(() => null),
    // A refresh replaces the file at its address. A CDN may forbid reads by other origins.
    fetch(fileUrl, { cache: 'no-cache', signal }).catch(() => null),
  ]);
  // If the dashboard was updated, its files have new names, and loading fails.
  if (module === null) return refused('The preview could not be loaded. Reload the page.');
  if (response?.ok !== true) return refused('The file could not be loaded.');
  try {
    const pdf = await module.openPdf(await response.arrayBuffer());
    return pdf === null ? refused('It is encrypted with a password.') : { kind: 'open', pdf };
  } catch {
    return refused('It is damaged, or this browser is too old.');
  }
}

function Pages({
  pdf,
  size,
  title,
}: {
  /** Undefined while the PDF is loading. */
  readonly pdf: OpenPdf | undefined;
  /** Size of the first page. Its space is reserved while the PDF is loading. */
  readonly size: { readonly width: number; readonly height: number };
  readonly title: string;
}) {
  const [number, setNumber] = useState(1);
  const shown = usePage(pdf, number);
  const page = shown?.page;
  const src = useObjectUrl(page?.blob);
  return (
    <>
      <div class="pager" role="group" aria-label="Pages">
        <span role="status">{pdf !== undefined && `Page ${formatNumber(number)} of ${formatNumber(pdf.pages)}`}</span>
        <button type="button" class="button is-small" disabled={number === 1} onClick={() => setNumber(number - 1)}>
          Previous
        </button>
        <button
          type="button"
          class="button is-small"
          disabled={pdf === undefined || number === pdf.pages}
          onClick={() => setNumber(number + 1)}
        >
          Next
        </button>
      </div>
      {page === null ? (
        <Empty title="This page cannot be shown here" />
      ) : (
        <Viewer
          src={src}
          width={page?.width ?? size.width}
          height={page?.height ?? size.height}
          alt={`Page ${shown?.number} of ${title}`}
        />
      )}
      {page && <TextPart title={`Text of page ${shown.number}`} text={neutralLines(page.text)} />}
    </>
  );
}

interface ShownPage {
  readonly number: number;
  /** Null if the page cannot be drawn. */
  readonly page: PdfPage | null;
}

/** Returns the page that is shown: the wanted one, or the previous one while the wanted one is drawn. */
function usePage(pdf: OpenPdf | undefined, number: number): ShownPage | undefined {
  const [shown, setShown] = useState<ShownPage>();
  useEffect(() => {
    let isWanted = true;
    const show = (page: PdfPage | null) => {
      if (isWanted) setShown({ number, page });
    };
    pdf?.page(number).then(show, () => show(null));
    return () => {
      isWanted = false;
    };
  }, [pdf, number]);
  return shown;
}
