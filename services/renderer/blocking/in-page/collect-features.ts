/// <reference lib="dom" />
import type { ConsentWorld } from './drive-consent.ts';

/** What the rules for hiding elements are looked up by. */
export interface PageFeatures {
  readonly url: string;
  readonly classes: string[];
  readonly ids: string[];
  /** Targets of links, as written. */
  readonly hrefs: string[];
  /** Selectors of the consent dialogs that autoconsent knows, where it runs. */
  readonly dialogs: string[];
}

export function collectFeatures(): PageFeatures {
  const most = 20_000;
  const classes = new Set<string>();
  const ids = new Set<string>();
  const hrefs = new Set<string>();
  for (const element of document.querySelectorAll('[class], [id], a[href]')) {
    if (classes.size + ids.size + hrefs.size > most) break;
    for (const name of element.classList) classes.add(name);
    if (element.id) ids.add(element.id);
    const href = element.getAttribute('href');
    if (href && element.localName === 'a') hrefs.add(href);
  }
  const dialogs = (globalThis as ConsentWorld).webcaptureConsent?.selectors() ?? [];
  return { url: location.href, classes: [...classes], ids: [...ids], hrefs: [...hrefs], dialogs };
}
