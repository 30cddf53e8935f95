import type { StoredMsg } from '@nats-io/jetstream';
import type { Region } from '../runtime/regions.ts';
import type { StoredFile } from './file-store.ts';
import { prefixed } from '../nats/streams.ts';

/** Time for which parts outlive their head, so that a read that has begun can end. */
export const partGraceSeconds = 300;

/** The location of the parts of a file that were written together. The parts are numbered from 0. */
export interface PartsLocation {
  /** Region of the renderer that wrote them. */
  readonly region: Region;
  readonly object: string;
  /** Unique for each time that a file is written. */
  readonly generation: string;
}

/** The head of a file: the message that makes its parts a file of the embedded store. */
export interface Head extends StoredFile {
  readonly parts: number;
  readonly location: PartsLocation;
  /** The file that this file replaced. Its parts are kept until the next replacement, because they may still be read. */
  readonly previous?: PartsLocation | undefined;
}

/** Returns the head in a message; null if the file has expired by `now`. */
export function headOf(message: StoredMsg | null, now: number): Head | null {
  if (message === null || message.data.length === 0) return null;
  const head = message.json<Head>();
  return head.expiresAt <= now ? null : head;
}

/** A file name contains one dot, which would separate two tokens in a subject. */
const token = (name: string) => name.replaceAll('.', '_');

/**
 * Returns the filter for the subjects of a file's heads. Messages cannot be overwritten, so each replacement has a new subject with the
 * next number. The head that was written last is valid, and older ones are purged.
 */
export const headVersions = (name: string) => prefixed(`files.head.${token(name)}.*`);

export const headSubject = (name: string, version: number) => prefixed(`files.head.${token(name)}.${version}`);

/** Returns the number of a head, which its subject contains. */
export const versionOf = (subject: string) => Number(subject.split('.')[3]);

const partsPrefix = ({ region, object }: Pick<PartsLocation, 'region' | 'object'>) =>
  prefixed(`files.part.${region}.${token(object)}`);

export const partSubject = (location: PartsLocation, part: number) =>
  `${partsPrefix(location)}.${location.generation}.${part}`;

/** Returns the filter for the subjects of parts that were written together. */
export const partsFilter = (location: PartsLocation) => `${partsPrefix(location)}.${location.generation}.*`;

/** Returns the filter for the subjects of all parts of an object. */
export const objectFilter = (location: Pick<PartsLocation, 'region' | 'object'>) => `${partsPrefix(location)}.>`;

/** Returns the filter for the subjects of all parts of an object in all regions. */
export const objectFilterOfAllRegions = (object: string) => prefixed(`files.part.*.${token(object)}.>`);

export const isSameLocation = (a: PartsLocation | undefined, b: PartsLocation) =>
  a?.region === b.region && a?.object === b.object && a?.generation === b.generation;

/** Returns the text by which an upload names a {@link PartsLocation} and the number of parts. */
export const uploadObject = ({ region, object, generation }: PartsLocation, parts: number) =>
  `${region}/${object}/${generation}/${parts}`;

const generationPattern = /^[0-9a-f-]{36}$/;

/** Parses the location of an upload. Returns null if the text is not a location. The parts need not exist. */
export function parseUploadObject(text: string, expected: { region: Region; object: string }) {
  const [region, object, generation = '', parts = '', ...rest] = text.split('/');
  if (region !== expected.region || object !== expected.object || rest.length > 0) return null;
  if (!generationPattern.test(generation) || !/^[1-9]\d{0,5}$/.test(parts)) return null;
  return { location: { region: expected.region, object: expected.object, generation }, parts: Number(parts) };
}
