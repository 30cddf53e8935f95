import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { formatDuration, formatNumber } from '../../shell/format.ts';
import { theme } from '../../shell/theme.ts';

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Index of a color in base.css. */
  readonly color: 0 | 1 | 2 | 3 | 4 | 5;
}

const height = 200;

interface Unit {
  readonly format: (value: number) => string;
  /** Possible distances between ticks. They are large enough for distinct labels. */
  readonly steps: number[];
}

const powersOfTen = Array.from({ length: 13 }, (_, exponent) => 10 ** exponent);

const units = {
  count: { format: formatNumber, steps: powersOfTen.flatMap((power) => [power, 2 * power, 5 * power]) },
  duration: {
    format: formatDuration,
    steps: [
      ...[1, 10, 100, 1000].flatMap((power) => [power, 2 * power, 5 * power]),
      ...[10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600].map((seconds) => 1000 * seconds),
    ],
  },
} as const satisfies Record<string, Unit>;

const daySeconds = 86_400;
const daySteps = [1, 2, 5, 7, 10, 14, 30].map((days) => days * daySeconds);

interface ChartProps {
  readonly label: string;
  /** Unix seconds of the start of each day. */
  readonly dates: readonly number[];
  readonly series: readonly Series[];
  readonly kind: 'bars' | 'lines';
  readonly unit: keyof typeof units;
}

/** Shows values by day, or a text if there are none. */
export function Chart(props: ChartProps) {
  const isEmpty = props.series.every(({ values }) => values.every((value) => value === null || value === 0));
  return isEmpty ? <p class="muted">No data in this period.</p> : <Plotted {...props} />;
}

/**
 * Shows values by day as bars or lines. The canvas has only a name, because the table next to it contains the same numbers for users who
 * cannot see it.
 */
function Plotted({ label, dates, series, kind, unit }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const [isBroken, setBroken] = useState(false);
  const themeNow = theme.value;
  const data = useRef<uPlot.AlignedData>([[]]);
  data.current = [[...dates], ...series.map(({ values }) => [...values])];
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    let Plot: typeof uPlot | undefined;
    let isShown = true;
    const resized = new ResizeObserver(([entry]) => {
      if (entry !== undefined) chart.current?.setSize({ width: Math.floor(entry.contentRect.width), height });
    });
    const draw = () => {
      if (Plot === undefined || !isShown) return;
      chart.current?.destroy();
      const options = optionsFor(Plot, { series, kind, unit: units[unit], width: element.clientWidth });
      chart.current = new Plot(options, data.current, element);
    };
    loadPlot()
      .then((loaded) => {
        Plot = loaded;
        draw();
        resized.observe(element);
      })
      // If the dashboard was updated, its files have new names, and loading fails.
      .catch(() => setBroken(true));
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      isShown = false;
      dark.removeEventListener('change', draw);
      resized.disconnect();
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [kind, themeNow]);
  useEffect(() => chart.current?.setData(data.current), [dates, series]);
  if (isBroken) {
    return <p class="muted">The chart could not be loaded. Reload the page.</p>;
  }
  return <div ref={frame} class="chart" role="img" aria-label={label} style={{ minHeight: `${height}px` }} />;
}

/** The module is loaded on demand, because only this page needs uPlot. */
async function loadPlot(): Promise<typeof uPlot> {
  const [{ default: Plot }] = await Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]);
  return Plot;
}

interface Look {
  readonly series: readonly Series[];
  readonly kind: 'bars' | 'lines';
  readonly unit: Unit;
  readonly width: number;
}

function optionsFor(Plot: typeof uPlot, { series, kind, unit: { format, steps }, width }: Look): uPlot.Options {
  const text = colorOf('--text-muted');
  const grid = { stroke: colorOf('--border'), width: 1 };
  const bars = Plot.paths.bars?.({ size: [0.7, 40] });
  return {
    width,
    height,
    tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    cursor: { drag: { x: false, y: false } },
    // The scale extends by half a day on both sides. Otherwise the first and the last bar would be cut off.
    scales: {
      x: { range: (_, min, max) => [min - daySeconds / 2, max + daySeconds / 2] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        stroke: text,
        grid: { show: false },
        ticks: grid,
        space: 60,
        incrs: daySteps,
        values: (_, splits) => splits.map(formatDay),
      },
      { stroke: text, grid, ticks: grid, size: 64, incrs: steps, values: (_, splits) => splits.map(format) },
    ],
    series: [
      { label: 'Day', value: ({ data }, _, __, day) => formatDay(data[0][day ?? latestDay(data)] ?? 0) },
      ...series.map(({ label, color }): uPlot.Series => {
        const stroke = colorOf(`--color-${color}`);
        return {
          label,
          stroke,
          width: kind === 'bars' ? 0 : 2,
          value: ({ data }, _, index, day) => {
            const value = data[index]?.[day ?? latestDay(data)];
            return typeof value === 'number' ? format(value) : 'none';
          },
          ...(kind === 'bars' && bars !== undefined ? { fill: stroke, paths: bars } : {}),
          points: { show: kind === 'lines', size: 5 },
        };
      }),
    ],
  };
}

/** Returns the last day with values. The legend shows it while the pointer is elsewhere. */
const latestDay = ([dates, ...rows]: uPlot.AlignedData) =>
  dates.findLastIndex((_, day) => rows.some((values) => typeof values[day] === 'number'));

const days = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });
const formatDay = (seconds: number) => days.format(seconds * 1000);

/** Returns a theme color as a resolved value: a canvas supports neither custom properties nor light-dark(). */
function colorOf(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
