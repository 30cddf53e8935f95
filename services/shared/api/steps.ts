import { type Static, Type } from 'typebox';
import { oneOf } from './one-of.ts';
import { closed, optionalText, selectorSchema } from './option-schemas.ts';

/** Maximum number of steps of a capture. */
const maxSteps = 30;

/** Maximum total time of the `wait` steps of a capture. */
export const maxTotalWaitMs = 30_000;

/** Maximum total time of the steps of a capture, without navigations. */
export const maxStepsMs = 60_000;

/** Timeout of a step that waits for an element to reach a state. */
const waitStepTimeoutMs = 10_000;

/** Timeout of any other step. */
const elementStepTimeoutMs = 5000;

/** The value is secret: see {@link withoutValues}. */
const value = (maxLength: number, description: string) => Type.String({ maxLength, writeOnly: true, description });

const keys = [
  'Enter',
  'Tab',
  'Shift+Tab',
  'Escape',
  'Backspace',
  'Delete',
  'Space',
  'ArrowUp',
  'ArrowDown',
  'ArrowLeft',
  'ArrowRight',
  'Home',
  'End',
  'PageUp',
  'PageDown',
];

const stepSchema = Type.Object(
  {
    goto: optionalText(2048, 'Absolute http or https URL of the next page, on the site of url.'),
    click: Type.Optional(selectorSchema('CSS selector of the element to click.')),
    type: Type.Optional(
      closed(
        {
          selector: selectorSchema('CSS selector of the field.'),
          text: value(4096, 'Text that replaces the content of the field. It is secret.'),
        },
        'Enter a text into a field.',
      ),
    ),
    press: Type.Optional(
      closed(
        {
          selector: Type.Optional(
            selectorSchema('CSS selector of the element to focus first. Without it: the element that has the focus.'),
          ),
          key: Type.String({
            pattern: `^(?:${keys.map((key) => key.replace('+', String.raw`\+`)).join('|')}|[!-~])$`,
            examples: ['Enter'],
            description: `${keys.join(', ')}, or a character of ASCII.`,
          }),
        },
        'Press a key.',
      ),
    ),
    select: Type.Optional(
      closed(
        {
          selector: selectorSchema('CSS selector of the select element.'),
          value: value(1024, 'Value or label of the option to choose. It is secret.'),
        },
        'Choose an option of a select element.',
      ),
    ),
    hover: Type.Optional(selectorSchema('CSS selector of the element to move the pointer to.')),
    scroll: Type.Optional(
      closed(
        {
          selector: Type.Optional(
            selectorSchema('CSS selector of the element to scroll into view, or whose content by or to scrolls.'),
          ),
          by: Type.Optional(
            Type.Integer({
              minimum: -100_000,
              maximum: 100_000,
              description: 'CSS pixels to scroll down; up if negative.',
            }),
          ),
          to: Type.Optional(oneOf(['top', 'bottom'], { description: 'End to scroll to. Excludes by.' })),
        },
        'Scroll the page, or an element.',
      ),
    ),
    waitFor: Type.Optional(
      Type.Union(
        [
          selectorSchema('CSS selector of the element to wait for until it is visible.'),
          closed(
            {
              selector: selectorSchema('CSS selector of the element.'),
              state: Type.Optional(
                oneOf(['visible', 'attached', 'hidden'], {
                  description: 'As in the option waitFor; visible if not set.',
                }),
              ),
            },
            'Wait for an element to reach a state.',
          ),
        ],
        { description: 'Wait for an element, for up to 10 seconds.' },
      ),
    ),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 15_000,
        description: 'Milliseconds to wait; up to 30 seconds in all steps.',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1, maxProperties: 1 },
);

/** The option steps. Each step has exactly one property: its action. */
export const stepsSchema = Type.Array(stepSchema, {
  minItems: 1,
  maxItems: maxSteps,
  description:
    'Actions on the page after load and before waitFor, in order, up to 30. Each has one action. An element is awaited for up to 5 seconds, navigations within the site of url are followed, all of them for up to timeout. The capture fails, at no cost, if a step fails; the message has its number. Excludes click.',
});

/** A step with the value that it enters. */
export type Step = Static<typeof stepSchema>;

/** A step without the value that it enters, as records, jobs and cache keys contain it. */
export type PublicStep = Omit<Step, 'type' | 'select'> & {
  readonly type?: Omit<NonNullable<Step['type']>, 'text'>;
  readonly select?: Omit<NonNullable<Step['select']>, 'value'>;
};

/** Returns the timeout of a step, without a navigation that follows. For a `wait`, it is the duration. */
export const timeoutOfStep = ({ wait, waitFor }: PublicStep): number =>
  wait ?? (waitFor === undefined ? elementStepTimeoutMs : waitStepTimeoutMs);

/** Returns the maximum time of all steps together, without navigations. */
export const timeoutOfSteps = (steps: readonly PublicStep[]): number =>
  Math.min(
    maxStepsMs,
    steps.reduce((total, step) => total + timeoutOfStep(step), 0),
  );

/** Returns the values that steps enter, in order. They are secret. */
export const valuesOfSteps = (steps: readonly Step[]): readonly string[] =>
  steps.flatMap(({ type, select }) => type?.text ?? select?.value ?? []);

/** Returns the steps without the values that they enter. */
export const withoutValues = (steps: readonly Step[]): readonly PublicStep[] =>
  steps.map((step) => {
    const { type, select } = step;
    if (type !== undefined) return { type: { selector: type.selector } };
    return select === undefined ? step : { select: { selector: select.selector } };
  });

/** Returns the steps with their values: the inverse of {@link withoutValues}. */
export function withValues(steps: readonly PublicStep[], values: readonly string[]): readonly Step[] {
  const rest = values.values();
  const next = () => rest.next().value ?? '';
  return steps.map((step) => {
    const { type, select, ...others } = step;
    if (type !== undefined) return { type: { ...type, text: next() } };
    return select === undefined ? others : { select: { ...select, value: next() } };
  });
}
