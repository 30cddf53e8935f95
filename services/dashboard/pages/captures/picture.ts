import type { CaptureResult } from '@webcapture/client';
import { effect } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { sessions } from '../../shell/session.ts';
import { getThumbnail } from '../../shell/endpoints.ts';

/** The picture of a capture as it was at one time. */
export interface Picture {
  /** `capturedAt` of the metadata. */
  readonly version: string;
  readonly blob: Blob;
  /** Whether it is the file itself; else it is smaller, and cut where the page is tall. */
  readonly isFile: boolean;
}

export interface Pictures {
  readonly current: Picture | undefined;
  /** The one that the current picture replaced, while this tab was open. */
  readonly before: Picture | undefined;
  readonly isLoading: boolean;
}

/** Larger files are shown by their thumbnail: decoded they would take hundreds of megabytes. */
const maxShownPixels = 40_000_000;
const maxShownBytes = 30_000_000;
const previewWidth = 1568;
/** Captures of which pictures are kept in memory. */
const maxKept = 4;

const kept = new Map<string, { current: Picture; before: Picture | undefined }>();

effect(() => {
  if (sessions.key.value === undefined) kept.clear();
});

/** Loads the picture of a capture, and keeps the one that it replaces: the service does not. */
export function usePictures(capture: CaptureResult | undefined): Pictures {
  const uuid = capture?.uuid ?? '';
  const version = capture?.metadata.capturedAt ?? '';
  const [loadedVersion, setLoadedVersion] = useState<string | null>(null);
  useEffect(() => {
    if (capture === undefined || kept.get(uuid)?.current.version === version) return undefined;
    const life = new AbortController();
    void loadPicture(capture, life.signal)
      .catch(() => null)
      .then((picture) => {
        if (life.signal.aborted) return;
        if (picture !== null) keep(uuid, picture);
        setLoadedVersion(version);
      });
    return () => life.abort();
  }, [uuid, version]);
  const { current, before } = kept.get(uuid) ?? {};
  return { current, before, isLoading: current?.version !== version && loadedVersion !== version };
}

function keep(uuid: string, current: Picture): void {
  const before = kept.get(uuid)?.current;
  kept.delete(uuid);
  kept.set(uuid, { current, before });
  for (const oldest of [...kept.keys()].slice(0, -maxKept)) kept.delete(oldest);
}

async function loadPicture({ uuid, fileUrl, metadata }: CaptureResult, signal: AbortSignal): Promise<Picture | null> {
  const version = metadata.capturedAt;
  if (metadata.width * metadata.height <= maxShownPixels && metadata.fileSizeBytes <= maxShownBytes) {
    // A refresh replaces the file under its address. A CDN may not let other origins read it.
    const response = await fetch(fileUrl, { cache: 'no-cache', signal }).catch(() => null);
    if (response?.ok === true) return { version, blob: await response.blob(), isFile: true };
  }
  const blob = await getThumbnail(uuid, previewWidth, signal);
  return blob === null ? null : { version, blob, isFile: false };
}
