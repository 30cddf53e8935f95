/** A section of the changelog. `date` is empty if the heading has none. */
export interface Release {
  readonly version: string;
  readonly date: string;
  readonly text: string;
}

/** Returns the first section of a changelog whose heading is a version. */
export function newestRelease(changelog: string): Release | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  for (const section of sections) {
    const [, version, date = '', text = ''] = /^\[(\d[^\]]*)\](?: - (.*))?\n([^]*)$/.exec(section) ?? [];
    if (version !== undefined) return { version, date, text: text.trim() };
  }
  return undefined;
}

/** Returns the text of the newest release. Its relative links lead into the release of the repository at this address. */
export function releaseNotes(changelog: string, repository: string): string {
  const newest = newestRelease(changelog);
  if (newest === undefined) throw new Error('the changelog has no section with a version: ## [0.2.0] - 2026-12-01');
  return newest.text.replaceAll(/\]\((?!\w+:)([^)]+)\)/g, `](${repository}/blob/v${newest.version}/$1)`);
}
