import { useEffect, useRef, useState } from 'preact/hooks';
import { Loading } from './states.tsx';
import './viewer.css';

/** `fit` shows the whole picture, and `width` its whole width. A number is the zoom; 1 is one image pixel per CSS pixel. */
type Zoom = 'fit' | 'width' | number;

const zoomStep = 1.25;
const minZoom = 0.01;
const maxZoom = 8;

/**
 * A picture viewer. It fits the picture, shows its actual size, zooms by Ctrl and the wheel or by + and −, and moves by dragging or by the
 * arrow keys. The browser itself scrolls the picture, so that a tall picture moves smoothly.
 */
export function Viewer({
  src,
  width,
  height,
  alt,
  onError,
}: {
  /** Undefined while the picture is loading. Its space is reserved, so that nothing below it moves. */
  readonly src: string | undefined;
  /** Size of the picture in pixels. */
  readonly width: number;
  readonly height: number;
  readonly alt: string;
  readonly onError?: () => void;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const [chosenZoom, setZoom] = useState<Zoom>();
  const zoom = chosenZoom ?? (height > 2 * width ? 'width' : 'fit');
  const [room, setRoom] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setRoom({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const scale = scaleOf(zoom, { width, height }, room);
  // The center point stays in place.
  const zoomTo = (next: Zoom) => {
    const element = frame.current;
    const target = scaleOf(next, { width, height }, room);
    if (element !== null && typeof next === 'number') {
      const x = (element.scrollLeft + element.clientWidth / 2) / scale;
      const y = (element.scrollTop + element.clientHeight / 2) / scale;
      requestAnimationFrame(() => {
        element.scrollLeft = x * target - element.clientWidth / 2;
        element.scrollTop = y * target - element.clientHeight / 2;
      });
    }
    setZoom(next);
  };
  const zoomBy = (factor: number) => zoomTo(Math.min(maxZoom, Math.max(minZoom, scale * factor)));

  // Preact does not add the listener, because its listeners cannot prevent the browser from zooming the page.
  const latest = useRef(zoomBy);
  latest.current = zoomBy;
  useEffect(() => {
    const element = frame.current;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      latest.current(event.deltaY < 0 ? zoomStep : 1 / zoomStep);
    };
    element?.addEventListener('wheel', onWheel, { passive: false });
    return () => element?.removeEventListener('wheel', onWheel);
  }, []);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: Record<string, () => void> = {
      '+': () => zoomBy(zoomStep),
      '=': () => zoomBy(zoomStep),
      '-': () => zoomBy(1 / zoomStep),
      '0': () => zoomTo('fit'),
      '1': () => zoomTo(1),
      w: () => zoomTo('width'),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };

  return (
    <div class="viewer">
      <div class="viewer-bar" role="group" aria-label="Zoom">
        <button type="button" class="button is-small" aria-pressed={zoom === 'fit'} onClick={() => zoomTo('fit')}>
          Fit
        </button>
        <button type="button" class="button is-small" aria-pressed={zoom === 'width'} onClick={() => zoomTo('width')}>
          Width
        </button>
        <button type="button" class="button is-small" aria-pressed={zoom === 1} onClick={() => zoomTo(1)}>
          1:1
        </button>
        <button type="button" class="button is-small" aria-label="Zoom out" onClick={() => zoomBy(1 / zoomStep)}>
          −
        </button>
        <button type="button" class="button is-small" aria-label="Zoom in" onClick={() => zoomBy(zoomStep)}>
          +
        </button>
        <span class="muted">{scale >= 0.1 ? Math.round(100 * scale) : (100 * scale).toFixed(1)} %</span>
      </div>
      <div
        ref={frame}
        class="viewer-frame"
        role="region"
        aria-label="Picture: + and − zoom, 0 fits, 1 is actual size, arrow keys scroll"
        tabIndex={0}
        // The viewer is as tall as the picture at full width, so that there are no bands above and below it.
        style={{ aspectRatio: `${width} / ${height}` }}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          if (event.button === 0 && event.pointerType === 'mouse') drag(event, frame.current);
        }}
      >
        {src === undefined ? (
          <Loading label="Loading the picture…" />
        ) : (
          <img
            src={src}
            alt={alt}
            decoding="async"
            draggable={false}
            style={{ width: `${width * scale}px`, height: `${height * scale}px` }}
            class={scale > 2 ? 'is-pixelated' : undefined}
            onError={onError}
          />
        )}
      </div>
    </div>
  );
}

function scaleOf(
  zoom: Zoom,
  { width, height }: { width: number; height: number },
  room: { width: number; height: number },
) {
  if (typeof zoom === 'number') return zoom;
  const byWidth = room.width / width;
  // Pictures are never enlarged.
  return Math.min(1, zoom === 'width' ? byWidth : Math.min(byWidth, room.height / height)) || minZoom;
}

/** Touch scrolls without this code. */
function drag(begin: PointerEvent, element: HTMLElement | null): void {
  if (element === null) return;
  const { scrollLeft, scrollTop } = element;
  element.setPointerCapture(begin.pointerId);
  const ended = new AbortController();
  const { signal } = ended;
  element.addEventListener(
    'pointermove',
    (event) => {
      element.scrollLeft = scrollLeft - (event.clientX - begin.clientX);
      element.scrollTop = scrollTop - (event.clientY - begin.clientY);
    },
    { signal },
  );
  for (const name of ['pointerup', 'pointercancel']) element.addEventListener(name, () => ended.abort(), { signal });
}
