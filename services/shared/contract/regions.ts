/** The regions of the interface. Which of them are installed is the operator's choice (`WEBCAPTURE_REGIONS`). */
export const regions = ['us-east', 'us-west', 'eu-west', 'eu-central', 'asia-east', 'asia-southeast'] as const;

export type Region = (typeof regions)[number];

export function isRegion(value: unknown): value is Region {
  return (regions as readonly unknown[]).includes(value);
}
