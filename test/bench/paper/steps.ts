import type { Rendering } from '../../../services/renderer/page/engine.ts';
import type { TimedCapture } from '../timeline/captures.ts';
import type { Waits } from './waits.ts';

/** The steps of a PDF, in order. `store` and `rest` are of the whole service. */
export const paperSteps = {
  open: 'open the page',
  navigate: 'navigate',
  layOut: 'lay out for paper',
  wake: 'wake up content',
  settle: 'wait for images and fonts',
  place: 'place fixed elements, set the paper',
  print: 'print',
  read: 'read and check the file',
  store: 'store the file',
  rest: 'queue, front and ledger',
} as const;
export type PaperStep = keyof typeof paperSteps;

/** Milliseconds of each step. */
export type StepTimes = Readonly<Partial<Record<PaperStep, number>>>;

/** The waits of the engine that belong to a step; see `settle.ts` and `pdf.ts` of the renderer. */
const waitsOfSteps = {
  layOut: ['tables and fixed elements', 'the print layout', 'setting the paper', 'clearing the history'],
  wake: [
    'loading',
    'frames',
    'what watches the end',
    'what scrolling asked for',
    'scrolling',
    'scrolling back',
    'effects of scrolling',
    'measuring',
    'what comes in step by step',
  ],
  place: ['what is on paper'],
  print: ['printing'],
} as const;

/** Returns the times of the steps inside the engine. What has no wait of its own is the rest of its step in the report. */
export function engineSteps({ timings }: Pick<Rendering['report'], 'timings'>, waits: Waits): StepTimes {
  const { openMs, navigateMs, settleMs, shootMs } = timings;
  const of = (step: keyof typeof waitsOfSteps) =>
    waitsOfSteps[step].reduce((sum, what) => sum + (waits.get(what) ?? 0), 0);
  const [layOut, wake, place, print] = [of('layOut'), of('wake'), of('place'), of('print')];
  return {
    open: openMs,
    navigate: navigateMs,
    layOut,
    wake,
    settle: settleMs - layOut - wake,
    place,
    print,
    read: shootMs - place - print,
  };
}

/** Returns the times of the steps outside of the engine. */
export function serviceSteps({ times }: Pick<TimedCapture, 'times'>): StepTimes {
  const { request, queue, store, result, answer, response } = times;
  return { store, rest: request + queue + result + answer + response };
}
