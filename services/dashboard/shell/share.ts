const percents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

/** @param share 0 to 1, or null when there is nothing to share */
export function formatShare(share: number | null): string {
  return share === null ? '–' : percents.format(share);
}
