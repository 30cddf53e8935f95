import type { CaptureResult } from '@webcapture/client';
import { useEffect, useState } from 'preact/hooks';
import { isTemporary } from '../../shell/errors.ts';
import { onKeyChange } from '../../shell/session.ts';
import { loadPreview, maxShownPixels } from '../../views/preview.ts';

/** The picture of a capture at one point in time. */
export interface Picture {
  /** `capturedAt` of the metadata. */
  readonly version: string;
  readonly blob: Blob;
  readonly width: number;
  readonly height: number;
  /** Whether this is the file itself. Otherwise it is a preview: smaller, and cropped if the page is tall. */
  readonly isFile: boolean;
}

export interface Pictures {
  readonly current: Picture | undefined;
  /** The picture that the current one replaced, while this tab was open. */
  readonly before: Picture | undefined;
  readonly isLoading: boolean;
}

/** Maximum size of files that are shown directly. Larger files are shown as a preview. */
export const maxShownBytes = 30_000_000;
/** Delay before a failed load is retried. */
const retryMs = 5000;
/** Maximum number of captures whose pictures are kept in memory. */
const maxKept = 4;

const kept = new Map<string, { current: Picture; before: Picture | undefined }>();

onKeyChange(() => kept.clear());

/** Loads the picture of a capture. Keeps the picture that it replaces, because the service may not. */
export function usePictures(capture: CaptureResult | undefined): Pictures {
  const uuid = capture?.uuid ?? '';
  const version = capture?.metadata.capturedAt ?? '';
  const [loaded, setLoaded] = useState({ version: '', attempts: 0 });
  useEffect(() => {
    if (capture === undefined || kept.get(uuid)?.current.version === version) return undefined;
    const life = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        const picture = await loadPicture(capture, life.signal);
        if (picture !== null && !life.signal.aborted) keep(uuid, picture);
      } catch (error) {
        if (!life.signal.aborted && isTemporary(error)) retry = setTimeout(() => void load(), retryMs);
      }
      if (!life.signal.aborted) setLoaded((before) => ({ version, attempts: before.attempts + 1 }));
    };
    void load();
    return () => {
      life.abort();
      clearTimeout(retry);
    };
  }, [uuid, version]);
  const { current, before } = kept.get(uuid) ?? {};
  const isLoading = current?.version !== version && loaded.version !== version;
  // If the new picture fails to load, the old one is not shown as the current one.
  return current?.version === version || isLoading
    ? { current, before, isLoading }
    : { current: undefined, before: undefined, isLoading };
}

function keep(uuid: string, current: Picture): void {
  const before = kept.get(uuid)?.current;
  kept.delete(uuid);
  kept.set(uuid, { current, before });
  for (const oldest of [...kept.keys()].slice(0, -maxKept)) kept.delete(oldest);
}

async function loadPicture({ uuid, fileUrl, metadata }: CaptureResult, signal: AbortSignal): Promise<Picture | null> {
  const version = metadata.capturedAt;
  const { width, height } = metadata;
  if (width * height <= maxShownPixels && metadata.fileSizeBytes <= maxShownBytes) {
    // A refresh replaces the file at its address. A CDN may forbid reads by other origins.
    const response = await fetch(fileUrl, { cache: 'no-cache', signal }).catch(() => null);
    if (response?.ok === true) return { version, blob: await response.blob(), width, height, isFile: true };
  }
  const preview = await loadPreview(uuid, signal);
  return preview && { ...preview, version, isFile: false };
}
