import { Request, type FiltersEngine } from '@ghostery/adblocker';
import type { PageFeatures } from './in-page/collect-features.ts';

/** The style sheet that hides what a filter list hides in a document of these features. */
export function cosmeticStyles(engine: FiltersEngine, features: PageFeatures): string {
  const { url, classes, ids, hrefs } = features;
  const { hostname, domain } = Request.fromRawDetails({ url, type: 'main_frame' });
  return engine.getCosmeticsFilters({
    url,
    hostname,
    domain,
    classes,
    ids,
    hrefs,
    getInjectionRules: false,
    getExtendedRules: false,
  }).styles;
}
