/** An input that revealed a bug. */
interface Case {
  readonly target: string;
  /** Description of the effect of the bug. */
  readonly name: string;
  readonly input: () => unknown;
}

/** All findings so far, each with the target that must handle it. */
export const cases: readonly Case[] = [
  {
    target: 'html',
    name: 'padding before the end of the text kept a front busy for 23 s',
    input: () => `${'='.repeat(120_000)}A`,
  },
  {
    target: 'html-decoding',
    name: 'padding in the middle took quadratic time',
    input: () => `A${'='.repeat(500_000)}A${'='.repeat(500_000)}`,
  },
  {
    target: 'log-redaction',
    name: 'a token after a repeated scheme was logged',
    input: () => 'Bearer  Bearer Zq7-never-to-be-seen =',
  },
];
