import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { theme } from '../../shell/theme.ts';

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Number of one of the colours of base.css. */
  readonly color: 0 | 1 | 2 | 3 | 4 | 5;
}

const height = 200;

/**
 * Values by day, as bars or lines. It is a picture: whoever cannot see it reads the table with the same numbers, so that
 * here is only a name.
 */
export function Chart({
  label,
  dates,
  series,
  kind,
  format,
}: {
  readonly label: string;
  /** Unix seconds of the beginning of each day. */
  readonly dates: readonly number[];
  readonly series: readonly Series[];
  readonly kind: 'bars' | 'lines';
  readonly format: (value: number) => string;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const themeNow = theme.value;
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    let chart: uPlot | undefined;
    let isShown = true;
    const resized = new ResizeObserver(([entry]) => {
      if (entry !== undefined) chart?.setSize({ width: Math.floor(entry.contentRect.width), height });
    });
    const draw = async () => {
      // Only this page needs it.
      const [{ default: Plot }] = await Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]);
      if (!isShown) return;
      chart = new Plot(
        optionsFor(Plot, { series, kind, format, width: element.clientWidth }),
        [[...dates], ...series.map(({ values }) => [...values])],
        element,
      );
      resized.observe(element);
    };
    void draw();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => {
      chart?.destroy();
      void draw();
    };
    dark.addEventListener('change', redraw);
    return () => {
      isShown = false;
      dark.removeEventListener('change', redraw);
      resized.disconnect();
      chart?.destroy();
    };
  }, [dates, series, kind, themeNow]);
  return <div ref={frame} class="chart" role="img" aria-label={label} style={{ minHeight: `${height}px` }} />;
}

interface Look {
  readonly series: readonly Series[];
  readonly kind: 'bars' | 'lines';
  readonly format: (value: number) => string;
  readonly width: number;
}

function optionsFor(Plot: typeof uPlot, { series, kind, format, width }: Look): uPlot.Options {
  const text = colorOf('--text-muted');
  const grid = { stroke: colorOf('--border'), width: 1 };
  const bars = Plot.paths.bars?.({ size: [0.7, 40] });
  return {
    width,
    height,
    tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    cursor: { drag: { x: false, y: false } },
    // Half a day on both sides, or the first and the last bar are cut.
    scales: {
      x: { range: (_, min, max) => [min - 43_200, max + 43_200] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      { stroke: text, grid: { show: false }, ticks: grid, space: 60, values: (_, splits) => splits.map(formatDay) },
      { stroke: text, grid, ticks: grid, size: 64, values: (_, splits) => splits.map(format) },
    ],
    series: [
      { label: 'Day', value: (_, seconds) => (seconds === null ? '–' : formatDay(seconds)) },
      ...series.map(({ label, color }): uPlot.Series => {
        const stroke = colorOf(`--colour-${color}`);
        return {
          label,
          stroke,
          width: kind === 'bars' ? 0 : 2,
          value: (_, value) => (value === null ? '–' : format(value)),
          ...(kind === 'bars' && bars !== undefined ? { fill: stroke, paths: bars } : {}),
          points: { show: kind === 'lines', size: 5 },
        };
      }),
    ],
  };
}

const days = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });
const formatDay = (seconds: number) => days.format(seconds * 1000);

/** A colour of the theme as it is now: a canvas knows neither custom properties nor light-dark(). */
function colorOf(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
