/** An input that something stumbled over. */
interface Case {
  readonly target: string;
  /** What it did. */
  readonly name: string;
  readonly input: () => unknown;
}

/** All that was found so far, each by the target that has to take it. */
export const cases: readonly Case[] = [
  {
    target: 'html',
    name: 'padding that does not end the text kept a front busy for 23 s',
    input: () => `${'='.repeat(120_000)}A`,
  },
  {
    target: 'html-decoding',
    name: 'padding in the middle took the square of its length',
    input: () => `A${'='.repeat(500_000)}A${'='.repeat(500_000)}`,
  },
  {
    target: 'log-redaction',
    name: 'a token behind a scheme that stood there twice was logged',
    input: () => 'Bearer  Bearer Zq7-never-to-be-seen =',
  },
];
