import { readFile } from 'node:fs/promises';
import adblocker from '@ghostery/adblocker/package.json' with { type: 'json' };
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';

type BlockOption = keyof RenderOptions['block'];

/** The list of each option of `block`, in the order in which requests are matched. `media` has no list. */
export const listOf = {
  ads: 'ads',
  trackers: 'trackers',
  cookieBanners: 'cookies',
  chats: 'chats',
  newsletters: 'newsletters',
} as const satisfies Record<Exclude<BlockOption, 'media'>, string>;
export type ListOption = keyof typeof listOf;
export type ListKind = (typeof listOf)[ListOption];
export const listKinds: readonly ListKind[] = Object.values(listOf);

/** Returns the options of `block` that are on and have a list. */
export function listOptionsOf(block: RenderOptions['block']): readonly ListOption[] {
  return (Object.keys(listOf) as ListOption[]).filter((option) => block[option] === true);
}

/** Version of the library of the engine. It is known without loading the library. */
export const libraryVersion: string = adblocker.version;

export const manifestFileName = 'manifest.json';
export const engineFileName = (kind: ListKind) => `${kind}.engine`;

/** Manifest of a folder of compiled lists. */
export interface FilterManifest {
  /** Version of the serialized form. An engine cannot read the form of another version. */
  readonly engineVersion: number;
  /** Hash of the lists and of the compile options. */
  readonly fingerprint: string;
  /** SHA-256 of the file of each engine. */
  readonly engines: Readonly<Record<ListKind, string>>;
  /** Descriptions of the sources of the lists. */
  readonly sources: readonly string[];
  readonly rules: number;
}

/**
 * Returns the project's short list of a kind. It is part of every filter set, and the only list if none was compiled.
 */
export function readBuiltInList(kind: ListKind): Promise<string> {
  return readFile(new URL(`./lists/${kind}.txt`, import.meta.url), 'utf8');
}
