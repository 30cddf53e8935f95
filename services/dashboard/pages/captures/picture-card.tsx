import type { Capture, CaptureResult } from '@webcapture/client';
import { formatBytes } from '../../shell/format.ts';
import { useObjectUrl } from '../../widgets/blob-image.tsx';
import { Card } from '../../widgets/card.tsx';
import { Empty, Loading } from '../../widgets/states.tsx';
import { Viewer } from '../../widgets/viewer.tsx';
import { PdfPreview } from './pdf-preview.tsx';
import type { Picture, Pictures } from './picture.ts';

interface PictureProps {
  readonly capture: Capture;
  readonly title: string;
  readonly pictures: Pictures;
}

/** The picture of a capture, the pages of its PDF, or a link to its JSON file. */
export function PictureCard({ capture, title, pictures }: PictureProps) {
  const hasPicture = !('report' in capture) || capture.metadata.format !== 'none';
  return (
    <Card
      id="picture"
      title={hasPicture ? 'Picture' : 'File'}
      class="picture-card"
      aside={
        pictures.current?.isFile === false &&
        capture.status === 'completed' && (
          <span class="muted">A preview, which may show only the top. Open the file to see all of it.</span>
        )
      }
    >
      <PictureBody capture={capture} title={title} pictures={pictures} />
    </Card>
  );
}

function PictureBody({ capture, title, pictures }: PictureProps) {
  if (!('report' in capture)) return <Loading label="No picture yet" />;
  if (capture.metadata.format === 'pdf') {
    return <PdfPreview key={capture.metadata.capturedAt} capture={capture} title={title} />;
  }
  if (capture.metadata.format === 'none') return <JsonFile capture={capture} />;
  if (pictures.current === undefined && !pictures.isLoading) return <Empty title="The picture cannot be shown here" />;
  return (
    <ShownPicture picture={pictures.current} size={pictures.current ?? capture.metadata} alt={`Picture of ${title}`} />
  );
}

function ShownPicture({
  picture,
  size: { width, height },
  alt,
}: {
  /** Undefined while the picture is loading. */
  readonly picture: Picture | undefined;
  readonly size: Pick<Picture, 'width' | 'height'>;
  readonly alt: string;
}) {
  const src = useObjectUrl(picture?.blob);
  return <Viewer src={src} width={width} height={height} alt={alt} />;
}

function JsonFile({ capture: { fileUrl, metadata } }: { readonly capture: CaptureResult }) {
  return (
    <Empty title="No picture, only extracted data">
      <a href={fileUrl} target="_blank" rel="noopener noreferrer">
        Open the JSON file
      </a>{' '}
      ({formatBytes(metadata.fileSizeBytes)})
    </Empty>
  );
}
