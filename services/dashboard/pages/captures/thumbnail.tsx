import type { Capture } from '@webcapture/client';
import { extensions, isImageFormat } from '@webcapture/shared/api/formats.ts';
import { useEffect, useState } from 'preact/hooks';
import { client, onKeyChange } from '../../shell/session.ts';
import { ThumbnailCache } from './thumbnail-cache.ts';

const thumbnails = new ThumbnailCache({
  load: async (uuid, signal) => client().getThumbnail(uuid, { signal }),
});

onKeyChange(() => thumbnails.clear());

/** The thumbnail of a capture, or its placeholder. It is decorative: the text next to it has the same information. */
export function Thumbnail({ capture }: { readonly capture: Capture }) {
  const { uuid, status, metadata } = capture;
  const version = 'capturedAt' in metadata ? metadata.capturedAt : '';
  const hasPicture = status === 'completed' && isImageFormat(metadata.format);
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    setUrl(null);
    return hasPicture ? thumbnails.show(uuid, version, setUrl) : undefined;
  }, [uuid, version, hasPicture]);
  return (
    <span class="thumbnail" aria-hidden="true">
      {url === null ? <span>{stateMark(capture)}</span> : <img src={url} alt="" decoding="async" />}
    </span>
  );
}

function stateMark({ status, metadata }: Capture): string {
  if (status === 'queued' || status === 'rendering') return '…';
  if (status === 'failed') return '!';
  return status === 'completed' ? extensions[metadata.format].toUpperCase() : '–';
}
