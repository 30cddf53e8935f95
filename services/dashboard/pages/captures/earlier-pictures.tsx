import type { CaptureHistory, CaptureResult } from '@webcapture/client';
import { useId, useState } from 'preact/hooks';
import { formatShare, formatTime } from '../../shell/format.ts';
import { Card } from '../../widgets/card.tsx';

type EarlierFile = CaptureHistory['files'][number];

interface EarlierPicturesProps {
  readonly capture: CaptureResult;
  /** The newest file comes first. There is at least one. */
  readonly files: readonly EarlierFile[];
}

/** Shows a picture that a refresh has replaced, on top of the picture of that refresh. A slider moves the border between them. */
export function EarlierPictures({ capture, files }: EarlierPicturesProps) {
  const [chosen, setChosen] = useState(files[0]?.replacedBy);
  const [position, setPosition] = useState(50);
  const refreshId = useId();
  const positionId = useId();
  const index = Math.max(
    0,
    files.findIndex(({ replacedBy }) => replacedBy === chosen),
  );
  const before = files[index];
  if (before === undefined) return null;
  const { fileUrl, metadata } = capture;
  const after = files[index - 1] ?? { ...metadata, fileUrl };
  const { comparison } = before;
  return (
    <Card
      id="earlier-pictures"
      title="Earlier pictures"
      aside={
        <p class="difference-words" role="status">
          {comparison !== null && `${formatShare(comparison.changedShare)} changed`}
        </p>
      }
    >
      <div class="card-body">
        <div class="earlier-controls">
          <label for={refreshId}>Replaced by</label>
          <select
            id={refreshId}
            class="input"
            value={String(before.replacedBy)}
            onChange={({ currentTarget }) => setChosen(Number(currentTarget.value))}
          >
            {files.map(({ replacedBy, capturedAt, comparison: change }) => (
              <option key={replacedBy} value={String(replacedBy)}>
                #{replacedBy} · {formatTime(capturedAt)}
                {change !== null && ` · ${formatShare(change.changedShare)}`}
              </option>
            ))}
          </select>
          <label for={positionId}>Before and after</label>
          <input
            id={positionId}
            type="range"
            min="0"
            max="100"
            value={position}
            aria-valuetext={`${position}% of the width show the earlier picture`}
            onInput={({ currentTarget }) => setPosition(Number(currentTarget.value))}
          />
          <a href={before.fileUrl} target="_blank" rel="noopener noreferrer">
            Open earlier file
          </a>
        </div>
        <div class="earlier-pictures">
          <img src={after.fileUrl} alt={`The page at ${formatTime(after.capturedAt)}`} decoding="async" />
          <img
            src={before.fileUrl}
            alt={`The page at ${formatTime(before.capturedAt)}`}
            decoding="async"
            style={{ clipPath: `inset(0 ${100 - position}% 0 0)`, width: `${(100 * before.width) / after.width}%` }}
          />
        </div>
        {typeof comparison?.differenceUrl === 'string' && (
          <figure class="earlier-difference">
            <figcaption>Difference</figcaption>
            <img
              src={comparison.differenceUrl}
              alt={`Where the pictures differ: ${formatShare(comparison.changedShare)} of the area, in red`}
              decoding="async"
            />
          </figure>
        )}
      </div>
    </Card>
  );
}
