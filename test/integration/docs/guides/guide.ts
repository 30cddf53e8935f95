import type { RequestListener } from 'node:http';
import type { Fleet } from '../../../harness/fleet.ts';
import { Picture } from '../../../harness/picture.ts';
import type { Block, Workplace } from './workplace.ts';

/** A page of docs/guides, and what it promises. */
export interface Guide {
  /** The name of the page, without its extension. */
  readonly name: string;
  readonly promise: string;
  /** Variables that the page asks for, in addition to BASE and KEY. */
  readonly env?: Readonly<Record<string, string>>;
  /** The site that the commands of the page capture. */
  readonly site: (place: Workplace) => RequestListener;
  /** The languages of blocks that do not run, with the reason. `check` checks these blocks. */
  readonly notRun?: Readonly<Record<string, string>>;
  /** Checks what the page promises, after all of its blocks have run. */
  readonly check: (followed: FollowedGuide) => Promise<void>;
}

interface FollowedGuide {
  readonly fleet: Fleet;
  readonly siteUrl: string;
  readonly place: Workplace;
  /** The blocks that ran, and what each of them printed. */
  readonly blocks: readonly Block[];
  readonly outputs: readonly string[];
  /** The blocks that did not run. */
  readonly others: readonly Block[];
  /** The whole page. */
  readonly text: string;
  /** Tokens that the account has used, since the first block. */
  readonly tokens: () => Promise<number>;
}

/** Serves pages of HTML by their paths. */
export const servePages =
  (pages: Readonly<Record<string, () => string>>): RequestListener =>
  ({ url = '/' }, response) => {
    const page = pages[new URL(url, 'http://site').pathname];
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(page?.());
  };

export const pictureOf = async (place: Workplace, file: string): Promise<Picture> => Picture.of(await place.read(file));
