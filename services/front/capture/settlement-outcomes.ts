/** Outcomes of settling a result, as metric labels. */
export const settlementOutcomes = [
  'completed',
  'failed',
  'returned',
  /** The capture had ended already because of the same result. */
  'repeated',
  /** The capture had ended already because of another result. */
  'ended',
  /** The result belongs to a canary, which the controller processes. */
  'canary',
  /** The capture no longer exists. */
  'unknown',
  /** The message is not a valid result. */
  'malformed',
  /** The ticket is not valid for this region. */
  'forged',
  /** The file does not match the job. */
  'rejected',
  /** The account has no room for the file. */
  'no_room',
] as const;
export type SettlementOutcome = (typeof settlementOutcomes)[number];
