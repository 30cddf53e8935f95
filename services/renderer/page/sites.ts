import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Page } from 'playwright';
import { getDomain } from 'tldts-experimental';
import { htmlUrl } from '../html-url.ts';
import type { RenderSource } from './navigate.ts';

/**
 * The sites on which the steps of a capture may act: the site of its URL, and the site to which the first navigation led. Values of steps
 * are entered only on the former.
 */
export class StepSites {
  readonly #page: Pick<Page, 'url'>;
  /** The page of the request. */
  readonly #requested: { readonly url: URL; readonly site: string; readonly name: string };
  readonly #sites: ReadonlySet<string>;

  /** @param page after its first navigation */
  constructor(page: Pick<Page, 'url'>, source: RenderSource) {
    const url = new URL(source.kind === 'url' ? source.url : htmlUrl);
    const site = siteOf(url);
    this.#page = page;
    this.#requested = { url, site, name: source.kind === 'url' ? `the site of url, ${site}` : 'the supplied html' };
    this.#sites = new Set([site, siteOf(new URL(page.url()))]);
  }

  /** @throws ServiceError CAPTURE_FAILED if an address belongs to another site; the default is the address of the page */
  assertAllowed(address = this.#page.url()): void {
    const site = siteOf(new URL(address));
    if (this.#sites.has(site)) return;
    throw failed(`it leads to another site, ${site}. Steps stay on ${this.#requested.name}.`);
  }

  /**
   * Returns the origin of the page.
   *
   * @throws ServiceError CAPTURE_FAILED if no value may be entered there
   */
  originForValues(): string {
    const { protocol, origin } = new URL(this.#page.url());
    const { url, site, name } = this.#requested;
    const here = siteOf(new URL(this.#page.url()));
    if (here !== site) throw failed(`the page is on another site, ${here}. Values are entered only on ${name}.`);
    if (url.protocol === 'https:' && protocol !== 'https:') {
      throw failed('the page is not on https, but url is. Values are not entered there.');
    }
    return origin;
  }
}

/** Returns the registrable domain of a URL, or its host if it has none. Users of a hosting service are different sites. */
const siteOf = ({ href, hostname }: URL): string => getDomain(href, { allowPrivateDomains: true }) ?? hostname;

const failed = (message: string) => new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client' });
