import { comparisonScale, type Difference, type Pixels } from '@webcapture/shared/files/picture-difference.ts';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { formatNumber, formatShare, formatTime } from '../../shell/format.ts';
import { BlobImage } from '../../widgets/blob-image.tsx';
import { Card } from '../../widgets/card.tsx';
import { differenceOf } from './difference.ts';
import type { Picture } from './picture.ts';

const defaultThreshold = 0.1;

interface Compared {
  readonly before: Pixels;
  readonly after: Pixels;
  readonly scale: number;
}

/** Shows the picture before and after a refresh, and their differences. */
export function Comparison({ before, after }: { readonly before: Picture; readonly after: Picture }) {
  const [compared, setCompared] = useState<Compared | 'failed'>();
  const [threshold, setThreshold] = useState(defaultThreshold);
  const [difference, setDifference] = useState<Difference>();
  const isComparable = before.isFile === after.isFile;
  const thresholdId = useId();

  useEffect(() => {
    setCompared(undefined);
    setDifference(undefined);
    if (!isComparable) return undefined;
    let isShown = true;
    void decoded(before.blob, after.blob)
      .catch(() => 'failed' as const)
      .then((result) => {
        if (isShown) setCompared(result);
      });
    return () => (isShown = false);
  }, [before, after, isComparable]);
  useEffect(() => {
    if (compared === undefined || compared === 'failed') return undefined;
    // The comparison is debounced, because comparing a large picture for each step of the slider is slow.
    const timer = setTimeout(() => setDifference(differenceOf(compared.before, compared.after, threshold)), 60);
    return () => clearTimeout(timer);
  }, [compared, threshold]);

  return (
    <Card
      id="comparison"
      title="Before and after the refresh"
      aside={
        <p class="difference-words" role="status">
          {difference !== undefined && wordsFor(difference, compared)}
        </p>
      }
    >
      <div class="card-body comparison">
        <figure>
          <figcaption>Before · {formatTime(before.version)}</figcaption>
          <BlobImage blob={before.blob} alt="The page before the refresh" />
        </figure>
        <figure>
          <figcaption>After · {formatTime(after.version)}</figcaption>
          <BlobImage blob={after.blob} alt="The page after the refresh" />
        </figure>
        <figure>
          <figcaption>
            <label for={thresholdId}>Difference · threshold {threshold.toFixed(2)}</label>
            <input
              id={thresholdId}
              type="range"
              min="0"
              max="0.5"
              step="0.01"
              value={threshold}
              onInput={({ currentTarget }) => setThreshold(Number(currentTarget.value))}
            />
          </figcaption>
          {compared === 'failed' || !isComparable ? (
            <p class="muted">The pictures differ in type or are too large, so they cannot be compared.</p>
          ) : difference === undefined ? (
            <p class="muted">Comparing…</p>
          ) : (
            <DifferenceCanvas difference={difference} />
          )}
        </figure>
      </div>
    </Card>
  );
}

function wordsFor({ changedPixels, changedShare }: Difference, compared: Compared | 'failed' | undefined): string {
  if (changedPixels === 0) return 'No differences.';
  const scale = compared !== undefined && compared !== 'failed' && compared.scale < 1 ? compared.scale : undefined;
  const at = scale === undefined ? '' : `, compared at ${formatShare(scale)} of their size`;
  return `${formatShare(changedShare)} changed: ${formatNumber(changedPixels)} pixels${at}.`;
}

function DifferenceCanvas({ difference: { picture, changedShare } }: { readonly difference: Difference }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, data } = picture;
  useEffect(() => {
    const image = new ImageData(new Uint8ClampedArray(data), width, height);
    canvas.current?.getContext('2d')?.putImageData(image, 0, 0);
  }, [picture]);
  return (
    <canvas
      ref={canvas}
      width={width}
      height={height}
      role="img"
      aria-label={`Where the pictures differ: ${formatShare(changedShare)} of the area, in red`}
    />
  );
}

/** Decodes both pictures at the scale at which they are compared. */
async function decoded(before: Blob, after: Blob): Promise<Compared> {
  const [a, b] = await Promise.all([createImageBitmap(before), createImageBitmap(after)]);
  try {
    const scale = comparisonScale([a, b]);
    return { before: pixelsOf(a, scale), after: pixelsOf(b, scale), scale };
  } finally {
    a.close();
    b.close();
  }
}

function pixelsOf(bitmap: ImageBitmap, scale: number): Pixels {
  const width = Math.max(1, Math.round(bitmap.width * scale));
  const height = Math.max(1, Math.round(bitmap.height * scale));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (context === null) throw new Error('the browser does not support a canvas of this size');
  context.drawImage(bitmap, 0, 0, width, height);
  return context.getImageData(0, 0, width, height);
}
