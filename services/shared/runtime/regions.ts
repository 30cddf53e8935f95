/** The regions of the API. The operator decides which of them are installed (`WEBCAPTURE_REGIONS`). */
export const regions = ['us-east', 'us-west', 'eu-west', 'eu-central', 'asia-east', 'asia-southeast'] as const;

export type Region = (typeof regions)[number];

export function isRegion(value: unknown): value is Region {
  return (regions as readonly unknown[]).includes(value);
}

/** An installed region, and its minimum number of renderers. */
export interface InstalledRegion {
  readonly region: Region;
  /** Minimum number of renderers. With 0, the region may scale to zero; captures then wait in its queue until a renderer starts. */
  readonly minRenderers: number;
}

/** Parses `us-east:1,eu-west:2`; a region without a number keeps one renderer. Throws an Error that names the rule. */
export function parseRegions(value: string): readonly InstalledRegion[] {
  const installed = value.split(',').map((entry) => {
    const [region = '', count = '1', ...rest] = entry.trim().split(':');
    if (!isRegion(region) || !/^\d{1,4}$/.test(count) || rest.length > 0) {
      throw new Error(
        `must be a list like us-east:1,eu-west:1 of the regions ${regions.join(', ')}; "${entry.trim()}" is not one`,
      );
    }
    return { region, minRenderers: Number(count) };
  });
  const names = installed.map(({ region }) => region);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`names the region ${twice} twice`);
  return Object.freeze(installed);
}
